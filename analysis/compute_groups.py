"""Compute groups in a log: steps, and the staleness of gradients."""

import numpy as np
import pandas as pd

from .quantities import figures
from .runs import Run

SHOWN = 3
"""Largest number of members that a row names."""


def group_steps(run: Run) -> pd.DataFrame:
    """Return a row for every step of a compute group: `group`, `at`, `updates`, `staleness`.

    Empty for a run without groups, with a single group, or with a group for each device.
    """
    updates = run.records("update").dropna(subset=["group"])
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
    updates = run.records("update").dropna(subset=["group"])
    members = updates.groupby("group")["node"].unique()
    return [
        (
            str(group),
            _names(sorted(members[group])),
            figures(len(own)),
            figures(own["updates"].mean()),
            figures(float(np.median(np.diff(own["at"])))) if len(own) > 1 else "–",
            figures(own["staleness"].mean()),
        )
        for group, own in group_steps(run).groupby("group")
    ]


def _names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
