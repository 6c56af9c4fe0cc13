"""The progress of a run, computed from the records that arrive, and the records printed so far."""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...log.metric_sums import MAIN
from ...log.records import (
    EvaluationRecord,
    ExitRecord,
    HelloRecord,
    LeftOutRecord,
    MetricRecord,
    Record,
    RefusedRecord,
    StartRecord,
    StopRecord,
    TrafficRecord,
    UnmeasuredRecord,
    UpdateRecord,
)
from ...log.records.fault_records import FaultRecord
from ...log.targets import Travelled, TravelledBytes
from ...world.roles import SERVER
from ...world.verbs import row_of_record

if TYPE_CHECKING:
    from ...scenario import Timed

_EXIT = "exit"
"""Stands for a verb where a process or container ended unasked."""

WINDOW = 5.0
"""Emulated seconds, or one beat if that is longer, over which updates a second are counted."""


@dataclass
class Progress:
    """Counts and times of a running run, for the views."""

    devices: tuple[str, ...]
    timeline: "Sequence[Timed]" = ()
    """The compiled schedule of the run."""
    goal: int | None = None
    """Updates at which the run ends."""
    limit: float | None = None
    """Emulated seconds at which it ends."""
    later: bool = False
    """Whether versions are measured after the run."""
    workload: bool = False
    """Whether the run plays programs of others, whose updates nobody sees."""
    metrics: dict[str, float] = field(default_factory=dict)
    """The last metrics that the server or the driver of a workload printed, by name."""
    at_server: tuple[int, int] = 0, 0
    """Bytes that the server's interface has received, and sent."""
    now: float = 0.0
    updates: int = 0
    accuracy: float | None = None
    error: float | None = None
    """Mean absolute error of a regression."""
    measured: int = -1
    """Updates in the newest model that has been measured."""
    pushed: int = 0
    travelled: TravelledBytes = field(default_factory=TravelledBytes)
    """Bytes pulled by devices, and of activations of a cut model."""
    began: bool = False
    """Whether the run's begin was seen; not of a run in containers that was resumed."""
    _silenced: set[tuple[str, str]] = field(default_factory=set)
    """Devices that the server cannot hear, each with the verb that silences the device."""
    refused: int = 0
    left_out: dict[str, LeftOutRecord] = field(default_factory=dict)
    """The last count of each device that steps were made without."""
    _beats: deque[tuple[float, int]] = field(default_factory=lambda: deque([(0.0, 0)]))

    def take(self, record: "Record") -> None:
        self.travelled.take(record)
        match record:
            case TrafficRecord():
                if record.node == SERVER:
                    self.at_server = record.rx, record.tx
            case MetricRecord() if record.node in MAIN:
                self.metrics |= record.values
            case StartRecord():
                self.began = True
            case UpdateRecord():
                self.updates = record.updates
                self.pushed += record.values + record.indices + record.headers + record.framing
            case EvaluationRecord():
                if record.updates > self.measured:
                    self.accuracy, self.measured = record.accuracy, record.updates
                    self.error = record.error
            case RefusedRecord():
                self.refused += record.count
            case LeftOutRecord():
                self.left_out[record.node] = record
            case ExitRecord() if record.node in self.devices:
                self._silenced.add((record.node, _EXIT))
            case HelloRecord():
                self._silenced.discard((record.node, _EXIT))
            case FaultRecord():
                self._take_fault(record)

    def _take_fault(self, record: FaultRecord) -> None:
        verb = row_of_record(record.what)
        if verb is None or not verb.silences:
            return
        if record.begins:
            self._silenced.add((record.node, verb.name))
        else:
            self._silenced.discard((record.node, verb.name))
            if verb.ends_process:  # it boots, whatever its last process ended of
                self._silenced.discard((record.node, _EXIT))

    def beat(self, now: float) -> None:
        self.now = now
        beats = self._beats
        beats.append((now, self.updates))
        while len(beats) > 2 and beats[1][0] <= now - WINDOW:
            beats.popleft()

    @property
    def crossed(self) -> int:
        """Bytes of activations and their gradients, in both directions; zero without a cut."""
        return self.travelled.crossed

    @property
    def both(self) -> int:
        """Bytes of both directions: pushes, pulls, and activations."""
        return self.pushed + self.travelled.pulled + self.travelled.crossed

    def before(self, record: "Record") -> Travelled | None:
        """Return the bytes that travelled before an evaluation's version; None if unknown."""
        if self.began and isinstance(record, EvaluationRecord):
            return self.travelled.before(record)
        return None

    @property
    def speed(self) -> float:
        """Updates an emulated second, of late."""
        (begin, before), (end, after) = self._beats[0], self._beats[-1]
        return (after - before) / (end - begin) if end > begin else 0.0

    @property
    def share(self) -> float | None:
        """The part of the run that is done, 0 to 1; None if nothing says when it will end."""
        shares = [self.updates / self.goal] if self.goal else []
        shares += [self.now / self.limit] if self.limit else []
        return min(1.0, max(shares)) if shares else None

    @property
    def up(self) -> int:
        """Return how many devices the server may hear from."""
        return len(self.devices) - len(self.down)

    @property
    def down(self) -> set[str]:
        """Devices that the server cannot hear: crashed, cut off, paused, or ended unasked."""
        return {node for node, _ in self._silenced}

    @property
    def most_left_out(self) -> LeftOutRecord | None:
        """Return the count of the device that most steps were made without; None without one."""
        return max(self.left_out.values(), key=lambda record: record.steps, default=None)

    @property
    def next_fault(self) -> str:
        place = bisect_right(self.timeline, self.now, key=lambda timed: timed.at)
        if place == len(self.timeline):
            return "none"
        timed = self.timeline[place]
        return f"{timed.action.verb} {timed.action.node} at {timed.at:.0f} s"


def amount(size: float) -> str:
    """Bytes as people say them: 1.2 MB (powers of 1000, as networks count)."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable")


def ways(pushed: int, pulled: int, both: int) -> str:
    """Bytes of each direction and of both: 1.2 MB pushed, 3.4 MB pulled, 4.6 MB both."""
    return f"{amount(pushed)} pushed, {amount(pulled)} pulled, {amount(both)} both"


def span(seconds: float) -> str:
    """Return `seconds` as a rounded text: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class PrintedRecords:
    """The records printed so far, remembered far enough to go on in the merged log.

    Records are written in the order of time, so the latest time and its records suffice.
    """

    def __init__(self) -> None:
        self._since = -math.inf
        self._latest: list[Record] = []
        self._ended = False

    def note(self, record: Record) -> None:
        written = _written(record)
        if written > self._since:
            self._since, self._latest = written, []
        if written == self._since:
            self._latest.append(record)
        self._ended |= isinstance(record, StopRecord)

    def lacks(self, record: Record) -> bool:
        """Return whether `record` has not been printed yet."""
        # these are written last, with an earlier time
        if isinstance(record, UnmeasuredRecord | StopRecord):
            return not self._ended
        written = _written(record)
        return written > self._since or (written == self._since and record not in self._latest)


def _written(record: Record) -> float:
    """Return the time at which `record` was written, in emulated seconds.

    The evaluator's scores bear an earlier `at`: the time of the measured model.
    """
    if isinstance(record, EvaluationRecord) and record.scored is not None:
        return record.scored
    return record.at
