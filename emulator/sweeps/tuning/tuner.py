"""Driver of the tuner: plays the trials that the algorithm asks for, and writes the folder."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from ...errors import EmulatorError, ScenarioError
from ...runs.results import read_json, replacing, write_json
from ...scenario import Scenario, dump
from ...world.stop_conditions import SCORED
from ..point import Point
from ..sweep_folder import SweepFolder
from .algorithm_one import TuningState, algorithm_one
from .comparison import compare
from .grids import Setting, after_divergence
from .search import Decision, Pruned, Trial, TrialGrid, TrialResult
from .trial_journal import TrialJournal
from .trial_ledger import TrialLedger, TuneView, TuningTable
from .trial_players import TrialPlayer, epoch, probe, with_setting
from .tune_options import TuneOptions

MODEL = "model.npz"
"""File beside the tuned scenario: the model that it begins with."""
_ENDLESS = 10**6
"""Epochs of a training that only its budget ends."""


@dataclass
class Tuned:
    """The result of a tuning."""

    setting: Setting
    scenario: Path
    """The tuned scenario's file."""
    report: dict[str, Any]
    """The content of `tuning.json`."""


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
    journal = TrialJournal(folder, player)
    ledger = TrialLedger(TuningTable(folder.path / "table.csv"), view)
    state = TuningState()
    _Tuner(scenario, options, journal, ledger, state).search()
    if state.setting is None:
        raise EmulatorError(
            "nothing was chosen: every probe of the first grid diverged or was too short to "
            "display a loss, or the budget ended before the first choice: try smaller --rates, a "
            "longer --probe or a larger --budget"
        )
    comparison = compare(scenario, options, state, journal, ledger)
    return _written(scenario, folder.path, state.setting, state, ledger, comparison)


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
    if scenario.training.initial is not None:
        raise ScenarioError(
            "training.initial: the tuner begins with weights drawn from the seed: leave it out"
        )
    if options.baselines and scenario.stop.accuracy is None:
        raise ScenarioError(
            "stop.accuracy: is missing: baselines are compared by their time to a target accuracy"
        )


def _written(
    scenario: Scenario,
    out: Path,
    setting: Setting,
    state: TuningState,
    ledger: TrialLedger,
    comparison: list[dict[str, Any]],
) -> Tuned:
    """Write the tuned scenario, the model that it begins with, and `tuning.json` to `out`."""
    begins = state.checkpoint is not None
    if state.checkpoint is not None:
        shutil.copyfile(ledger.model(state.checkpoint), out / MODEL)
    file = out / "tuned.yaml"
    lines = _reasons(setting, state, ledger)
    _write_tuned(file, scenario, setting, lines, begins=begins)
    facts = {"scenario": scenario.name, "seed": scenario.seed}
    report = {**facts, **_report(setting, state, ledger, comparison)}
    write_json(out / "tuning.json", report)
    return Tuned(setting, file, read_json(out / "tuning.json"))


@dataclass
class _Tuner:
    """Serves the requests of the algorithm, until it ends or the budget is spent."""

    scenario: Scenario
    options: TuneOptions
    journal: TrialJournal
    ledger: TrialLedger
    state: TuningState
    _unit: float | None = field(default=None, init=False)
    """Emulated seconds of a probe."""
    _sync_update: float = field(default=0.0, init=False)
    """Seconds of an update of one group with all devices."""

    def search(self) -> None:
        """Carry out the algorithm until it ends, the budget is spent, or the target reached."""
        steps = algorithm_one(
            len(self.scenario.nodes),
            self.state,
            rates=self.options.rates,
            epochs=0 if self.options.budget is None else _ENDLESS,
            refine=self.options.refine,
            paper=self.options.paper,
        )
        answer: Any = None
        try:
            while True:
                answer = self._serve(steps.send(answer))
        except (StopIteration, _Ended):
            pass

    def _serve(self, request: Trial | TrialGrid | Decision | Pruned) -> Any:
        match request:
            case Decision():
                self.ledger.decision(request)
            case Pruned():
                self.ledger.pruned(request)
            case Trial():
                return self._trial(request)
            case TrialGrid():
                return self._grid(list(request.trials))
        return None

    def _grid(self, trials: list[Trial]) -> dict[Setting, TrialResult]:
        """Play the `trials`, except for settings that a divergence rules out."""
        self._require_budget()
        results: dict[Setting, TrialResult] = {}
        if self._unit is None:  # the first trial tells how long a probe is
            results[trials[0].setting] = self._first(trials[0])
        left = [trial for trial in trials if trial.setting not in results]
        by_label = {trial.label: trial for trial in left}

        def why(trial: Trial) -> str:
            diverged = (
                setting
                for setting, found in results.items()
                if found.loss is None and not found.short
            )
            return after_divergence(trial.setting, diverged)

        points = [self._point(trial) for trial in left]
        for finished in self.journal.play(points, lambda point: bool(why(by_label[point.label]))):
            trial = by_label[finished.label]
            results[trial.setting] = self.ledger.trial(trial, finished)
        for trial in left:
            if trial.setting not in results:
                self.ledger.pruned(Pruned(trial.phase, trial.setting, why(trial)))
        return results

    def _first(self, trial: Trial) -> TrialResult:
        """Play the first trial, and set the unit of time."""
        wanted, devices = self.options.probe, len(self.scenario.nodes)
        updates = seconds = None
        if wanted.updates is None:
            seconds = trial.length * (wanted.seconds or 0.0)
        else:
            updates = ceil(trial.length * wanted.updates) * devices
        scenario = with_setting(self.scenario, trial.setting)
        scenario = probe(scenario, seconds=seconds, updates=updates)
        (finished,) = self.journal.play([Point(trial.label, scenario)])
        result = self.ledger.trial(trial, finished)
        if not result.updates:
            raise EmulatorError(
                f"one group of all devices made no update in a probe of {wanted}: name a longer "
                "--probe"
            )
        self._unit = wanted.seconds or result.seconds / trial.length
        self._sync_update = result.update_seconds
        return result

    def _trial(self, trial: Trial) -> TrialResult:
        """Play `trial`. Raises _Ended if the target is reached."""
        self._require_budget()
        (finished,) = self.journal.play([self._point(trial)])
        result = self.ledger.trial(trial, finished)
        if trial.kind == "epoch" and (reason := finished.row["stop"]) in SCORED:
            self.state.checkpoint = trial.label
            self.ledger.decision(Decision(trial.phase, f"reached the target {reason}"))
            raise _Ended
        return result

    def _point(self, trial: Trial) -> Point:
        initial = None if trial.start is None else self.ledger.model(trial.start)
        scenario = with_setting(self.scenario, trial.setting, initial)
        seconds = self._seconds(trial)
        if trial.kind == "epoch":
            return Point(trial.label, epoch(scenario, seconds))
        return Point(trial.label, probe(scenario, seconds=seconds, updates=None))

    def _seconds(self, trial: Trial) -> float:
        """Return the emulated seconds of `trial`; the budget may shorten an epoch."""
        assert self._unit is not None
        if trial.kind != "epoch":
            return trial.length * self._unit
        return min(self._left(trial), self.options.epoch_seconds(self._unit, self._sync_update))

    def _left(self, trial: Trial) -> float:
        """Return the emulated seconds for which `trial` can train within the budget."""
        budget, cold = self.options.budget, self.state.cold
        assert budget is not None
        if budget.updates is None:
            return budget.in_seconds(0) - self.ledger.seconds
        speeds = cold.update_seconds if cold else {}
        each = speeds.get(trial.setting.groups, self._sync_update)
        return (budget.updates - self.ledger.updates) * each

    def _require_budget(self) -> None:
        """Raise _Ended if the budget is spent."""
        budget = self.options.budget
        if budget is not None and budget.reached(self.ledger.seconds, self.ledger.updates):
            self.ledger.decision(Decision("budget", f"the budget of {budget} is spent"))
            raise _Ended


def _reasons(setting: Setting, state: TuningState, ledger: TrialLedger) -> list[str]:
    """Return the reasons for `setting`, one a line."""
    probes, trained = ledger.probes, ledger.training.seconds
    cold = state.cold
    speeds = cold.update_seconds if cold else {}
    lines = [
        f"Tuned by `emulate tune`: {probes.trials} probes of {probes.seconds:.4g} emulated "
        f"seconds, {trained:.4g} s of training.",
        *(f"g={groups}: {time:.4g} s per group update" for groups, time in speeds.items()),
        *ledger.table.reasons(setting),
        *(f"the best momentum was 0 at g={groups}, so g was halved" for groups in state.halvings),
    ]
    if each := speeds.get(setting.groups):
        lines.append(f"predicted rate: {1 / each:.4g} group updates per second, as probes measured")
    if state.checkpoint is not None:
        lines += [
            f"{MODEL} is the model of `{state.checkpoint}`, after "
            f"{ledger.age(state.checkpoint):.4g} s of training;",
            "remove training.initial to begin with weights drawn from the seed.",
        ]
    return lines


def _report(
    setting: Setting, state: TuningState, ledger: TrialLedger, comparison: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the content of `tuning.json`."""
    cold = state.cold
    return {
        "setting": setting._asdict(),
        "cold": None if cold is None else cold.chosen._asdict(),
        "update_seconds": {} if cold is None else cold.update_seconds,
        "fastest": None if cold is None else cold.fastest,
        "halvings": state.halvings,
        "checkpoint": state.checkpoint,
        "checkpoint_age": ledger.age(state.checkpoint),
        "costs": {"probes": vars(ledger.probes), "training": vars(ledger.training)},
        "comparison": comparison,
        "rows": ledger.table.plain(),
    }


def _write_tuned(
    path: Path, scenario: Scenario, setting: Setting, reasons: Sequence[str], *, begins: bool
) -> None:
    """Write `scenario` with `setting` to `path`, and `reasons` as comments above.

    With `begins` the scenario begins with the model in the file `MODEL` beside it.
    """
    tuned = with_setting(scenario, setting)
    if begins:
        training = tuned.training.model_copy(update={"initial": MODEL})
        tuned = tuned.model_copy(update={"training": training})
    comments = "".join(f"# {line}\n" for line in reasons)
    with replacing(path) as sink:
        sink.write(f"{comments}{dump(tuned)}".encode())
