"""Bytes that devices had pulled, and that had crossed the cut, before each version of the model.

An `evaluation` holds the bytes pushed until its version. The bytes pulled follow from the order of
the records: each `pull` before the `update` that made the version counts.
"""

from bisect import bisect_left
from typing import NamedTuple

from ..world.roles import EVALUATOR
from .records import EvaluationRecord, PullRecord, Record, RecoveredRecord, UpdateRecord
from .records.cut_records import ActivationsRecord

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
