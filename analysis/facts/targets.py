"""The target accuracies of a run, from its scenario."""

import re
from collections.abc import Iterable

from ..reading.runs import Run

DEFAULT = (90.0, 95.0, 97.0)
"""Targets in per cent of a run without targets in its scenario."""


def targets(run: Run) -> tuple[float, ...]:
    """Return the run's targets in per cent, ascending."""
    texts = run.scenario.get("targets")
    numbers = {_percent(text) for text in texts} if isinstance(texts, list) else set()
    return tuple(sorted(number for number in numbers if number is not None)) or DEFAULT


def together(runs: Iterable[Run]) -> tuple[float, ...]:
    """Return the union of the targets of `runs` in per cent, ascending."""
    return tuple(sorted({target for run in runs for target in targets(run)}))


def target_name(target: float) -> str:
    """Return `target` as the names of columns have it: `90`, `98.5`."""
    return f"{target:.9g}"


def _percent(text: object) -> float | None:
    match = re.fullmatch(r"([\d.]+)\s*%", str(text).strip())
    return float(match[1]) if match else None
