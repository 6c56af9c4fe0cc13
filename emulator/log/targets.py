"""The updates, time and bytes that a run needed to reach given test accuracies."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .records import EvaluationRecord

COSTS = {"updates": "updates", "time": "at", "bytes": "push_bytes"}
"""Costs of reaching a target, in updates, emulated seconds and bytes pushed, and the field of an
`EvaluationRecord` that holds each."""

_ROUNDING = 1e-9
"""Tolerance: accuracies are quotients, and 0.95 need not equal 19 / 20 in floating point."""


class Costs:
    """For each target accuracy, the first evaluation with this accuracy or more."""

    def __init__(self, targets: Iterable[float]) -> None:
        self._first: dict[float, EvaluationRecord | None] = dict.fromkeys(sorted(targets))

    def take(self, evaluation: "EvaluationRecord") -> None:
        """Take the next evaluation in the order of time."""
        accuracy = evaluation.accuracy
        if accuracy is None:
            return
        for target, first in self._first.items():
            if first is None and accuracy >= target - _ROUNDING:
                self._first[target] = evaluation

    def plain(self) -> list[dict[str, Any]]:
        """Return the accuracy and the costs of each target; costs are None for a missed target."""
        return [
            {
                "accuracy": round(target, 9),
                **{cost: first and getattr(first, field) for cost, field in COSTS.items()},
            }
            for target, first in self._first.items()
        ]


def percent(target: float) -> str:
    """Return `target`, a fraction, in per cent for a column's name, as `90` or `98.5`."""
    return f"{100 * target:.9g}"
