"""The gate's times are summed, and a gate above its budget fails."""

import json
from pathlib import Path

import pytest

from tests.gate import times


def lane(wall: float, loop: float = times.LOOP) -> dict[str, object]:
    return {"wall": wall, "loop": loop, "modules": {"tests/a.py": wall}}


def test_a_gate_within_its_budget_has_no_complaint() -> None:
    assert times.complaint({"quick": lane(100.0), "slow": lane(times.BUDGET - 100.0)}) == ""


def test_a_gate_above_its_budget_is_complained_of() -> None:
    said = times.complaint({"quick": lane(100.0), "slow": lane(times.BUDGET)})
    assert said.startswith(f"the tests took {times.BUDGET + 100:.0f} s, and 1800 s is their budget")


def test_a_slow_host_has_more_time_and_a_fast_one_no_less() -> None:
    assert times.complaint({"slow": lane(1.9 * times.BUDGET, 2 * times.LOOP)}) == ""
    assert times.complaint({"slow": lane(times.BUDGET, times.LOOP / 2)}) == ""
    assert times.complaint({"slow": lane(2.1 * times.BUDGET, 2 * times.LOOP)})


def test_the_lanes_of_the_gate_are_summed_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(times, "WRITTEN", tmp_path)
    for name, wall in (("quick", 60.0), ("slow", 600.0), ("thorough", 9999.0)):
        (tmp_path / f"{name}.json").write_text(json.dumps(lane(wall)))
    with pytest.raises(SystemExit) as ended:
        times.main()
    assert ended.value.code is None
    assert "sum           660 s" in capsys.readouterr().out
    (tmp_path / "times.json").write_text(json.dumps(lane(1200.0)))
    with pytest.raises(SystemExit, match=r"the tests took 1860 s"):
        times.main()


def test_a_session_writes_its_own_times(tmp_path: Path) -> None:
    session = times.Times(tmp_path / "deep" / "lane.json")
    session.pytest_sessionfinish()
    written = json.loads((tmp_path / "deep" / "lane.json").read_text())
    assert written["wall"] >= 0 and 0 < written["loop"] < 10 and written["modules"] == {}
