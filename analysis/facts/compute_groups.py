"""Compute groups in a log: steps, and the staleness of gradients."""

import numpy as np
import pandas as pd

from ..quantities import figures
from ..reading.runs import Run
from .held_model import held_updates

SHOWN = 3
"""Largest number of members that a row names."""


def group_steps(run: Run) -> pd.DataFrame:
    """Return a row for every step of a compute group: `group`, `at`, `updates`, `staleness`.

    Empty for a run without groups, with a single group, or with a group for each device.
    """
    updates = held_updates(run).dropna(subset=["group"])
    # the updates of a step have one time, and are equally stale unless a device came late
    steps = updates.groupby(["group", "at"], as_index=False).agg(
        updates=("node", "size"), staleness=("staleness", "mean")
    )
    return steps.astype({"group": int})


def per_group(run: Run) -> list[tuple[str, ...]]:
    """Return a row for each compute group; [] without groups.

    Columns: group, devices that sent updates, steps, updates a step, median seconds from one step
    to the next, mean staleness in steps.
    """
    updates = held_updates(run).dropna(subset=["group"])
    members = updates.groupby("group")["node"].unique()
    steps = dict([*group_steps(run).groupby("group")])
    if not steps:
        return []
    # a group whose members all died early has no record: the manifest has the number of groups
    planned = (run.manifest.get("hardware_efficiency") or {}).get("groups", 0)
    return [
        _row(group, _names(sorted(members[group])), steps[group])
        if group in steps
        else _idle(group)
        for group in range(max(int(planned), 1 + max(steps)))
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
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
