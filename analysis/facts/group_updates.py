"""Group updates of a run with compute groups: seconds, staleness, and number until a target.

A group update is one step of the server, of k = N/g updates of devices where none is missing.
Hardware efficiency HE(g) is the seconds per group update, statistical efficiency SE(g) the group
updates to a target accuracy, and the time to the target is HE(g) · SE(g) (Hadjis et al., 2016).
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..quantities import figures, percent
from ..reading.runs import Run, fact
from .held_model import held_evaluations, held_updates

_SETTLING = 0.1
"""Share of the group updates at a run's begin that does not count: all groups begin at once."""
_FEWEST = 20
"""Group updates that a mean is made of, at least."""
_NAMED = 3
"""Largest number of members that a row names."""


def group_count(run: Run) -> int | None:
    """Return the number g of groups that take steps without waiting for each other.

    One under a barrier, every device under asynchronous training; None for other synchronizations.
    Without a synchronization in the scenario, the number for which the manifest has a prediction.
    """
    chosen = run.training.get("synchronization")
    if chosen is None:
        predicted = run.manifest.get("hardware_efficiency") or {}
        return int(predicted["groups"]) if "groups" in predicted else None
    kind = chosen.get("kind") if isinstance(chosen, dict) else chosen
    if kind == "groups" and isinstance(chosen, dict):
        count = chosen.get("groups")
        return count if isinstance(count, int) else None
    if kind == "barrier":
        return 1
    return run.summary.get("devices") if kind == "asynchronous" else None


@fact
def measured(run: Run) -> float:
    """Return the mean seconds between two group updates of `run`; NaN if there are too few."""
    made = steps(run, held_updates(run)).sort_values("at", kind="stable")
    times = made["at"].to_numpy(float)
    first = int(_SETTLING * len(times))
    if len(times) - first <= _FEWEST:
        return float("nan")
    if group_count(run) != 1:
        named = "group" if made["group"].notna().any() else "node"
        first = _whole_cycles(made[named].to_numpy(), first)
    return float(times[-1] - times[first]) / (len(times) - 1 - first)


def steps(run: Run, updates: pd.DataFrame) -> pd.DataFrame:
    """Return the first of the `updates` of `run` in each group update.

    The devices of a group make a step together: their updates have the same time and `group`. With
    a single group, or one for each device, records name none.
    """
    if group_count(run) == 1:
        return updates.drop_duplicates("at")
    if updates["group"].notna().any():
        return updates.drop_duplicates(["at", "group"])
    return updates


def _whole_cycles(names: NDArray[Any], first: int) -> int:
    """Return the first index from `first` on at which the last of `names` stands, if before it.

    Groups may update soon after each other and pause. A mean from an update of a group to an update
    of the same group counts as many pauses as it should; another mean may count one more or less.
    """
    same = np.flatnonzero(names[first:-1] == names[-1])
    return first + int(same[0]) if len(same) else first


def efficiency_rows(run: Run) -> list[tuple[str, ...]]:
    """Return a row for each prediction in the manifest of `run`, and a row for the measurement.

    Columns: name, milliseconds per group update, measured above predicted as a share. Empty without
    a prediction.
    """
    predicted = run.manifest.get("hardware_efficiency") or {}
    found = measured(run)
    names = {
        "formula": "predicted by the formula, for constant times",
        "queue": "predicted by the queue, for exponential services",
    }
    rows = [
        (name, figures(1e3 * predicted[key]), _above(found, predicted[key]))
        for key, name in names.items()
        if predicted.get(key)
    ]
    return [*rows, ("measured", figures(1e3 * found), "")] if rows else []


def _above(found: float, predicted: float) -> str:
    share = found / predicted - 1
    return f"{'+' if share >= 0 else ''}{percent(share)}"


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


# -- rows of a report ------------------------------------------------------------------------------


def group_steps(run: Run) -> pd.DataFrame:
    """Return a row for every step of a compute group: `group`, `at`, `updates`, `staleness`.

    Empty for a run without groups, with a single group, or with a group for each device.
    """
    updates = held_updates(run).dropna(subset=["group"])
    # the updates of a step have one time, and are equally stale unless a device came late
    found = updates.groupby(["group", "at"], as_index=False).agg(
        updates=("node", "size"), staleness=("staleness", "mean")
    )
    return found.astype({"group": int})


def per_group(run: Run) -> list[tuple[str, ...]]:
    """Return a row for each compute group; [] without groups.

    Columns: group, devices that sent updates, steps, updates a step, median seconds from one step
    to the next, mean staleness in steps.
    """
    updates = held_updates(run).dropna(subset=["group"])
    members = updates.groupby("group")["node"].unique()
    by_group = dict([*group_steps(run).groupby("group")])
    if not by_group:
        return []
    # a group whose members all died early has no record: the manifest has the number of groups
    planned = (run.manifest.get("hardware_efficiency") or {}).get("groups", 0)
    return [
        _row(group, _names(sorted(members[group])), by_group[group])
        if group in by_group
        else _idle(group)
        for group in range(max(int(planned), 1 + max(by_group)))
    ]


def _row(group: int, names: str, steps: pd.DataFrame) -> tuple[str, ...]:
    return (
        str(group),
        names,
        figures(len(steps)),
        figures(steps["updates"].mean()),
        figures(float(np.median(np.diff(steps["at"])))) if len(steps) > 1 else "–",
        figures(steps["staleness"].mean()),
    )


def _idle(group: int) -> tuple[str, ...]:
    return str(group), "–", "0", "–", "–", "–"


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
