"""`emulate doctor`: what is missing, and how to get it."""

import pytest

from emulator.cli import doctor
from emulator.machine.host import Host
from tests.fakes.typed_commands import Emulate


def test_the_doctor_says_what_is_missing_and_how_to_get_it(emulate: Emulate) -> None:
    result = emulate("doctor")
    assert result.code == 1
    assert "MISS data       mnist is not here: run `make data`" in result.out
    assert "note data       digits is not here" in result.out
    assert "MISS engine     no Docker engine answers" in result.out
    rows = emulate("doctor", "--json").json
    assert {row["what"] for row in rows} == {"host", "tensorflow", "data", "engine"}
    assert all(row.keys() == {"what", "ok", "found", "remedy", "optional"} for row in rows)


def test_a_machine_that_has_it_all(
    emulate: Emulate, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_engine", list)
    result = emulate("doctor")
    assert result.code == 0
    assert "MISS" not in result.out
    assert "mnist: 200 + 200 images, sound" in result.out


def test_a_machine_that_is_full(
    emulate: Emulate, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Host("here", 2, 4 << 30, 1 << 30, "6.1")
    monkeypatch.setattr(Host, "here", lambda: full)
    monkeypatch.setattr(doctor, "_engine", list)
    result = emulate("doctor")
    assert result.code == 1
    assert "1.0 of 4.0 GiB of memory free" in result.out
    assert "free some memory" in result.out
