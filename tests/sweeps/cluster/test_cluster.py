"""Sweeps on a Dask cluster: the folders of a sweep at home, whatever becomes of a worker."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.errors import EmulatorError, HostError
from emulator.scenario import load
from emulator.sweeps import Finished, Grid, Point, Standing, sweep, table
from emulator.sweeps.cluster import Cluster, connected, sweep_cluster, worker_tasks
from emulator.sweeps.players import Players, players
from emulator.sweeps.point_process import at_home
from emulator.sweeps.sweep_folder import opened
from emulator.sweeps.tuning.trial_players import VirtualTrials
from tests.fakes.sweeps.made_up_sweeps import Watching

pytestmark = pytest.mark.slow

LAB = """name: lab
training: {dataset: digits, model: digits-mlp, algorithm: adacomp, learning_rate: 0.1}
evaluate: {every: 50}
stop: {updates: 400}
virtual: {learner: numpy, step: {exponential: 20ms}, boot: 100ms, serve: 1ms}
devices:
  - {name: peer, count: 4, link: 4g}
"""
OWN_TIMES = ("id", "started")
"""Keys of a manifest that two runs never have in common."""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    file = tmp_path / "lab.yaml"
    file.write_text(LAB)
    return file


@pytest.fixture
def workers(cluster: str) -> Iterator[Cluster]:
    with connected(cluster) as known:
        yield known


def content(folder: Path) -> dict[str, Any]:
    """Return all files of a point's folder but what no two runs have in common."""
    files: dict[str, Any] = {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "point.json"  # it has the digests of the others
    }
    manifest = json.loads(files["manifest.json"])
    files["manifest.json"] = {k: v for k, v in manifest.items() if k not in OWN_TIMES}
    return files


def same(home: Sequence[Finished], away: Sequence[Finished]) -> None:
    """Check that two sweeps have the same rows, and the same files in each point's folder."""
    assert [each.row for each in home] == [each.row for each in away]
    for here, there in zip(home, away, strict=True):
        assert content(here.folder) == content(there.folder)
    tables = [each[0].folder.parents[1] / "table.csv" for each in (home, away)]
    assert tables[0].read_bytes() == tables[1].read_bytes()


class Killing(Watching):
    """A view that kills the process of a worker when the third point has ended."""

    def __init__(self, process: int) -> None:
        super().__init__()
        self._process = process

    def finished(self, one: Finished, now: Standing) -> None:
        super().finished(one, now)
        if now.finished == 3:
            os.kill(self._process, signal.SIGKILL)


@pytest.mark.parametrize("seeds", [2, pytest.param(8, marks=pytest.mark.thorough)])
def test_a_sweep_in_which_a_worker_dies_is_as_at_home(
    workers: Cluster, lab: Path, tmp_path: Path, seeds: int
) -> None:
    points = Grid(lab, over=("training.learning_rate=0.03,0.1,0.3",), seeds=seeds).points()
    home = sweep(points, tmp_path / "home", 2, Watching())
    victim = next(iter(workers._client.run(os.getpid).values()))
    view = Killing(victim)
    away = sweep(points, tmp_path / "away", workers.cores, view, start=workers.start)
    assert len(view.said) >= len(points)
    same(home, away)
    told = {label for now in view.standings for label, _ in now.playing}
    assert told == {point.label for point in points}
    assert max(len(now.playing) for now in view.standings) == 3


def test_the_data_set_travels_once(workers: Cluster, lab: Path, elsewhere: Path) -> None:
    """The test above, or this one, has sent it: the workers had none."""
    place = elsewhere / "data" / "digits"
    workers._supply(load(lab))
    times = {file: file.stat().st_mtime_ns for file in place.iterdir()}
    assert len(times) == 4
    with connected(workers._client.scheduler.address) as again:
        again._supply(load(lab))
    assert {file: file.stat().st_mtime_ns for file in place.iterdir()} == times


OWN = """
from dataclasses import dataclass

from emulator.codecs import TopK
from emulator.units import Fraction


@dataclass(frozen=True)
class Halves(TopK):
    keep: Fraction = Fraction(0.5)
    kind: str = "halves"
"""


def test_files_of_ones_own_come_along_and_keep_their_names(
    workers: Cluster, lab: Path, tmp_path: Path
) -> None:
    """A codec, a data set, and a model to begin with: no worker has their files."""
    rng = np.random.default_rng(1)
    arrays = {name: rng.integers(0, 9, (60, 8, 8)).astype(np.uint8) for name in ("x", "tx")}
    labels = {name: rng.integers(0, 10, 60) for name in ("y", "ty")}
    labels["y"][:10] = np.arange(10)
    np.savez(
        tmp_path / "data.npz",
        x_train=arrays["x"],
        y_train=labels["y"],
        x_test=arrays["tx"],
        y_test=labels["ty"],
    )
    (first,) = sweep(
        [Point("first", load(lab, ["stop.updates=40"]))], tmp_path / "first", 1, Watching()
    )
    text = LAB.replace("dataset: digits", f"dataset: ./data.npz, initial: {first.folder}/model.npz")
    (tmp_path / "own.py").write_text(OWN)
    lab.write_text(text.replace("algorithm: adacomp", "codec: ./own.py:Halves"))
    points = Grid(lab, ("stop.updates=40",), seeds=2).points()
    home = sweep(points, tmp_path / "home", 2, Watching())
    away = sweep(points, tmp_path / "away", 2, Watching(), start=workers.start)
    same(home, away)
    assert str(first.folder) in (away[0].folder / "scenario.yaml").read_text()


CLIENT = """
import sys
from pathlib import Path
from emulator.sweeps import Grid, sweep
from emulator.sweeps.players import players
from tests.fakes.sweeps.made_up_sweeps import Watching

points = Grid(Path(sys.argv[1]), ("stop.updates=100000",), seeds=3).points()
with players(None, sys.argv[3]) as here:
    sweep(points, Path(sys.argv[2]), here.cores, Watching(), start=here.start)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_the_client_leaves_the_workers_end(
    cluster: str, workers: Cluster, lab: Path, tmp_path: Path, number: int
) -> None:
    words = [sys.executable, "-c", CLIENT, str(lab), str(tmp_path / "out"), cluster]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
        until(lambda: len(playing()) == 3)
        client.send_signal(number)
        client.communicate()
    until(lambda: not playing())


def playing() -> list[str]:
    """Return the processes that play points of these workers."""
    found = subprocess.run(["pgrep", "-af", "emulate-points-"], capture_output=True, text=True)
    return found.stdout.splitlines()


def until(true: Any, seconds: float = 60.0) -> None:
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.2)


def test_trials_of_a_tuning_are_played_there(workers: Cluster, lab: Path, tmp_path: Path) -> None:
    points = Grid(lab, ("stop.updates=40",), over=("training.learning_rate=0.03,0.1",)).points()

    def facts(by: Players, name: str) -> list[dict[str, Any]]:
        with opened(tmp_path / name) as folder:
            trials = VirtualTrials(folder, by, Watching())
            found = trials.play(points, lambda point, run: table.facts(run), lambda point: False)
            return [own for _, own in found]

    assert facts(Players(workers.start, 2), "away") == facts(Players(at_home, 2), "home")


def test_the_error_of_a_point_ends_the_sweep_and_names_the_point(
    workers: Cluster, lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (point,) = Grid(lab).points()
    monkeypatch.setattr("emulator.sweeps.cluster.remote_points.deciding_code", dict)
    with pytest.raises(EmulatorError, match="has other code than this machine") as refused:
        sweep([point], tmp_path / "out", 1, Watching(), start=workers.start)
    assert refused.value.__notes__ == [f"the point is {point.label}"]


# -- before the first point ------------------------------------------------------------------------


def test_a_worker_with_other_code_is_refused_by_name(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = worker_tasks.facts()
    monkeypatch.setattr(worker_tasks, "versions", lambda names: {"edge-emulate": "0.0.9"})
    with pytest.raises(HostError) as refused, connected(cluster):
        pass
    lines = str(refused.value).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("the worker at tcp://127.0.0.1:") for line in lines)
    assert lines[0].endswith(f"has edge-emulate {facts['edge-emulate']} instead of 0.0.9")


def test_a_scheduler_without_workers_is_refused() -> None:
    class Alone:
        id = "alone"

        def run(self, *words: object, **options: object) -> dict[str, object]:
            return {}

    with pytest.raises(HostError, match="the Dask scheduler at tcp://x has no workers"):
        Cluster(Alone(), "tcp://x")


def test_nothing_that_answers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_cluster, "PATIENCE", 1.0)
    with (
        pytest.raises(HostError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_without_dask_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(HostError, match=r"pip install 'edge-emulate\[cluster\]'"),
        players(None, "x"),
    ):
        pass
