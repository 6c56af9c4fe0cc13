"""Hardware and statistical efficiency of runs with compute groups (Hadjis et al., 2016).

HE(g) is the seconds per group update (`group_updates.measured`), SE(g) the group updates to a
target accuracy, and the time to the target is HE(g) · SE(g).
"""

import math
from collections.abc import Mapping

import pandas as pd

from ..reading.runs import Run
from .group_updates import steps
from .held_model import held_evaluations, held_updates


def group_updates(run: Run, updates: float = math.inf) -> int:
    """Return the number of group updates within the first `updates` updates of devices."""
    records = held_updates(run)
    return len(steps(run, records[records["updates"] <= updates]))


def statistical_efficiency(run: Run, target: float) -> float:
    """Return SE: group updates until the first measurement of the accuracy `target`, a fraction.

    Infinite if the run never reached the target.
    """
    found = _reached(run, target)
    return math.inf if found is None else float(group_updates(run, found["updates"]))


def seconds_to(run: Run, target: float) -> float:
    """Return the emulated seconds until the first measurement of `target`; inf if never."""
    found = _reached(run, target)
    return math.inf if found is None else float(found["at"])


def penalties(by_groups: Mapping[int, float]) -> dict[int, float]:
    """Return each value divided by that of one group: P_SE from SE, P_HE from HE.

    NaN where the value of one group is missing, zero or infinite.
    """
    base = by_groups.get(1, math.nan)
    usable = math.isfinite(base) and base > 0
    return {count: value / base if usable else math.nan for count, value in by_groups.items()}


def _reached(run: Run, target: float) -> "pd.Series[float] | None":
    """Return the first evaluation of `run` with the accuracy `target`, or None."""
    evaluations = held_evaluations(run).dropna(subset="accuracy")
    enough = evaluations[evaluations["accuracy"] >= target - 1e-9]
    return None if enough.empty else enough.iloc[0]
