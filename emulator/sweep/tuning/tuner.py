"""Driver of the tuner: plays the trials that the algorithm asks for, and writes the folder."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...errors import EmulatorError, ScenarioError
from ...runs.results import write_json
from ...scenario import Scenario
from ..point import Finished, Point
from ..sweep_folder import SweepFolder
from . import tuned_scenario
from .algorithm_one import TuningState, algorithm_one
from .baselines import BASELINES
from .pruning import after_divergence
from .requests import Decision, Pruned, Trial, TrialGrid, TrialResult
from .setting import Setting
from .trial_journal import TrialJournal
from .trial_players import TrialPlayer
from .trial_scenario import epoch, probe, with_setting
from .tune_options import TuneOptions
from .tuning_table import TuningTable

_ENDLESS = 10**6
"""Epochs of a training that only its budget ends."""


class TuneView(Protocol):
    """Observer of the tuner."""

    def line(self, text: str) -> None:
        """Show a trial that has ended, or a decision."""


@dataclass
class Tuned:
    """The result of tuning."""

    setting: Setting
    scenario: Path
    """The tuned scenario's file."""
    report: dict[str, Any]
    """The content of `tuning.json`."""


@dataclass
class Costs:
    """Emulated cost of trials."""

    seconds: float = 0.0
    updates: int = 0
    trials: int = 0

    def add(self, result: TrialResult) -> None:
        self.seconds += result.seconds
        self.updates += result.updates
        self.trials += 1


class _Ended(Exception):
    """The budget is spent, or the target is reached."""


def tune(
    scenario: Scenario,
    options: TuneOptions,
    folder: SweepFolder,
    player: TrialPlayer,
    view: TuneView,
) -> Tuned:
    """Tune `scenario` in `folder`, whose finished trials are not played again.

    Raises ScenarioError for a scenario that cannot be tuned, EmulatorError if every rate diverged.
    """
    check(scenario, options)
    tuner = _Tuner(scenario, options, folder, player, view)
    tuner.search()
    tuner.compare()
    return tuner.conclude()


def check(scenario: Scenario, options: TuneOptions) -> None:
    """Raise ScenarioError if `scenario` cannot be tuned with `options`."""
    if scenario.virtual.learner == "none" or not isinstance(scenario.training.model, str):
        raise ScenarioError(
            "virtual.learner: the tuner compares losses, and nothing is learnt: use tensorflow or "
            "numpy, and a model that can be trained"
        )
    devices, size = len(scenario.nodes), scenario.training.batch_size
    if size < devices:
        raise ScenarioError(
            f"training.batch_size: {size} examples are the mini-batch of a whole group, and one "
            f"group of all {devices} devices needs an example for each: write {devices} or more"
        )
    if options.baselines and scenario.stop.accuracy is None:
        raise ScenarioError(
            "stop.accuracy: is missing: baselines are compared by their time to a target accuracy"
        )


@dataclass
class _Tuner:
    """State of the driver."""

    scenario: Scenario
    options: TuneOptions
    folder: SweepFolder
    player: TrialPlayer
    view: TuneView
    state: TuningState = field(default_factory=TuningState)
    probes: Costs = field(default_factory=Costs)
    training: Costs = field(default_factory=Costs)
    comparison: list[dict[str, Any]] = field(default_factory=list)
    _unit: float | None = None
    """Emulated seconds of a probe of the cold start."""
    _sync_update: float = 0.0
    """Seconds of an update of one group with all devices."""
    _played: dict[str, Finished] = field(default_factory=dict)
    _age: dict[str, float] = field(default_factory=dict)
    """Emulated seconds of training behind the model of each trial, by label."""

    def __post_init__(self) -> None:
        self.journal = TrialJournal(self.folder, self.player)
        self.table = TuningTable(self.folder.path / "table.csv")

    # -- the search ------------------------------------------------------------------------------

    def search(self) -> None:
        """Carry out the algorithm until it ends, the budget is spent, or the target reached."""
        steps = algorithm_one(
            len(self.scenario.nodes),
            self.state,
            rates=self.options.rates,
            epochs=0 if self.options.budget is None else _ENDLESS,
            refine=self.options.refine,
        )
        answer: Any = None
        try:
            while True:
                answer = self._serve(steps.send(answer))
        except (StopIteration, _Ended):
            pass
        if self.state.setting is None:
            raise EmulatorError(
                "nothing was chosen: every probe of the first grid diverged, or the budget ended "
                "before the cold start: try smaller --rates or a larger --budget"
            )

    def _serve(self, request: Trial | TrialGrid | Decision | Pruned) -> Any:
        match request:
            case Decision():
                self.table.decision(request)
                self.view.line(f"{request.phase}: {request.text}")
            case Pruned():
                self.table.pruned(request)
            case Trial():
                return self._trial(request)
            case TrialGrid():
                return self._grid(request)
        return None

    def _grid(self, grid: TrialGrid) -> dict[Setting, TrialResult]:
        """Play the trials of `grid` that no divergence rules out."""
        self._within_budget()
        results: dict[Setting, TrialResult] = {}
        trials = list(grid.trials)
        if self._unit is None:  # the first trial tells how long a probe is
            first = trials.pop(0)
            results[first.setting] = self._first(first)
        diverged = [setting for setting, found in results.items() if found.loss is None]
        points = {trial.label: (trial, self._point(trial)) for trial in trials}
        by_label = {trial.label: trial for trial in trials}

        def skip(point: Point) -> bool:
            return bool(after_divergence(by_label[point.label].setting, diverged))

        for finished in self.journal.play([point for _, point in points.values()], skip):
            trial = by_label[finished.label]
            results[trial.setting] = found = self._take(trial, finished)
            if found.loss is None:
                diverged.append(trial.setting)
        for trial in trials:
            if trial.setting not in results:
                why = after_divergence(trial.setting, diverged)
                self.table.pruned(Pruned(trial.phase, trial.setting, why))
        return results

    def _first(self, trial: Trial) -> TrialResult:
        """Play the first trial, and set the unit of time."""
        wanted, devices = self.options.probe, len(self.scenario.nodes)
        updates = None if wanted.updates is None else wanted.updates * devices
        scenario = with_setting(self.scenario, trial.setting)
        scenario = probe(scenario, seconds=wanted.seconds, updates=updates)
        (finished,) = self.journal.play([Point(trial.label, scenario)])
        result = self._take(trial, finished)
        if not result.updates:
            raise EmulatorError(
                f"one group of all devices made no update in a probe of {wanted}: name a longer "
                "--probe"
            )
        self._unit = wanted.seconds or result.seconds
        self._sync_update = result.update_seconds or result.seconds / result.updates
        return result

    def _trial(self, trial: Trial) -> TrialResult:
        """Play `trial`, shortened to what the budget leaves if it is an epoch."""
        self._within_budget()
        (finished,) = self.journal.play([self._point(trial)])
        result = self._take(trial, finished)
        if trial.kind == "epoch" and finished.row["stop"] == "accuracy":
            self.state.checkpoint = trial.label
            self._serve(Decision(trial.phase, "reached the target accuracy"))
            raise _Ended
        return result

    def _point(self, trial: Trial) -> Point:
        initial = None
        if trial.start is not None:
            initial = self._played[trial.start].folder / "model.npz"
        scenario = with_setting(self.scenario, trial.setting, initial)
        if trial.kind != "epoch":
            return Point(trial.label, probe(scenario, seconds=self._seconds(trial), updates=None))
        return Point(trial.label, epoch(scenario, self._seconds(trial)))

    def _seconds(self, trial: Trial) -> float:
        assert self._unit is not None
        if trial.kind != "epoch":
            return trial.length * self._unit
        return min(self._left(trial), self.options.epoch_seconds(self._unit, self._sync_update))

    def _left(self, trial: Trial) -> float:
        """Return the emulated seconds for which `trial` can train within the budget."""
        budget, cold = self.options.budget, self.state.cold
        assert budget is not None
        if budget.updates is None:
            return budget.in_seconds(0) - self.probes.seconds - self.training.seconds
        speeds = cold.update_seconds if cold else {}
        each = speeds.get(trial.setting.groups, self._sync_update)
        return (budget.updates - self.probes.updates - self.training.updates) * each

    def _within_budget(self) -> None:
        """Raise _Ended if the budget is spent."""
        seconds = self.probes.seconds + self.training.seconds
        updates = self.probes.updates + self.training.updates
        budget = self.options.budget
        if budget is not None and budget.reached(seconds, updates):
            self._serve(Decision("budget", f"the budget of {budget} is spent"))
            raise _Ended

    def _take(self, trial: Trial, finished: Finished) -> TrialResult:
        """Note a finished trial in the table, the costs and the view; return its result."""
        row = finished.row
        each = row["update_seconds"]
        seconds = row["duration_s"]
        updates = row["group_updates"]
        result = TrialResult(
            row["loss"], seconds, updates, each or (seconds / updates if updates else seconds)
        )
        (self.training if trial.kind == "epoch" else self.probes).add(result)
        self._played[trial.label] = finished
        self._age[trial.label] = seconds + (self._age[trial.start] if trial.start else 0.0)
        self.table.trial(trial, result, row["displayed"])
        loss = "diverged" if result.loss is None else f"loss {result.loss:.4f}"
        self.view.line(f"{trial.label}: {loss} after {updates} updates, {seconds:.4g} s")
        return result

    # -- baselines -------------------------------------------------------------------------------

    def compare(self) -> None:
        """Play the tuned setting and the baselines to the target, and compare their times."""
        if not self.options.baselines:
            return
        setting, start = self.state.setting, self.state.checkpoint
        assert setting is not None
        assert start is not None
        model = self._played[start].folder / "model.npz"
        point = Point(f"tuned {setting}", with_setting(self.scenario, setting, model))
        (tuned,) = self.journal.play([point])
        self._compared("tuned", [(setting, tuned)], self._age[start])
        for name in self.options.baselines:
            _, make = BASELINES[name]
            rate, devices = self.scenario.training.learning_rate, len(self.scenario.nodes)
            settings = make(devices, rate, self.options.rates)
            points = [Point(f"run {s}", with_setting(self.scenario, s)) for s in settings]
            played = list(self.journal.play(points))
            self._compared(name, list(zip(settings, played, strict=True)), 0.0)

    def _compared(self, name: str, runs: Sequence[tuple[Setting, Finished]], age: float) -> None:
        """Note the best of `runs`; their models have trained for `age` seconds before."""
        reached = {
            setting: age + run.row["duration_s"]
            for setting, run in runs
            if run.row["stop"] == "accuracy"
        }
        best = min(reached, key=reached.__getitem__) if reached else None
        row = {
            "name": name,
            "setting": None if best is None else best._asdict(),
            "seconds": None if best is None else reached[best],
            "runs": len(runs),
            "cost_seconds": age + sum(run.row["duration_s"] for _, run in runs),
            "times": [[*setting, reached.get(setting)] for setting, _ in runs],
        }
        self.comparison.append(row)
        self.table.baseline(row)
        result = "missed the target" if best is None else f"{best} in {reached[best]:.4g} s"
        self.view.line(f"{name}: {result}, {len(runs)} runs of {row['cost_seconds']:.4g} s in all")

    # -- results ---------------------------------------------------------------------------------

    def conclude(self) -> Tuned:
        """Write the tuned scenario, the model that it begins with, and `tuning.json`."""
        setting, start = self.state.setting, self.state.checkpoint
        assert setting is not None
        out = self.folder.path
        if start is not None:
            shutil.copyfile(self._played[start].folder / "model.npz", out / tuned_scenario.MODEL)
        file = out / "tuned.yaml"
        reasons = self._reasons(setting, start)
        tuned_scenario.write(file, self.scenario, setting, reasons, begins=start is not None)
        report = self._report(setting, start)
        write_json(out / "tuning.json", report)
        return Tuned(setting, file, report)

    def _reasons(self, setting: Setting, start: str | None) -> list[str]:
        cold = self.state.cold
        speeds = cold.update_seconds if cold else {}
        each = speeds.get(setting.groups)
        halved = ", ".join(map(str, self.state.halvings))
        lines = [
            f"Tuned by `emulate tune`: {self.probes.trials} probes of {self.probes.seconds:.4g} "
            f"emulated seconds, {self.training.seconds:.4g} s of training.",
            "groups: "
            + ("" if cold is None else f"updates stop getting faster at g={cold.fastest}")
            + (f"; the best momentum was 0 at g={halved}, so g was halved" if halved else ""),
            *(f"{groups} groups: {time:.4g} s per group update" for groups, time in speeds.items()),
            *self.table.reasons(setting),
        ]
        if each:
            lines.append(f"predicted rate: {1 / each:.4g} group updates per second, as measured")
        if start is not None:
            lines.append(
                f"{tuned_scenario.MODEL}: the model of `{start}`, after {self._age[start]:.4g} s "
                "of training; remove training.initial to begin with the initial weights"
            )
        return lines

    def _report(self, setting: Setting, start: str | None) -> dict[str, Any]:
        cold = self.state.cold
        return {
            "scenario": self.scenario.name,
            "seed": self.scenario.seed,
            "setting": setting._asdict(),
            "cold": None if cold is None else cold.chosen._asdict(),
            "update_seconds": cold.update_seconds if cold else {},
            "fastest": cold.fastest if cold else None,
            "halvings": self.state.halvings,
            "probe_seconds": self._unit,
            "checkpoint": start,
            "checkpoint_age": self._age.get(start or "", 0.0),
            "costs": {"probes": vars(self.probes), "training": vars(self.training)},
            "comparison": self.comparison,
            "rows": self.table.plain(),
        }
