"""A sweep is one folder and one table: nothing is played twice or counted by halves."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import EmulatorError, ScenarioError
from emulator.learning import datasets
from emulator.machine.made_files import MARK
from emulator.scenario import load, loads
from emulator.sweeps import Finished, Grid, Point, Standing, sweep
from emulator.sweeps.point_note import NOTE
from tests.fakes.installing.doc_blocks import blocks
from tests.fakes.sweeps.made_up_play import DIVERGES
from tests.fakes.sweeps.made_up_sweeps import (
    MADE_UP,
    SCENARIO,
    Watching,
    by_command,
    made_up,
    rates,
)
from tests.layers import ROOT


@pytest.mark.slow
def test_a_sweep_is_one_folder_and_one_table(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    out, view = tmp_path / "out", Watching()
    points = rates(sweep_file, 0.1, DIVERGES)
    finished = sweep(points, out, 2, view, about={"file": "pair.yaml"}, start=by_command(MADE_UP))
    assert [item.label for item in finished] == [point.label for point in points]
    assert sorted(view.said) == sorted(item.label for item in finished)
    names = {path.name for path in out.iterdir()}
    assert names == {MARK, "points", "sweep.json", "table.csv"}
    for item in finished:
        assert item.folder == out / "points" / item.label
        assert {"run.jsonl", "summary.json", "scenario.yaml", NOTE} <= {
            path.name for path in item.folder.iterdir()
        }
    about = json.loads((out / "sweep.json").read_bytes())
    assert about["file"] == "pair.yaml"
    assert about["points"] == {item.label: f"points/{item.label}" for item in finished}
    with (out / "table.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["training.learning_rate"], row["seed"]) for row in rows] == [
        ("0.1", "4"),
        ("10", "4"),
    ]
    assert [(row["outcome"], row["stop"]) for row in rows] == [
        ("success", "updates"),
        ("failed", "diverged"),
    ]
    for row, item in zip(rows, finished, strict=True):
        as_text = {key: "" if value is None else str(value) for key, value in item.row.items()}
        assert row == as_text


@pytest.mark.slow
def test_finished_points_are_not_played_again(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    first = made_up(rates(sweep_file, 0.1, DIVERGES), tmp_path / "out")
    assert made_up(rates(sweep_file, 0.1, DIVERGES), tmp_path / "out") == first
    assert played() == ["0.1 4", "10 4"]
    more = made_up(rates(sweep_file, 0.1, seeds=2), tmp_path / "out", cores=1)
    assert played() == ["0.1 4", "0.1 5", "10 4"]
    assert more[0] == first[0]


@pytest.mark.slow
def test_points_come_from_anywhere(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    points = [
        Point("a thing / or two", load(sweep_file), {"which": "file"}),
        Point("b", loads(SCENARIO.replace("seed: 4", "seed: 8"))),
    ]
    rows = [item.row for item in made_up(points, tmp_path / "out")]
    assert [(row["point"], row.get("which"), row["seed"]) for row in rows] == [
        ("a thing / or two", "file", 4),
        ("b", None, 8),
    ]
    with (tmp_path / "out" / "table.csv").open() as lines:
        assert [row["which"] for row in csv.DictReader(lines)] == ["file", ""]
    with pytest.raises(ValueError, match="two points are called 'b'"):
        made_up([points[1], points[1]], tmp_path / "out")


@pytest.mark.slow
def test_what_another_scenario_gave_is_neither_taken_nor_removed(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    (item,) = made_up(rates(sweep_file, 0.1), tmp_path / "out")
    sweep_file.write_text(SCENARIO.replace("1mbit", "2mbit"))
    with pytest.raises(EmulatorError, match=rf"(?s)name another folder.*\n{item.folder}$"):
        made_up(rates(sweep_file, 0.1, 0.2), tmp_path / "out")
    assert (item.folder / "run.jsonl").is_file()


@pytest.mark.slow
def test_two_sweeps_do_not_share_a_folder(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    out = tmp_path / "out"

    class Second(Watching):
        def finished(self, one: Finished, now: Standing) -> None:
            with pytest.raises(EmulatorError, match="another sweep is being played into"):
                made_up(rates(sweep_file, 0.2), out)
            super().finished(one, now)

    view = Second()
    made_up(rates(sweep_file, 0.1), out, view=view)
    assert view.said == ["training.learning_rate=0.1,seed=4"]


@pytest.mark.slow
def test_any_number_of_cores_gives_the_same_bytes(sweep_file: Path, tmp_path: Path) -> None:
    points = Grid(sweep_file, over=("devices[0].count=2,3",)).points()
    by_cores = [sweep(points, tmp_path / str(cores), cores, Watching()) for cores in (1, 2)]
    for one, other in zip(*by_cores, strict=True):
        assert one.row == other.row
        assert one.row["outcome"] == "success" and one.row["updates"] == 40
        log = (one.folder / "run.jsonl").read_bytes()
        assert log == (other.folder / "run.jsonl").read_bytes()
    assert log != (by_cores[0][0].folder / "run.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(
    not (datasets.store.folder("digits") / "test-labels.npy").is_file(),
    reason="digits is not here: run `emulate data digits`",
)
def test_what_diverges_is_a_result(sweep_file: Path, tmp_path: Path) -> None:
    sweep_file.write_text(SCENARIO.replace("learner: none", "learner: numpy"))
    over = ("training.learning_rate=0.1,1e30",)
    points = Grid(sweep_file, ("evaluate.every=20",), over).points()
    good, bad = (item.row for item in sweep(points, tmp_path / "out", 2, Watching()))
    assert (good["outcome"], good["updates"]) == ("success", 40)
    assert good["final_accuracy"] > 0.1
    assert (bad["outcome"], bad["stop"]) == ("failed", "diverged")


def test_what_takes_data_to_see_is_seen_before_anything_is_played(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]], data: None
) -> None:
    sweep_file.write_text(SCENARIO.replace("learner: none", "learner: numpy"))
    points = Grid(sweep_file, over=("devices[0].count=2,30,40",)).points()
    with pytest.raises(ScenarioError) as refused:
        made_up(points, tmp_path / "out")
    lines = str(refused.value).splitlines()
    assert [line.partition(": training.split: iid leaves near-0 ")[0] for line in lines] == [
        "devices[0].count=30,seed=4",
        "devices[0].count=40,seed=4",
    ]
    assert played() == []
    assert not (tmp_path / "out").exists()


def test_what_any_point_refuses_is_said_before_a_step_is_measured(
    sweep_file: Path, tmp_path: Path, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(*anything: object, **more: object) -> None:
        raise AssertionError("calibrated before all points were looked at")

    monkeypatch.setattr("emulator.costs.calibration.calibrated", measured)
    text = SCENARIO.replace("learner: none, step: 10ms, boot: 1s", "learner: numpy")
    sweep_file.write_text(text)
    chosen = "training={dataset: mnist, model: mnist-cnn, codec: dense}"
    points = Grid(
        sweep_file, over=(f"{chosen},{chosen.split('=')[1].replace('cnn', 'mlp')}",)
    ).points()
    with pytest.raises(ScenarioError, match=r"virtual\.learner: NumPy learns perceptrons only"):
        made_up(points, tmp_path / "out")


@pytest.mark.slow
def test_the_page_shows_how_to_do_it_in_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from emulator import sweeps as package

    def kept(points: list[Point], out: Path, **options: Any) -> list[Finished]:
        return [Finished(point.label, out, dict(point.values)) for point in points]

    monkeypatch.setattr(package, "sweep", kept)
    monkeypatch.chdir(ROOT)
    (code,) = blocks(ROOT / "docs" / "sweep.md", "python")
    names: dict[str, Any] = {}
    exec(code, names)
    assert {"scenario": "quickstart"} in names["rows"]
