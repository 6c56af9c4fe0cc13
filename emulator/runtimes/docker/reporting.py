"""Turns the output of containers, and their ends, into records of the run."""

from collections.abc import Collection, Iterable
from typing import Any

from ...core.survivors import Survivors
from ...errors import DeploymentError
from ...log.lines import parse
from ...log.records import ExitRecord, LatenessRecord, Record, TrafficRecord, made
from ...log.records.fidelity_records import LinkRecord
from ...log.records.plan_records import IterationRecord, PlanRecord
from ...node.reports import (
    DelayReport,
    DrawnReport,
    ExitReport,
    FailedReport,
    LatenessLine,
    LostReport,
    NodeReport,
    QuotaReport,
    ReadyReport,
    RecordReport,
    TrafficReport,
    VerbReport,
)
from ...runs.conductor import RunView
from ...world import verbs
from ...world.emulated_clock import UNDILATED, EmulatedClock
from ...world.roles import EVALUATOR, SERVER, is_server, shard_name
from .earlier_lives import EarlierLives
from .engine.exits import Exit, Exits
from .engine.stdio import Said
from .host_log import HostLogs
from .run_logs import NodeLogs

_LONG = TrafficRecord | LinkRecord | PlanRecord | IterationRecord
"""Records that are no messages of a node."""


class Reports:
    """Turns reports of supervisors and ends of containers into records with emulated times."""

    def __init__(
        self,
        exits: Exits,
        logs: NodeLogs,
        view: RunView,
        survivors: Survivors,
        lives: EarlierLives | None = None,
        clock: EmulatedClock = UNDILATED,
        host: HostLogs | None = None,
        vital: Iterable[str] = (),
    ) -> None:
        """`lives`: the earlier lives of a run that is resumed; `clock` is the server's. `host`
        hears of the containers' processor time. `vital` are the nodes without which no run goes on,
        beside the server and the evaluator: gateways of bottlenecks, and shards."""
        self._vital = {SERVER, EVALUATOR, *vital}
        self._shards = ShardTraffic([name for name in self._vital if is_server(name)])
        self._lives, self._clock, self._host = lives, clock, host
        self._exits, self._logs, self._view, self._survivors = exits, logs, view, survivors
        self._zero: float | None = None
        self._early: list[tuple[float, str, NodeReport]] = []
        """Reports from before the run's zero: time of the clock, node, report."""

    def begin(self, zero: float) -> None:
        """Take the run's `zero`, a time of the clock, and record the reports from before `zero`."""
        self._zero = zero
        for now, node, report in self._early:
            self._record(now, node, report)
        self._early.clear()

    def hear(self, said: Said) -> None:
        """Take a line of a container's output: a supervisor's report, or text for its log.

        Raises DeploymentError if a supervisor could not set its node up.
        """
        match said.report:
            case FailedReport(detail):
                raise DeploymentError(detail)
            case LostReport():
                self._survivors.lost(said.node)
            case ReadyReport():
                pass
            case RecordReport() as observed if _observed(said.node, observed) is None:
                self._write_text(said)
            case None | DrawnReport() | DelayReport() | QuotaReport():
                self._write_text(said)  # no report, or from a node that has nothing of the kind
            case report:
                if isinstance(report, TrafficReport) and report.cpu and self._host is not None:
                    self._host.heard(said.node, said.now, report.cpu)
                # supervisors read the host's clock
                self.did(self._clock.emulated(said.now), said.node, report)

    def _write_text(self, said: Said) -> None:
        self._exits.said(said.node, said.text)
        self._logs.write(said.node, said.text)

    def late(self, line: LatenessLine, now: float, host: str = "") -> None:
        """Record the lateness of packets, as the box of `host` reports it, if the run has begun.

        `now`: the time of the line by this machine's monotonic clock.
        """
        if self._zero is None:
            return
        at = round(self._clock.emulated(now) - self._zero, 6)
        times = line.p50, line.p99, line.max
        p50, p99, longest = (round(self._clock.emulated(time), 6) for time in times)
        facts = p50, p99, longest, line.cpu, line.dropped, host
        self.write(LatenessRecord(at, line.packets, *facts))

    def ended(self, node: str) -> None:
        """Take that the container of `node` has ended, though the run goes on.

        Raises DeploymentError if the run cannot go on without `node`.
        """
        vital = node in self._vital
        if not vital or node not in self._exits.last:  # else its supervisor has said why
            self._exited(node, self._clock.now(), self._exits.container(node))
        if vital:
            raise DeploymentError(self._obituary(node))
        self._survivors.lost(node)

    def did(self, now: float, node: str, report: NodeReport) -> None:
        """Record what the supervisor of `node`, or the engine, has done at the time `now`."""
        if isinstance(report, ExitReport):
            how = self._exits.part(node, report.code, report.cause)
            self._exited(node, now, how, returns=report.returns)
        elif self._zero is None:
            self._early.append((now, node, report))
        else:
            self._record(now, node, report)

    def _exited(self, node: str, now: float, how: Exit, *, returns: bool = False) -> None:
        """Record that `node` ended unasked; raise DeploymentError if the run has not begun.

        With `returns` its supervisor is going to boot it, though the timeline does not say so.
        """
        if self._zero is None:
            raise DeploymentError(self._obituary(node))
        at = round(now - self._zero, 6)
        self._write_fact(ExitRecord(at, node, *how, returns=returns))
        if returns:
            del self._exits.last[node]  # it explains no later end of the container
        elif node not in self._vital:
            self._survivors.ended(node, at)

    def _record(self, now: float, node: str, report: NodeReport) -> None:
        """Write `report`, made at the time `now`, as a record of the run."""
        at = round(now - (self._zero or 0.0), 6)
        record: Record | None
        match report:
            case RecordReport():
                record = _observed(node, report)
            case VerbReport(verb, fault, planned, setting):
                begins = verbs.begins(verb)
                due = at if planned is None else planned  # None: the device drew it itself
                told: dict[str, Any] = {"fault": fault, "begins": begins, "planned": due}
                record = made(verbs.record(verb), at, node=node, **told, setting=setting)
            case TrafficReport(rx, tx):
                for sample in self._shards.records(TrafficRecord(at, node, rx, tx)):
                    self._write_fact(sample)
                return
            case _:
                record = made(report.what, at, node=node, **report.facts())
        if record is not None:
            self._write_fact(record)

    def _write_fact(self, record: Record) -> None:
        """Write `record`, and a line of it to the log of the node, unless it is long."""
        if self.write(record) and not isinstance(record, _LONG):
            facts = record.facts()
            node = facts.pop("node")
            self._logs.write(node, f"{record.at:.3f} {record.what} {facts}")

    def write(self, record: Record) -> bool:
        """Write `record` to the reports; return False if it belongs to no time of the run."""
        if self._lives is not None and not self._lives.adopt(record):
            return False
        self._logs.report(record)
        self._view.record(record)
        return True

    def _obituary(self, node: str) -> str:
        return f"{node} ended unasked: {self._exits.last[node].reason}; {self._logs.ending(node)}"


class ShardTraffic:
    """The counters of the server's containers: with shards, the server's is the sum of theirs."""

    def __init__(self, servers: Collection[str]) -> None:
        """`servers` are the names of the containers; that of the leader is the server's."""
        self._last = dict.fromkeys(servers, (0, 0)) if len(servers) > 1 else {}

    def records(self, sample: TrafficRecord) -> list[TrafficRecord]:
        """Return the records of a `sample` of a container: of a shard two, its own and the sum."""
        if sample.node not in self._last:
            return [sample]
        self._last[sample.node] = sample.rx, sample.tx
        own = shard_name(0) if sample.node == SERVER else sample.node
        rx, tx = (sum(counts) for counts in zip(*self._last.values(), strict=True))
        return [
            TrafficRecord(sample.at, own, sample.rx, sample.tx),
            TrafficRecord(sample.at, SERVER, rx, tx),
        ]


def _observed(node: str, report: RecordReport) -> PlanRecord | IterationRecord | None:
    """Return the record in `report` of the part of `node`; None for text that is no such record."""
    try:
        record = parse(bytes(report.record))
    except ValueError:
        return None
    if not isinstance(record, PlanRecord | IterationRecord):
        return None
    # a device's record of its own has the time of the event
    record.at, record.node = round(record.at, 6), node
    return record
