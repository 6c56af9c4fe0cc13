"""The updates, time and bytes that a run needed to reach given test accuracies."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .records import EvaluationRecord
    from .travelled_bytes import Travelled

COSTS = ("updates", "time", "bytes", "pulled", "both")
"""Costs of reaching a target: updates, emulated seconds, bytes pushed, bytes pulled, and the bytes
of both directions."""

_ROUNDING = 1e-9
"""Tolerance: accuracies are quotients, and 0.95 need not equal 19 / 20 in floating point."""


class Costs:
    """For each target accuracy, the first evaluation with this accuracy or more."""

    def __init__(self, targets: Iterable[float]) -> None:
        self._first: dict[float, tuple[EvaluationRecord, Travelled] | None]
        self._first = dict.fromkeys(sorted(targets))

    def take(self, evaluation: "EvaluationRecord", travelled: "Travelled") -> None:
        """Take the next evaluation in the order of time, with the bytes `travelled` by then."""
        accuracy = evaluation.accuracy
        if accuracy is None:
            return
        for target, first in self._first.items():
            if first is None and accuracy >= target - _ROUNDING:
                self._first[target] = evaluation, travelled

    def plain(self, *, cut: bool = False) -> list[dict[str, Any]]:
        """Return the accuracy and the costs of each target; costs are None for a missed target.

        `activations` are among the costs if the model is `cut`.
        """
        return [
            {
                "accuracy": round(target, 9),
                "updates": first and first[0].updates,
                "time": first and first[0].at,
                "bytes": first and first[0].push_bytes,
                "pulled": first and first[1].pulled,
                **({"activations": first and first[1].crossed} if cut else {}),
            }
            for target, first in self._first.items()
        ]


def costs(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `COSTS` of a `target` of a summary; None for a cost that it does not have."""
    ways = [target.get("bytes"), target.get("pulled"), target.get("activations", 0)]
    both = None if None in ways else sum(ways)
    return {cost: both if cost == "both" else target.get(cost) for cost in COSTS}


def percent(target: float) -> str:
    """Return `target`, a fraction, in per cent for a column's name, as `90` or `98.5`."""
    return f"{100 * target:.9g}"
