"""Orders to a part: what is in force, told again to the part of the next boot."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from emulator.node import reports
from emulator.node.orders import LineReader, PartOrders, PartSettings
from emulator.node.part import part_process, role
from emulator.node.reports import BegunReport


@contextmanager
def piped() -> Iterator[tuple[PartOrders, IO[bytes]]]:
    read, write = os.pipe()
    with open(read, "rb", buffering=0), open(write, "wb", buffering=0) as end:
        yield PartOrders(read), end


def test_a_part_knows_the_settings_in_force_and_their_end() -> None:
    settings = PartSettings()
    with piped() as (orders, end):
        settings.booted(end)
        assert orders.settings() == {}
        settings.change("lag", {"delay": 1.0})
        settings.change("garble", {"share": 0.1})
        assert orders.settings() == {"lag": {"delay": 1.0}, "garble": {"share": 0.1}}
        settings.change("lag", None)
        assert orders.settings() == {"garble": {"share": 0.1}}


def test_the_next_part_is_told_what_is_in_force_and_a_dead_one_nothing() -> None:
    settings = PartSettings()
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb", buffering=0) as dead:
        settings.booted(dead)
        settings.change("lag", {"delay": 1.0})
    with piped() as (orders, end):
        settings.booted(end)
        assert orders.settings() == {"lag": {"delay": 1.0}}
        end.close()
        assert orders.settings() == {"lag": {"delay": 1.0}}


def test_a_report_that_a_killed_part_left_unfinished_harms_no_other(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    read, write = os.pipe()
    monkeypatch.setenv(part_process.CONTROL, str(write))
    try:
        os.write(write, b'{"what":"record","record":{"what":"plan","at":1.5')
        role._report_zero(2.5)
        lines = LineReader(read).read() or []
    finally:
        os.close(read)
        os.close(write)
    assert [reports.decode_part(line) for line in lines] == [None, BegunReport(2.5)]
    assert "no report of a part" in capfd.readouterr().err
