"""Plans and runs of the study `dynacomm`, as its tables and figures need them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import RunError
from ..reading.runs import Run
from .folder import Row, Study

PLANS = "plans.json"
SCHEDULES = ("sequential", "layer-by-layer", "ibatch", "dynacomm")
BASE = "sequential"
DEVICES, LOSSES = "devices: ", "losses"
"""Begin of the names of the worlds of several devices, and name of the world of losses."""

Plan = Mapping[str, Any]


def read_plans(study: Study) -> Mapping[str, Sequence[Plan]]:
    """Return the plans that the study computed without a run. Raises RunError without them."""
    path = study.folder / PLANS
    try:
        plans: Mapping[str, Sequence[Plan]] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read: {error}") from error
    return plans


def iteration_seconds(row: Row) -> float:
    """Return the median time between two steps of the server in the run of `row`."""
    steps = next(row.read()).records("update")["at"].astype(float).unique()
    return float(np.median(np.diff(np.sort(steps))))


def plan_seconds(plan: Plan) -> float:
    """Return the length of an iteration by `plan`."""
    return float(sum(plan["forward"]) + sum(plan["backward"]))


def update_losses(run: Run) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the losses of the updates of `run`, those of a step in the order of their devices."""
    updates = run.records("update").sort_values(["at", "node"], kind="stable")
    return updates["loss"].astype(float).to_numpy()


def method_name(name: str) -> str:
    """Return the `name` of an algorithm in the study's plans in words."""
    return name if name in SCHEDULES else f"dynacomm, {name}"
