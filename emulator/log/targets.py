"""Test accuracies for which a run tells what it took to reach them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .records import EvaluationRecord

COSTS = {"updates": "updates", "time": "at", "bytes": "push_bytes"}
"""Costs of reaching a target, in updates, emulated seconds and bytes pushed, and the field of an
`EvaluationRecord` that holds each."""

_ROUNDING = 1e-9
"""Accuracies are quotients: 95 % as a number need not be the share of 19 in 20."""


class Costs:
    """For each target, the first evaluation that reached it."""

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
        """Return an entry a target, as JSON holds it; None where it was never reached."""
        return [
            {
                "accuracy": round(target, 9),
                **{cost: first and getattr(first, field) for cost, field in COSTS.items()},
            }
            for target, first in self._first.items()
        ]


def percent(target: float) -> str:
    """Return a target as the names of columns hold it: `90`, `98.5`."""
    return f"{100 * target:.9g}"
