"""The summary of a run: one page of numbers, computed from the log alone."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..world.roles import EVALUATOR, SERVER
from ..world.stop_conditions import OUTCOMES, SCORED
from ..world.verbs import row_of_record
from .lines import microseconds
from .metric_sums import MetricSums
from .records import (
    ActivationsRecord,
    EvaluationRecord,
    ExitRecord,
    LatenessRecord,
    LeftOutRecord,
    PullRecord,
    Record,
    RecoveredRecord,
    RefusedRecord,
    StopRecord,
    TrafficRecord,
    UnmeasuredRecord,
    UnsentRecord,
    UpdateRecord,
)
from .records.fault_records import FaultRecord, OverlapRecord, TimelineRecord
from .records.fidelity_records import HostRecord, LinkRecord
from .shard_sums import ShardSums
from .targets import Costs, Travelled, TravelledBytes
from .verdicts.fault_effects import FaultEffects
from .verdicts.host_shortage import short_share, shortage_reason
from .verdicts.link_fidelity import MOST_LINKS, LinkFidelity, missed
from .verdicts.packet_lateness import LatenessSums, Shaped

TIMELY = 0.5
"""Seconds that a fault may come after its time before the run counts as disturbed."""

MOST_NAMED = 100
"""Versions without a score that the summary names; the log has all of them."""

UNTRAINED = "no update was applied, so the model is still the first one"
"""Detail of a run that reached its stop condition without a single update."""


@dataclass(frozen=True)
class RunFacts:
    """The part of a summary that no record tells."""

    scenario: str
    algorithm: str
    seed: int
    runtime: str
    devices: int
    dense_push: int
    """Bytes of one uncompressed update on the wire."""
    dense_pull: int
    """Bytes of one whole model on the wire."""
    planned: Iterable[TimelineRecord]
    """The run's timeline."""
    targets: Iterable[float]
    """Accuracies whose costs are reported."""
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Number of parameters in each kind of layer."""
    workload: bool = False
    """Whether programs of others were played in place of a training."""
    trained: bool = False
    """Whether the run began with the model of another."""
    shaped: Shaped | None = None
    """The means by which links were delayed; None in virtual time."""
    hosts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The devices of each host by its name, that of the server first; empty in a run on one."""


def summarise(records: Iterable[Record], run: RunFacts) -> dict[str, Any]:
    """Return the summary of `records`, which are read once and may be larger than memory."""
    targets = list(run.targets)
    sums = _Sums(strikes=Strikes(run.planned), metrics=MetricSums(targets))
    for record in records:
        sums.take(record)
    costs = Costs(targets)
    for evaluation, travelled in sums.evaluations:
        costs.take(evaluation, travelled)
    stop, (outcome, detail) = sums.stop, _ended(sums, run)
    accuracy, best = sums.metrics.accuracy() if run.workload else (sums.accuracy, sums.best)
    reached = [] if sums.errors() else costs.plain(cut=bool(sums.activations))
    reached = sums.metrics.targets() if run.workload else reached
    push = {**sums.push, "total": sum(sums.push.values())}
    dense = sums.pushes * run.dense_push
    dense_models, crossed = sums.pulls * run.dense_pull, sums.travelled.crossed
    both = push["total"] + sums.travelled.pulled + crossed
    return {
        "scenario": run.scenario,
        "algorithm": run.algorithm,
        "runtime": run.runtime,
        "seed": run.seed,
        "outcome": outcome,
        "stop": stop.reason,
        "detail": detail,
        "duration_s": stop.at,
        "devices": run.devices,
        "updates": sums.updates,
        **({"server_recoveries": sums.recoveries} if sums.recoveries else {}),
        **({"lost_updates": sums.lost} if sums.lost else {}),
        "final_accuracy": accuracy,
        "best_accuracy": best,
        **sums.errors(),
        **({"metrics": sums.metrics.plain()} if run.workload else {}),
        "push_bytes": push,
        "pull_bytes": sums.travelled.pulled,
        "evaluation_pull_bytes": sums.pulled_to_evaluate,
        **({"activation_bytes": sums.activations} if sums.activations else {}),
        "targets": reached,
        "unmeasured": {"count": len(sums.unmeasured), "versions": sums.unmeasured[:MOST_NAMED]},
        "dense_push_bytes": dense,
        "dense_pull_bytes": dense_models,
        "compression_ratio": round(dense / push["total"], 3) if push["total"] else None,
        "traffic_ratio": round((dense + dense_models + crossed) / both, 3) if both else None,
        **_paper(sums, run.parameters),
        "server_rx_bytes": sums.rx,
        "server_tx_bytes": sums.tx,
        **sums.shards.plain(),
        **sums.strikes.plain(stop.at),
        **({"fault_effects": effects} if (effects := _effects(sums, run)) else {}),
        "refused": sums.refused,
        "unsent": sums.unsent,
        **({"evaluator_restarts": sums.restarts} if sums.restarts else {}),
        "exits": [
            {"at": end.at, "node": end.node, "reason": end.reason}
            | ({"returns": True} if end.returns else {})
            for end in sums.exits
        ],
        **_left_out(sums),
        "fidelity": _fidelity(sums, run.shaped, run.hosts),
    }


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


@dataclass
class _Sums:
    """Sums over the records read so far. Only rare records are kept themselves."""

    updates: int = 0
    recoveries: int = 0
    """Times that the server came back from its disk."""
    again: int = 0
    """Updates whose push is in the record of a lost update, too: it came back with the state."""
    lost: int = 0
    """Updates that it did not come back with."""
    push: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("values", "indices", "headers", "framing"), 0)
    )
    paper: dict[str, float] = field(default_factory=dict)
    """Bytes by kind of layer as the codec's paper counts them, if the paper defines a count."""
    activations: dict[str, int] = field(default_factory=dict)
    """Bytes `up` and `down` at the cut of a model; empty without a cut."""
    travelled: TravelledBytes = field(default_factory=TravelledBytes)
    pulls: int = 0
    """Pulls of devices that the server answered."""
    pulled_to_evaluate: int = 0
    evaluations: list[tuple[EvaluationRecord, Travelled]] = field(default_factory=list)
    """Those of versions that no crash of the server lost, and the bytes that travelled by then."""
    unmeasured: list[int] = field(default_factory=list)
    """Versions that were due to be measured and have no score."""
    rx: int = 0
    tx: int = 0
    shards: ShardSums = field(default_factory=ShardSums)
    strikes: Strikes = field(default_factory=Strikes)
    effects: FaultEffects = field(default_factory=FaultEffects)
    late: float = 0.0
    """Seconds by which the latest action came after its time."""
    links: LinkFidelity = field(default_factory=LinkFidelity)
    busy: list[float] = field(default_factory=list)
    """Share of the host's cores in use, in each second; likewise the evaluator's share below."""
    evaluator: list[float] = field(default_factory=list)
    short: dict[str, list[bool]] = field(default_factory=dict)
    """By host, whether devices and server were short of processor time, in each second."""
    refused: int = 0
    unsent: int = 0
    left_out: dict[str, LeftOutRecord] = field(default_factory=dict)
    """The last count of each device that steps were made without."""
    exits: list[ExitRecord] = field(default_factory=list)
    restarts: int = 0
    """Times that the evaluator died and was started again."""
    lateness: LatenessSums = field(default_factory=LatenessSums)
    metrics: MetricSums = field(default_factory=MetricSums)
    """Of the programs of a workload."""
    stop: StopRecord = field(default_factory=lambda: StopRecord(0.0, "failed"))

    @property
    def pushes(self) -> int:
        """Number of pushes that travelled; those of lost updates did, too."""
        return self.updates + self.lost - self.again

    @property
    def accuracy(self) -> float | None:
        """The last accuracy; None without an evaluation, or if not finite."""
        return self.evaluations[-1][0].accuracy if self.evaluations else None

    @property
    def best(self) -> float | None:
        """The largest accuracy; None without an evaluation that has an accuracy."""
        known = (held.accuracy for held, _ in self.evaluations)
        return max((score for score in known if score is not None), default=None)

    def errors(self) -> dict[str, float]:
        """Return the last and the least mean absolute error of a regression; {} for classes."""
        known = [held.error for held, _ in self.evaluations if held.error is not None]
        return {"final_error": known[-1], "best_error": min(known)} if known else {}

    def take(self, record: Record) -> None:
        self.effects.take(record)
        self.travelled.take(record)
        self.shards.take(record)
        self.metrics.take(record)
        match record:
            case UpdateRecord():
                self.updates += 1
                self.again += record.again
                push = self.push
                push["values"] += record.values
                push["indices"] += record.indices
                push["headers"] += record.headers
                push["framing"] += record.framing
                for kind, counted in (record.paper or {}).items():
                    self.paper[kind] = self.paper.get(kind, 0) + counted
            case PullRecord():
                if record.node == EVALUATOR:
                    self.pulled_to_evaluate += record.bytes
                else:
                    self.pulls += record.count
            case ActivationsRecord():
                for way, size in (("up", record.up), ("down", record.down)):
                    self.activations[way] = self.activations.get(way, 0) + size
            case LinkRecord():
                if record.at > 0:  # before, the devices boot, and the host has other work
                    self.links.take(record)
            case HostRecord():
                self.busy += record.busy
                self.evaluator += record.evaluator or []
                self.short.setdefault(record.host, []).extend(record.short or [])
            case TrafficRecord():
                if record.node == SERVER:  # its counters run from the start: the last has all
                    self.rx, self.tx = record.rx, record.tx
            case EvaluationRecord():
                self.evaluations.append((record, self.travelled.before(record)))
            case UnmeasuredRecord():
                self.unmeasured = record.versions
            case FaultRecord(again=False):
                self.strikes.take(record)
                self.late = max(self.late, record.at - record.planned)
            case OverlapRecord():
                self.strikes.overlap(record)
            case RefusedRecord():
                self.refused += record.count
            case UnsentRecord():
                self.unsent += record.segments
            case LeftOutRecord():
                self.left_out[record.node] = record
            case LatenessRecord():
                self.lateness.take(record)
            case ExitRecord():
                self.exits.append(record)
                self.restarts += record.node == EVALUATOR and record.returns
            case RecoveredRecord():
                self.recoveries += 1
                self.lost += record.lost
                self.updates -= record.lost
                self.evaluations = [
                    (held, travelled)
                    for held, travelled in self.evaluations
                    if held.version <= record.version
                ]
            case StopRecord():
                self.stop = record


def _ended(sums: _Sums, run: RunFacts) -> tuple[str, str]:
    """Return the outcome and its detail.

    A training that applied no update is no success, unless it began with a model that was trained
    to the wanted score.
    """
    reason = sums.stop.reason
    outcome = OUTCOMES.get(reason, "failed")
    reached = run.workload or (run.trained and reason in SCORED)
    if outcome == "success" and not sums.updates and not reached:
        return "failed", UNTRAINED
    return outcome, sums.stop.detail


def _effects(sums: _Sums, run: RunFacts) -> dict[str, Any]:
    """Return the effects of faults on updates; empty for a workload, whose updates nobody sees."""
    return {} if run.workload else sums.effects.plain()


def _left_out(sums: _Sums) -> dict[str, Any]:
    """Return `left_out`: devices that steps were made without, the most steps first."""
    records = sorted(sums.left_out.values(), key=lambda record: (-record.steps, record.node))
    rows = [
        {"node": record.node, "steps": record.steps, "of": record.of}
        for record in records[:MOST_NAMED]
    ]
    more = len(records) - MOST_NAMED
    return {
        **({"left_out": rows} if rows else {}),
        **({"left_out_unlisted": more} if more > 0 else {}),
    }


def _paper(sums: _Sums, parameters: Mapping[str, int]) -> dict[str, Any]:
    """Return `paper_push_bytes`: by kind of layer, the compression as the codec's paper counts."""
    dense = {kind: 4 * parameters.get(kind, 0) * sums.pushes for kind in sums.paper}
    by_kind = {
        kind: {"bytes": counted, "ratio": round(dense[kind] / counted, 3) if counted else None}
        for kind, counted in sums.paper.items()
    }
    return {"paper_push_bytes": by_kind} if by_kind else {}


def _shortage(shares: Mapping[str, float], hosts: Iterable[str]) -> str:
    """Return in words why the one of `hosts` that was short most often marks the run, or empty.

    `shares`: short share of the seconds of each host, by its name, which is empty in a run on one.
    """
    share, worst = max(((shares.get(host, 0.0), host) for host in hosts), default=(0.0, ""))
    reason = shortage_reason(share)
    return f"{reason} at {worst}" if reason and worst else reason


def _fidelity(
    sums: _Sums, shaped: Shaped | None, hosts: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return `fidelity`: whether the host kept up with the emulated world, or why not."""
    shares = {host: short_share(seconds) for host, seconds in sums.short.items()}
    share = max(shares.values(), default=0.0)
    rounded = {host: round(own, 3) for host, own in shares.items()}
    reasons = []
    if sums.late > TIMELY:
        reasons.append(f"a fault came {sums.late:.2f} s after its time")
    if short := _shortage(shares, shares):
        reasons.append(short)
    if killed := [end.node for end in sums.exits if end.cause == "host"]:
        reasons.append(f"its memory ran out, and the kernel killed {', '.join(killed)}")
    if late := sums.lateness.reason(shaped) if shaped else "":
        reasons.append(late)
    # a link may suffer at both of its ends, and from no other host
    home = next(iter(hosts), "")
    why = {host: _shortage(shares, (home, host)) or late for host in hosts}
    there = {node: why[host] for host, nodes in hosts.items() for node in nodes}
    links = sums.links.rows(_shortage(shares, (home,)) or late, sums.lateness.waits, there)
    if lines := missed(links):
        reasons.append(lines)
    return {
        "kept_up": not reasons,
        "reasons": reasons,
        "latest_fault_s": round(sums.late, 3),
        "host_short": round(share, 3),
        **({"hosts_short": rounded} if len(rounded) > 1 else {}),
        "host_busy_mean": _mean(sums.busy) if sums.busy else None,
        "host_busy_max": round(max(sums.busy), 3) if sums.busy else None,
        **({"host_evaluator_mean": _mean(sums.evaluator)} if sums.evaluator else {}),
        **({"shaping": sums.lateness.plain(shaped)} if shaped else {}),
        **({"links": links[:MOST_LINKS]} if links else {}),
        **({"links_unlisted": len(links) - MOST_LINKS} if len(links) > MOST_LINKS else {}),
    }


def _mean(values: Sequence[float]) -> float:
    return round(statistics.fmean(values), 3)
