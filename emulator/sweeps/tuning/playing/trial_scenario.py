"""The scenarios of the tuner's trials, made from the scenario that is tuned."""

from pathlib import Path

from ....optimizers import Momentum
from ....scenario import Scenario
from ....scenario.model import EvaluateSection, StopSection
from ....synchronization import ComputeGroups
from ....units import Seconds
from ....world.stop_conditions import SCORED
from ..algorithm.setting import Setting

_NEVER = 10**9
"""Updates between two evaluations of a probe, which needs none."""


def with_setting(scenario: Scenario, setting: Setting, initial: Path | None = None) -> Scenario:
    """Return `scenario` with the groups, rate and momentum of `setting`.

    It begins with the model in `initial`; None: with weights drawn from the seed. The groups are
    assigned as `scenario` assigns groups, else in the order of the devices.
    """
    training = scenario.training
    given = training.synchronization
    known = given if isinstance(given, ComputeGroups) else ComputeGroups(groups=1)
    changed = training.model_copy(
        update={
            "synchronization": ComputeGroups(setting.groups, known.assign, known.patience),
            "optimizer": Momentum(setting.momentum),
            "learning_rate": setting.rate,
            "initial": None if initial is None else str(initial.resolve()),
        }
    )
    return scenario.model_copy(update={"training": changed})


def probe(scenario: Scenario, *, seconds: float | None, updates: int | None) -> Scenario:
    """Return `scenario` without evaluations, ended after `seconds` or device `updates`."""
    stop = StopSection(updates=updates, time=None if seconds is None else Seconds(seconds))
    return scenario.model_copy(update={"stop": stop, "evaluate": EvaluateSection(every=_NEVER)})


def epoch(scenario: Scenario, seconds: float) -> Scenario:
    """Return `scenario` ended after `seconds`, or before that once its score is reached."""
    scored = {key: n for key, n in scenario.stop.limits.items() if key in SCORED}
    stop = StopSection(**scored, time=Seconds(seconds))
    return scenario.model_copy(update={"stop": stop})
