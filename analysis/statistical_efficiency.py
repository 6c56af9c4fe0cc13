"""Hardware and statistical efficiency of runs with compute groups (Hadjis et al., 2016).

A group update is one step of the server, of k = N/g updates of devices where none is missing.
HE(g) is the seconds per group update, SE(g) the group updates to a target accuracy, and the time to
the target is HE(g) · SE(g).
"""

import math
from collections.abc import Mapping

import pandas as pd

from .asynchrony import groups
from .runs import Run


def group_updates(run: Run, updates: float = math.inf) -> int:
    """Return the number of group updates within the first `updates` updates of devices."""
    records = run.records("update")
    return len(_steps(run, records[records["updates"] <= updates]))


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


def seconds_per_group_update(run: Run) -> float:
    """Return the measured HE: mean seconds between group updates; NaN with less than two."""
    at = _steps(run, run.records("update"))
    # the first steps of all groups come after a whole iteration each: they are not in the mean
    settled = at.iloc[(groups(run) or 1) - 1 :]
    if len(settled) < 2:
        return math.nan
    return float(settled.iloc[-1] - settled.iloc[0]) / (len(settled) - 1)


def penalties(by_groups: Mapping[int, float]) -> dict[int, float]:
    """Return each value divided by that of one group: P_SE from SE, P_HE from HE.

    NaN where the value of one group is missing, zero or infinite.
    """
    base = by_groups.get(1, math.nan)
    usable = math.isfinite(base) and base > 0
    return {count: value / base if usable else math.nan for count, value in by_groups.items()}


def _steps(run: Run, updates: pd.DataFrame) -> "pd.Series[float]":
    """Return the time of each step that `updates` made, in order."""
    if groups(run) == 1:  # devices of one group step together
        return updates["at"].astype(float).drop_duplicates()
    grouped = updates["group"].notna().any() if "group" in updates else False
    if grouped:
        return updates.drop_duplicates(["group", "at"])["at"].astype(float)
    return updates["at"].astype(float)


def _reached(run: Run, target: float) -> "pd.Series[float] | None":
    """Return the first evaluation of `run` with the accuracy `target`, or None."""
    evaluations = run.records("evaluation").dropna(subset="accuracy")
    enough = evaluations[evaluations["accuracy"] >= target - 1e-9]
    return None if enough.empty else enough.iloc[0]
