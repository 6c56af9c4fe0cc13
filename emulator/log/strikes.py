"""Counts of the faults of a run: planned, realised, overlapped, drawn, and by batteries."""

from collections.abc import Iterable
from typing import NamedTuple

from ..world.verbs import row_of_record
from .records.fault_records import FaultRecord, OverlapRecord, TimelineRecord
from .writing import microseconds

BATTERY = "energy"
"""Kind of the faults by which a battery switches its device off."""


class _Strike(NamedTuple):
    """A fault of the timeline: the node, the verb that begins the fault, and the due time."""

    node: str
    verb: str
    at: float


class Strikes:
    """Counts the begins of faults, each of the timeline once, however often a run was resumed."""

    def __init__(self, timeline: Iterable[TimelineRecord] = ()) -> None:
        self._planned = [
            _Strike(action.node, action.verb, microseconds(action.at))
            for action in timeline
            if action.begins
        ]
        self._dated = frozenset(self._planned)
        self._realised = 0
        self._overlapped: set[_Strike] = set()
        self._drawn = self._outages = 0

    def take(self, record: FaultRecord) -> None:
        """Count a fault that began; other records count nothing."""
        row = row_of_record(record.what)
        if not record.begins or row is None:
            return
        # the timeline first: a replay has the outages of batteries in it, too
        if _Strike(record.node, row.name, microseconds(record.planned)) in self._dated:
            self._realised += 1
        elif record.fault == BATTERY:
            self._outages += 1
        else:
            self._drawn += 1

    def overlap(self, record: OverlapRecord) -> None:
        """Count a fault that came while another held the node, if the timeline has the fault."""
        if record.planned is not None:
            at = microseconds(record.planned)
            self._overlapped.add(_Strike(record.node, record.verb, at))

    def plain(self, end: float) -> dict[str, int]:
        """Return the counts of a run that ended at `end`, as the summary has them."""
        return {
            "faults_planned": sum(strike.at <= end for strike in self._planned),
            "faults_realised": self._realised,
            **({"faults_overlapped": len(self._overlapped)} if self._overlapped else {}),
            **({"faults_drawn": self._drawn} if self._drawn else {}),
            **({"battery_outages": self._outages} if self._outages else {}),
        }
