"""`emulate sweep`: typed commands and printed answers."""

import csv
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.cli.entry import commands
from emulator.cli.watching import sweep_views
from emulator.machine.made_files import MARK
from emulator.runs.folder import folders
from emulator.sweeps import Finished, Standing, sweep
from tests.fakes.both_ways import one_sided, one_sided_keys
from tests.fakes.sweeps.made_up_play import HANGS
from tests.fakes.sweeps.made_up_sweeps import MADE_UP, Watching, by_command
from tests.fakes.typed_commands import Emulate


def typed(emulate: Emulate, monkeypatch: pytest.MonkeyPatch, *words: object) -> Any:
    from emulator import sweeps as package

    def in_no_time(points: Any, out: Path, cores: int, view: Any, **about: Any) -> list[Finished]:
        return sweep(points, out, cores, view, **{**about, "start": by_command(MADE_UP)})

    with monkeypatch.context() as patched:
        patched.setattr(package, "sweep", in_no_time)
        return emulate("sweep", *words)


@pytest.mark.slow
def test_the_command(
    emulate: Emulate,
    sweep_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    played: Callable[[], list[str]],
) -> None:
    words = (sweep_file, "--over", "training.learning_rate=0.1,10", "--seeds", 2, "--cores", 2)
    result = typed(emulate, monkeypatch, *words)
    assert result.code == 0, result.err
    (out,) = Path("runs/sweeps").iterdir()
    lines = result.out.splitlines()
    assert lines[0] == f"4 points into {out} ..."
    title = lines.index(next(line for line in lines if line.startswith("median of 2 seeds")))
    assert lines[title + 1].split("  ")[0] == "training.learning_rate"
    rows = [line.split()[:2] for line in lines[title + 2 : -2]]
    assert [row for row in rows if row[1] != "%"] == [["0.1", "success"], ["10", "failed"]]
    assert [row[0] for row in rows if row[1] == "%"] == ["95", "97"] * 2
    assert lines[-1] == f"table        {out}/table.csv"
    again = typed(emulate, monkeypatch, *words, "--json")
    assert len(played()) == 4
    assert [row["outcome"] for row in again.json] == ["success"] * 2 + ["failed"] * 2
    assert all((Path(row["run"]) / "run.jsonl").is_file() for row in again.json)
    assert again.err == f"4 points into {out} ...\n"
    about = json.loads((out / "sweep.json").read_bytes())
    assert about["over"] == {"training.learning_rate": ["0.1", "10"]}
    assert (about["file"], about["set"], about["seeds"]) == (str(sweep_file), [], 2)


@pytest.mark.slow
def test_the_table_has_a_row_for_each_target_with_the_bytes_of_both_directions(
    emulate: Emulate,
    sweep_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    played: Callable[[], list[str]],
) -> None:
    words = (sweep_file, "--set", "stop.updates=2500", "--out", "swept")
    result = typed(emulate, monkeypatch, *words)
    assert one_sided(result.out) == []
    rows = [line.split() for line in result.out.splitlines()]
    targets = [row[row.index("%") - 1] for row in rows if "%" in row]
    assert targets == ["90", "95", "97"]
    (point,) = typed(emulate, monkeypatch, *words, "--json").json
    assert one_sided_keys(point) == []
    for target in targets:
        ways = [point[f"{way}_to_{target}"] for way in ("bytes", "pulled", "both")]
        assert ways[2] == (None if None in ways else ways[0] + ways[1])
    with Path("swept/table.csv").open() as file:
        assert one_sided_keys(list(csv.DictReader(file))) == []


@pytest.mark.slow
def test_other_commands_are_not_confused(
    emulate: Emulate,
    sweep_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    played: Callable[[], list[str]],
) -> None:
    typed(emulate, monkeypatch, sweep_file)
    assert folders(Path("runs")) == []
    assert emulate("list", "--json").json == []
    for name in ("sweeps", "pair", "abc123"):
        assert emulate("report", name).code == 1
    (point,) = Path("runs/sweeps").glob("*/points/*")
    assert emulate("logs", point).code == 0


def test_the_table_shows_values_as_they_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    from emulator.cli.play.sweep import _print

    facts = {"final_accuracy": 0.5, "updates_to_97": None, "bytes_to_97": None}
    axis = "devices[0].failures"
    rows = [
        {axis: value, "outcome": "success", **facts}
        for value in ("[flaky-home]", "[overheating-pi]")
    ]
    _print([Finished(row[axis], Path(), row) for row in rows], [axis], Path("table.csv"))
    result = capsys.readouterr().out
    assert axis in result
    assert "[flaky-home]" in result
    assert "[overheating-pi]" in result


def test_mistakes_are_told_before_anything_is_made(emulate: Emulate, sweep_file: Path) -> None:
    result = emulate("sweep", sweep_file, "--over", "training.learning_rate=0.1,-1")
    assert result.code == 2
    assert result.err.startswith("--over training.learning_rate=-1: training.learning_rate: ")
    assert not Path("runs").exists()


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(
    emulate: Emulate,
    sweep_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    played: Callable[[], list[str]],
) -> None:
    class Impatient(Watching):
        def standing(self, now: Standing) -> None:
            signal.raise_signal(signal.SIGINT)

        def __enter__(self) -> "Impatient":
            return self

        def __exit__(self, *error: object) -> None:
            pass

    monkeypatch.setattr(sweep_views, "PlainSweepView", lambda *anything: Impatient())
    words = (sweep_file, "--over", f"training.learning_rate={HANGS:g}", "--out", "here")
    result = typed(emulate, monkeypatch, *words)
    assert result.code == 130
    assert result.err == (
        "emulate: interrupted: finished points are in here; the same command plays the others\n"
    )
    assert sorted(path.name for path in Path("here").iterdir()) == [
        MARK,
        "points",
        "sweep.json",
        "table.csv",
    ]


def test_it_is_listed_after_run_and_what_completes_a_run() -> None:
    names = list(commands.commands)
    assert names.index("sweep") == names.index("run") + 2 == names.index("resume") + 1


def test_more_seeds_than_can_be_played_are_refused(emulate: Emulate, sweep_file: Path) -> None:
    result = emulate("sweep", sweep_file, "--seeds", 10**20)
    assert result.code == 2
    assert "is not in the range 1<=x<=10000" in result.err
