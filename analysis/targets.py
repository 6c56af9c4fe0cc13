"""The test accuracies for which a run tells what it took to reach them, from its scenario."""

import re
from collections.abc import Iterable

from .runs import Run

DEFAULT = (90.0, 95.0, 97.0)
"""Per cent; of runs whose scenario names none."""


def targets(run: Run) -> tuple[float, ...]:
    """Return the run's targets in per cent, ascending."""
    told = run.scenario.get("targets")
    found = {_percent(one) for one in told} if isinstance(told, list) else set()
    return tuple(sorted(one for one in found if one is not None)) or DEFAULT


def together(runs: Iterable[Run]) -> tuple[float, ...]:
    """Return the targets of all the runs, ascending."""
    return tuple(sorted({target for run in runs for target in targets(run)}))


def target_name(target: float) -> str:
    """Return a target as columns have it: `90`, `98.5`."""
    return f"{target:.9g}"


def _percent(text: object) -> float | None:
    match = re.fullmatch(r"([\d.]+)\s*%", str(text).strip())
    return float(match[1]) if match else None
