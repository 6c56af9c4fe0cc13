"""`emulate doctor`: what is missing, and how to get it."""

import pytest

from emulator.cli import doctor
from emulator.machine.host import Host
from tests.fakes.typed_commands import Emulate


def test_the_doctor_says_what_is_missing_and_how_to_get_it(emulate: Emulate) -> None:
    told = emulate("doctor")
    assert told.code == 1
    assert "MISS data       mnist is not here: run `make data`" in told.out
    assert "note data       digits is not here" in told.out
    assert "MISS engine     no Docker engine answers" in told.out
    rows = emulate("doctor", "--json").json
    assert {row["what"] for row in rows} == {"host", "tensorflow", "data", "engine"}
    assert all(row.keys() == {"what", "ok", "found", "remedy", "optional"} for row in rows)


def test_a_machine_that_has_it_all(
    emulate: Emulate, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_engine", list)
    told = emulate("doctor")
    assert told.code == 0
    assert "MISS" not in told.out
    assert "mnist: 200 + 200 images, sound" in told.out


def test_a_machine_that_is_full(
    emulate: Emulate, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Host("here", 2, 4 << 30, 1 << 30, "6.1")
    monkeypatch.setattr(Host, "here", lambda: full)
    monkeypatch.setattr(doctor, "_engine", list)
    told = emulate("doctor")
    assert told.code == 1
    assert "1.0 of 4.0 GiB of memory free" in told.out
    assert "free some memory" in told.out
