"""Comparison of the tuned setting with baselines, by the emulated time to the scenario's target."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...costs.prediction import divisors
from ...scenario import Scenario
from ...world.stop_conditions import SCORED
from ..point import Finished, Point
from .algorithm_one import TuningState
from .grids import FIRST_MOMENTUM, Setting, full_grid
from .trial_journal import TrialJournal
from .trial_ledger import TrialLedger
from .trial_players import with_setting
from .tune_options import TuneOptions

Make = Callable[[int, float, Sequence[float]], list[Setting]]
"""Function of the number of devices, the scenario's learning rate, and the rates of a grid."""


def compare(
    scenario: Scenario,
    options: TuneOptions,
    state: TuningState,
    journal: TrialJournal,
    ledger: TrialLedger,
) -> list[dict[str, Any]]:
    """Play the tuned setting and the baselines to the target; return a row for each.

    The tuned setting goes on from the newest checkpoint, and the time of the checkpoint counts;
    `tuned-anew` plays the same setting from the initial weights, as the baselines begin. A row
    has `name`, the best `setting` and its `seconds` to the target (None: missed by all), the
    number of `runs`, `cost_seconds` of all runs, and `times` of each setting. A run that misses the
    target costs its whole time.
    """
    if not options.baselines or state.setting is None:
        return []
    start = state.checkpoint
    model = None if start is None else ledger.model(start)
    tuned = Point(f"tuned {state.setting}", with_setting(scenario, state.setting, model))
    (finished,) = journal.play([tuned])
    rows = [_row("tuned", [(state.setting, finished)], ledger.age(start), ledger)]
    rate, devices = scenario.training.learning_rate, len(scenario.nodes)
    compared = {"tuned-anew": [state.setting]}
    for name in options.baselines:
        _, make = BASELINES[name]
        compared[name] = make(devices, rate, options.rates)
    for name, settings in compared.items():
        points = [Point(f"run {setting}", with_setting(scenario, setting)) for setting in settings]
        played = zip(settings, journal.play(points), strict=True)
        rows.append(_row(name, list(played), 0.0, ledger))
    return rows


def _row(
    name: str, runs: Sequence[tuple[Setting, Finished]], age: float, ledger: TrialLedger
) -> dict[str, Any]:
    """Return the row of `runs`, whose models have trained for `age` seconds before."""
    reached = {
        setting: age + run.row["duration_s"] for setting, run in runs if run.row["stop"] in SCORED
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
    result = "missed the target" if best is None else f"{best} in {reached[best]:.4g} s"
    ledger.baseline(row, f"{result}, {len(runs)} runs of {row['cost_seconds']:.4g} s in all")
    return row


BASELINES: Mapping[str, tuple[str, Make]] = {
    "fixed-sync": (
        "one group with momentum 0.9 at the scenario's learning rate",
        lambda devices, rate, rates: [Setting(1, rate, FIRST_MOMENTUM)],
    ),
    "fixed-async": (
        "a group for each device with momentum 0.9 at the scenario's learning rate",
        lambda devices, rate, rates: [Setting(devices, rate, FIRST_MOMENTUM)],
    ),
    "tuned-sync": (
        "one group with the best momentum and rate of the grid",
        lambda devices, rate, rates: full_grid([1], rates),
    ),
    "tuned-async": (
        "a group for each device with the best momentum and rate of the grid",
        lambda devices, rate, rates: full_grid([devices], rates),
    ),
    "exhaustive": (
        "the best number of groups, momentum and rate of the whole grid",
        lambda devices, rate, rates: full_grid(divisors(devices), rates),
    ),
}
"""Baselines by name, with a description and the settings that they play."""
