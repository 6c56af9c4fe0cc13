"""Tunings of two devices in virtual time: the folder, and what a second process does again."""

import csv
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.pictures.tunings import comparison, draw
from emulator.errors import EmulatorError, ScenarioError
from emulator.runs.cancel import Canceled
from emulator.runs.conductor import RunView
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import Scenario, load, loads
from emulator.sweeps import Standing
from emulator.sweeps.point import Finished
from emulator.sweeps.sweep_folder import opened
from emulator.sweeps.tuning import Tuned, TuneOptions, tune
from emulator.sweeps.tuning.grids import Setting
from emulator.sweeps.tuning.search import Trial
from emulator.sweeps.tuning.trial_ledger import TrialLedger, TuningTable
from emulator.sweeps.tuning.trial_players import ContainerTrials
from emulator.sweeps.tuning.tune_options import Length
from tests.fakes.virtual_world import digits

SCENARIO = """
name: pair
seed: 3
training: {dataset: digits, model: digits-softmax, batch_size: 8, codec: dense}
evaluate: {every: 10}
stop: {accuracy: 60%, time: 2s}
virtual: {learner: numpy, step: {exponential: 20ms}, boot: 50ms, serve: 1ms}
devices: [{name: one, count: 2}]
"""
OPTIONS = TuneOptions(probe=Length(updates=50), rates=(0.01, 0.1))

Play = Callable[[Scenario, Path, RunView], tuple[Path, dict[str, Any]]]


class Watching:
    """A view that keeps the lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)

    def progress(self, text: str) -> None: ...

    def standing(self, now: Standing) -> None: ...


class Playing:
    """Plays in virtual time, in this process, and counts; may do something at one of the plays."""

    def __init__(self, at: int = -1, then: Callable[[], None] = lambda: None) -> None:
        self.count, self._at, self._then = 0, at, then

    def __call__(
        self, scenario: Scenario, runs: Path, view: RunView
    ) -> tuple[Path, dict[str, Any]]:
        self.count += 1
        played = play(scenario, runs, view, cores=1)
        if self.count == self._at:  # the run's folder is there, and not yet kept
            self._then()
        return played


def tuned(
    out: Path, playing: Play, options: TuneOptions = OPTIONS, text: str = SCENARIO
) -> tuple[Tuned, list[str]]:
    view = Watching()
    with digits(), opened(out) as folder:
        player = ContainerTrials(folder, view, playing)
        return tune(loads(text), options, folder, player, view), view.lines


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Tuned, int]]:
    """An uninterrupted tuning: its folder, its result, and the number of plays."""
    out, playing = tmp_path_factory.mktemp("whole") / "out", Playing()
    result, _ = tuned(out, playing)
    yield out, result, playing.count


@pytest.mark.slow
def test_the_folder_tells_every_trial_and_decision(whole: tuple[Path, Tuned, int]) -> None:
    out, result, plays = whole
    rows = list(csv.DictReader((out / "table.csv").read_text().splitlines()))
    kinds = [row["what"] for row in rows]
    assert kinds.count("probe") == plays == len(list(out.glob("points/*")))
    report = json.loads((out / "tuning.json").read_text())
    assert report == result.report
    assert report["costs"]["probes"]["trials"] == plays
    assert report["costs"]["probes"]["seconds"] == pytest.approx(
        sum(float(row["seconds"]) for row in rows if row["what"] in ("probe", "final"))
    )
    assert {row["text"] for row in rows if row["what"] == "probe"} == {"", "chosen"}
    # all trials of a round, of every number of groups, took as long
    first = [row for row in rows[1:] if row["what"] == "probe" and row["phase"] == "round 1"]
    assert {row["groups"] for row in first} == {"1", "2"}
    assert len({round(float(row["seconds"]), 6) for row in first}) == 1
    assert draw(out / "tuning.json", out / "probes.png").stat().st_size > 5000


@pytest.mark.slow
@pytest.mark.parametrize("paper", [False, True])
def test_every_number_that_decides_is_in_the_table_and_the_lines(
    tmp_path: Path, paper: bool
) -> None:
    options = replace(OPTIONS, probe=Length(updates=10 if paper else 50), paper=paper)
    _, lines = tuned(tmp_path / "out", Playing(), options)
    table = list(csv.DictReader((tmp_path / "out" / "table.csv").read_text().splitlines()))
    decisions = [row["text"] for row in table if row["what"] == "decision"]
    deciding = {number for text in decisions for number in re.findall(r"\d\.\d{4}\b", text)}
    cells = [row[key] for row in table for key in ("loss", "half_loss") if row[key]]
    assert deciding
    assert deciding <= {f"{float(cell):.4f}" for cell in cells}
    trials = " ".join(line for line in lines if " updates, " in line)
    assert all(number in trials for number in deciding)


def test_the_tuned_scenario_runs_as_it_is(whole: tuple[Path, Tuned, int], tmp_path: Path) -> None:
    _, result, _ = whole
    text = result.scenario.read_text()
    assert text.startswith("# Tuned by `emulate tune`: ")
    for reason in ("s per group update", "chose g=", "predicted rate: ", "training.initial"):
        assert reason in text.partition("name:")[0]
    scenario = load(result.scenario)
    training = scenario.training
    assert (training.synchronization.groups, training.learning_rate) == result.setting[:2]  # type: ignore[union-attr]
    assert training.optimizer.momentum == result.setting.momentum  # type: ignore[union-attr]
    with digits():
        _, summary = play(scenario, tmp_path, _Quiet(), cores=1)
    assert summary["stop"] == "accuracy"


class _Quiet:
    def take_timeline(self, timeline: Any) -> None: ...

    def progress(self, text: str) -> None: ...

    def record(self, record: Any) -> None: ...

    def beat(self, now: float) -> None: ...


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_tuner_goes_on_without_playing_a_finished_probe_again(
    whole: tuple[Path, Tuned, int], tmp_path: Path
) -> None:
    before, result, plays = whole
    out = tmp_path / "out"
    child = os.fork()
    if not child:
        tuned(out, Playing(at=4, then=killed))
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert len(list(out.glob("points/*"))) == 3
    assert list(out.glob(".playing/*"))
    playing = Playing()
    again, _ = tuned(out, playing)
    assert playing.count == plays - 3
    assert (again.setting, again.report) == (result.setting, result.report)
    assert (out / "table.csv").read_bytes() == (before / "table.csv").read_bytes()
    assert not list(out.glob(".playing/*"))


def test_a_tuning_that_was_moved_plays_nothing_again(
    whole: tuple[Path, Tuned, int], tmp_path: Path
) -> None:
    """Its later trials begin with models in the folder itself."""
    before, result, _ = whole
    shutil.copytree(before, tmp_path / "moved")
    playing = Playing()
    again, _ = tuned(tmp_path / "moved", playing)
    assert (playing.count, again.report) == (0, result.report)


@pytest.mark.slow
def test_an_interrupted_tuner_goes_on(whole: tuple[Path, Tuned, int], tmp_path: Path) -> None:
    _, result, plays = whole
    out = tmp_path / "out"

    def interrupt() -> None:
        raise Canceled

    with pytest.raises(Canceled):
        tuned(out, Playing(at=3, then=interrupt))
    playing = Playing()
    again, _ = tuned(out, playing)
    assert (playing.count, again.report) == (plays - 2, result.report)


@pytest.mark.slow
def test_a_budget_trains_until_the_target(tmp_path: Path) -> None:
    options = TuneOptions(
        probe=Length(updates=10),
        rates=(0.1,),
        epoch=Length(seconds=1.0),
        budget=Length(seconds=60.0),
        baselines=("fixed-sync", "fixed-async"),
    )
    text = SCENARIO.replace("accuracy: 60%", "accuracy: 90%")
    result, lines = tuned(tmp_path / "out", Playing(), options, text)
    assert any("reached the target accuracy" in line for line in lines)
    assert result.report["checkpoint"].startswith("epoch ")
    training = result.report["costs"]["training"]
    assert training["trials"] >= 1
    assert training["seconds"] <= 60
    names = [row["name"] for row in result.report["comparison"]]
    assert names == ["tuned", "tuned-anew", "fixed-sync", "fixed-async"]
    table = comparison([tmp_path / "out/tuning.json"])
    assert list(table.name) == names
    assert table.cost[0] == result.report["costs"]["probes"]["seconds"]
    assert result.report["comparison"][0]["seconds"] >= result.report["checkpoint_age"]


@pytest.mark.slow
def test_a_spent_budget_ends_the_tuning(tmp_path: Path) -> None:
    options = TuneOptions(
        probe=Length(updates=10),
        rates=(0.1,),
        epoch=Length(seconds=0.5),
        budget=Length(updates=700),
    )
    text = SCENARIO.replace("accuracy: 60%, ", "")
    result, lines = tuned(tmp_path / "out", Playing(), options, text)
    assert "budget: the budget of 700 updates is spent" in lines
    assert result.report["costs"]["training"]["trials"] >= 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("batch_size: 8", "batch_size: 1", "one group of all 2 devices needs an example for each"),
        ("learner: numpy", "learner: none", "nothing is learnt"),
    ],
)
def test_a_scenario_that_cannot_be_tuned_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = SCENARIO.replace(old, new).replace("accuracy: 60%, ", "")
    with pytest.raises(ScenarioError, match=message):
        tuned(tmp_path / "out", Playing(), text=text)


def test_baselines_need_a_target(tmp_path: Path) -> None:
    options = TuneOptions(baselines=("fixed-sync",))
    text = SCENARIO.replace("accuracy: 60%, ", "")
    with pytest.raises(ScenarioError, match=r"stop\.accuracy: is missing"):
        tuned(tmp_path / "out", Playing(), options, text)


def test_a_probe_without_a_displayed_loss_is_too_short(tmp_path: Path) -> None:
    options = TuneOptions(probe=Length(updates=3), rates=(0.1,), paper=True)
    with pytest.raises(EmulatorError, match=r"too short to display a loss.*a longer --probe"):
        tuned(tmp_path / "out", Playing(), options)


def test_a_trial_without_devices_is_a_failure_and_no_divergence(tmp_path: Path) -> None:
    text = f"{SCENARIO}faults: [{{kind: crash, nodes: [one], at: 50ms}}]"
    message = "^round 1 .* failed: every device is down.*: its loss cannot be compared"
    playing = Playing()
    with pytest.raises(EmulatorError, match=message):
        tuned(tmp_path / "out", playing, text=text)
    assert playing.count == 1


def test_a_trial_that_ended_before_its_first_update_is_short(tmp_path: Path) -> None:
    ledger = TrialLedger(TuningTable(tmp_path / "table.csv"), Watching())
    trial = Trial("cold g=1", "probe", Setting(1, 0.1, 0.9), 1.0)
    facts = {"duration_s": 1.0, "group_updates": 0, "update_seconds": None, "displayed": []}
    results = [
        ledger.trial(trial, Finished(trial.label, tmp_path, {**facts, **ending}))
        for stop in ("time", "diverged")
        for ending in [{"loss": None, "stop": stop, "outcome": "failed"}]
    ]
    assert [result.short for result in results] == [True, False]


def test_rates_that_all_diverge_are_an_error(tmp_path: Path) -> None:
    options = TuneOptions(probe=Length(updates=50), rates=(1e38,))
    with pytest.raises(EmulatorError, match="every probe of the first grid diverged"):
        tuned(tmp_path / "out", Playing(), options)


@pytest.mark.parametrize(
    ("text", "seconds", "updates"),
    [("10min", 600.0, None), ("3000updates", None, 3000), ("1 update", None, 1)],
)
def test_lengths(text: str, seconds: float | None, updates: int | None) -> None:
    assert Length.parse(text) == Length(seconds, updates)


@pytest.mark.parametrize("text", ["", "10", "0s", "0updates", "-1s", "updates", "1e9updates"])
def test_odd_lengths_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"above zero|has no unit|or write updates"):
        Length.parse(text)
