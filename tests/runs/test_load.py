"""Samples of the host's load, from files that are made up."""

from pathlib import Path

import pytest

from emulator.machine import host


def test_pressure_is_the_share_of_the_time_in_which_a_process_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressure = tmp_path / "cpu"
    monkeypatch.setattr(host, "PRESSURE", pressure)
    assert host._waited() is None  # this kernel does not tell
    pressure.write_text(
        "some avg10=59.81 avg60=48.63 avg300=33.29 total=1500000\nfull avg10=0.00 total=7\n"
    )
    told = host._waited()
    assert told is not None and told[1] == 1.5
    assert host._share((10.0, 1.0), (12.0, 1.5)) == 0.25
    assert host._share((10.0, 1.0), (12.0, 9.0)) == 1.0
    assert host._share(None, (12.0, 9.0)) is None
    pressure.write_text("something else")
    assert host._waited() is None


def test_each_sample_of_the_load_has_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "LOAD_SAMPLING", 0.02)
    load = host.Load()
    load.begin()
    load._thread.join(0.3)
    load.end()
    assert load.busy and len(load.busy) == len(load.pressure)
    assert all(0 <= share <= 1 for share in load.busy)
