"""The records of a run in containers up to its conductor's death, and how a resumption goes on.

All containers of a resumed run are new: their interfaces count from zero, they report samples while
the run's clock stands still, and faults in force begin anew on them. `EarlierLives.adopt` makes
their records go on from the records that the run has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...core.worker.worker import incarnation_of
from ...log.lines import read
from ...log.records import (
    ActivationsRecord,
    HelloRecord,
    PullRecord,
    Record,
    StartRecord,
    StopRecord,
    TrafficRecord,
    UpdateRecord,
    made,
)
from ...log.records.fault_records import FaultRecord
from ...log.records.plan_records import IterationRecord, PlanRecord
from ...scenario import Timed
from ...world import verbs
from ...world.roles import SERVER

OWN = PlanRecord, IterationRecord
"""Records with a time that a device wrote itself."""


@dataclass
class Counters:
    """Bytes of a node's interface over all lives: the last sample, and the messages since then."""

    at: float = float("-inf")
    """Time of the last sample."""
    rx: int = 0
    tx: int = 0

    def add(self, at: float, rx: int = 0, tx: int = 0) -> None:
        """Count a message of the time `at`, unless a sample has it."""
        if at > self.at:
            self.rx, self.tx = self.rx + rx, self.tx + tx


@dataclass
class EarlierLives:
    """The facts of a dead run's records that a resumption needs."""

    now: float = 0.0
    """Emulated seconds at the last record."""
    begun: bool = False
    over: bool = False
    incarnations: dict[str, int] = field(default_factory=dict)
    """The last known incarnation of each node."""
    counters: dict[str, Counters] = field(default_factory=dict)
    """By node. Messages since the last sample count, without the network's headers."""
    held: dict[tuple[str, str], str] = field(default_factory=dict)
    """Kinds of the faults that began and did not end, by node and name of the verb's row."""

    def take(self, records: Iterable[Record]) -> "EarlierLives":
        """Take the records of a file in their order: first the supervisors', then the server's."""
        for record in records:
            if not isinstance(record, OWN):
                self.now = max(self.now, record.at)
            match record:
                case StartRecord():
                    self.begun = True
                case StopRecord():
                    self.over = True
                case HelloRecord(node=node, incarnation=incarnation):
                    last = self.incarnations.get(node, 0)
                    self.incarnations[node] = max(last, incarnation)
                case TrafficRecord():
                    self.counters[record.node] = Counters(record.at, record.rx, record.tx)
                case FaultRecord():
                    self._strike(record)
                case UpdateRecord():
                    size = record.values + record.indices + record.headers + record.framing
                    self._exchanged(record, up=size)
                case PullRecord():
                    self._exchanged(record, down=record.bytes)
                case ActivationsRecord():
                    self._exchanged(record, up=record.up, down=record.down)
        return self

    def take_tickets(self, tickets: Mapping[str, int]) -> None:
        """Take the largest ticket of each node's pushes that the server's state knows.

        A push with a smaller one counts as repeated, and not every hello has a record.
        """
        for node, ticket in tickets.items():
            last = self.incarnations.get(node, 0)
            self.incarnations[node] = max(last, incarnation_of(ticket))

    def ended(self, timeline: Sequence[Timed], begun_anew: Sequence[Timed]) -> Iterator[Record]:
        """Yield the missing end of each held fault that is not in the actions `begun_anew`.

        A fault of the `timeline` ended when it was due, between the deaths of the conductor and of
        the server; a fault that a device drew ends as the device boots anew.
        """
        anew = {_key(timed): timed.action.fault for timed in reversed(begun_anew)}
        due = {
            _key(timed): timed.at
            for timed in timeline
            if timed.at <= self.now and not timed.action.begins
        }
        for (node, name), kind in list(self.held.items()):
            if anew.get((node, name)) != kind:
                del self.held[node, name]
                at = due.get((node, name), self.now)
                facts = {"node": node, "fault": kind, "begins": False, "planned": at}
                yield made(verbs.row(name).undone_record, at, **facts)

    def adopt(self, record: Record) -> bool:
        """Make `record`, of a new container, continue the earlier records, in place.

        Return False for a sample from the boot, which belongs to no time of the run.
        """
        match record:
            case TrafficRecord():
                if record.at < self.now:
                    return False
                before = self.counters.get(record.node, Counters())
                record.rx, record.tx = record.rx + before.rx, record.tx + before.tx
            case FaultRecord(begins=True):
                row = verbs.row_of_record(record.what)
                key = record.node, "" if row is None else row.name
                record.again = self.held.pop(key, None) == record.fault
        if not isinstance(record, OWN):
            record.at = max(record.at, self.now)
        return True

    def _strike(self, record: FaultRecord) -> None:
        row = verbs.row_of_record(record.what)
        if row is None:
            return
        if record.begins:
            self.held[record.node, row.name] = record.fault
        else:
            self.held.pop((record.node, row.name), None)

    def _exchanged(
        self, record: UpdateRecord | PullRecord | ActivationsRecord, up: int = 0, down: int = 0
    ) -> None:
        """Count a message of `up` bytes to the server, or of `down` bytes from the server."""
        self.counters.setdefault(SERVER, Counters()).add(record.at, rx=up, tx=down)
        self.counters.setdefault(record.node, Counters()).add(record.at, rx=down, tx=up)


def read_lives(log: Path, reports: Path) -> EarlierLives:
    """Return the facts of the server's `log` and of the supervisors' `reports`, if there are any.

    Raises a ValueError if one is damaged.
    """
    lives = EarlierLives()
    if reports.is_file():
        lives.take(read(reports))  # first: their samples say which messages are counted already
    return lives.take(read(log))


def _key(timed: Timed) -> tuple[str, str]:
    """Return the node of an action and the name of the row of its verb."""
    return timed.action.node, verbs.row(timed.action.verb).name
