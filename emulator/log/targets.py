"""The updates, time and bytes that a run needed to reach given test accuracies."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..world.roles import EVALUATOR
from .records import (
    ActivationsRecord,
    EvaluationRecord,
    PullRecord,
    Record,
    RecoveredRecord,
    UpdateRecord,
)

if TYPE_CHECKING:
    from .records import EvaluationRecord

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


_KEPT = 1 << 16
"""Largest number of versions kept. Beyond it every second one is dropped, and one of twice as many
is kept from then on. Another version has the bytes of one shortly before: at most 1/32,768 of all
versions lie between them."""


class Travelled(NamedTuple):
    """Bytes that travelled beside the pushes."""

    pulled: int
    """Models sent to devices; those of the evaluator do not count."""
    crossed: int
    """Activations and their gradients, in both directions; zero without a cut model."""


class TravelledBytes:
    """Takes the records of a run in their order; knows the sums at present and by version."""

    def __init__(self) -> None:
        self.pulled = self.crossed = 0
        self._updates: list[int] = []
        self._sums: list[Travelled] = []
        """The sums before the update of the same place in `_updates`, which ascend."""
        self._every = self._until_kept = 1
        """One of how many updates is kept, and the number of updates until the next of them."""

    def take(self, record: Record) -> None:
        match record:
            case PullRecord():
                self.pulled += record.bytes if record.node != EVALUATOR else 0
            case ActivationsRecord():
                self.crossed += record.up + record.down
            case UpdateRecord():
                self._until_kept -= 1
                if not self._until_kept:
                    self._keep(record)
            case RecoveredRecord():  # the updates after this version are made anew
                last = bisect_left(self._updates, record.version + 1)
                del self._updates[last:], self._sums[last:]

    def _keep(self, update: UpdateRecord) -> None:
        self._updates.append(update.updates)
        self._sums.append(Travelled(self.pulled, self.crossed))
        if len(self._updates) > _KEPT:
            del self._updates[1::2], self._sums[1::2]
            self._every *= 2
        self._until_kept = self._every

    def before(self, evaluation: EvaluationRecord) -> Travelled:
        """Return the sums before the update that made the version of `evaluation`.

        They are zero for a version that no record of an update made, as the first one.
        """
        place = bisect_left(self._updates, evaluation.updates + 1)
        return self._sums[place - 1] if place else Travelled(0, 0)
