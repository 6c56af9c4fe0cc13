"""What happens in a made-up run: devices in a loop, at the speed of their links."""

import heapq
from random import Random
from typing import TYPE_CHECKING

from emulator.log.records import EvaluationRecord, PullRecord
from emulator.log.targets import Costs, TravelledBytes
from emulator.log.verdicts.fault_effects import FaultEffects
from emulator.world import verbs
from tests.fakes.plain_records import full
from tests.fakes.runs.made_up_plans import planned, realised

if TYPE_CHECKING:
    from tests.fakes.runs.synthetic_run import Synthetic

PARAMETERS = 421_642
MODEL = 4 * PARAMETERS + 120
ENTRIES = 4_211
FRAME = 1514 / 1448
COUNTED = 1.02
"""Interface bytes for one of the application: offloaded segments show few of their headers."""
ACKNOWLEDGED = 0.004
LINKS = {
    "fiber": {"up": {"rate": "5mbit", "delay": "1ms"}, "down": {"rate": "20mbit", "delay": "1ms"}},
    "adsl": {
        "up": {"rate": "1mbit", "delay": "25ms", "jitter": "3ms", "loss": "0.1%"},
        "down": {"rate": "8mbit", "delay": "25ms"},
    },
}


SHARED = {"up": {"rate": "3mbit"}, "down": {"rate": "25mbit", "delay": "2ms"}}
"""The bottleneck of the lines of copper. It makes nobody slower."""


class World:
    def __init__(self, spec: "Synthetic") -> None:
        self.spec, self.random = spec, Random(spec.seed)
        self.records: list[dict] = []
        self.flows: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
        self.applied, self.pushed, self.pulled = 0, 0, 0
        self.now = 0.0

    def note(self, at: float, what: str, **facts: object) -> None:
        self.records.append({"at": round(at, 6), "what": what, **facts})

    def play(self) -> None:
        names = self.spec.names()
        for place, name in enumerate(names):
            self.note(-1.5 + place * 1.5 / len(names), "hello", node=name, incarnation=0)
        self.note(-0.1, "hello", node="evaluator", incarnation=0)
        self.note(0, "start", devices=len(names), zero=100.0)
        turns = [(self.random.random() * 0.1, name) for name in names]
        heapq.heapify(turns)
        pushes: list[tuple[float, str, int]] = []
        while self.applied < self.spec.updates and turns:
            at, name = heapq.heappop(turns)
            if pushes and pushes[0][0] <= at:
                heapq.heappush(turns, (at, name))
                self._apply(*heapq.heappop(pushes))
                continue
            gone = self._gone(name, at)
            if gone is not None:
                if gone < float("inf"):
                    heapq.heappush(turns, (gone, name))
                continue
            done = self._cycle(at, name, pushes)
            heapq.heappush(turns, (done, name))
        self.now = self.records[-1]["at"] if self.applied else 1.0
        self._faults()
        self._plans(names)
        self._traffic()
        reason = {"success": "updates", "canceled": "canceled", "failed": "failed"}
        self.note(self.now, "stop", reason=reason.get(self.spec.outcome, "time"))

    def _cycle(self, at: float, name: str, pushes: list) -> float:
        version = self.applied
        self.note(at, "pull", node=name, version=version, bytes=MODEL)
        self.pulled += MODEL
        got = self._flow(at, name, "rx", MODEL)
        compute = self.random.expovariate(1 / 0.03)
        sent = self._flow(got + compute, name, "tx", self._weight()["total"])
        heapq.heappush(pushes, (sent, name, version))
        return sent

    def _weight(self) -> dict:
        if self.spec.algorithm in ("asgd", "ada-sgd"):
            weight = {"entries": PARAMETERS, "values": 4 * PARAMETERS, "indices": 0}
        else:
            weight = {"entries": ENTRIES, "values": 4 * ENTRIES, "indices": ENTRIES * 5 // 4}
        weight |= {"headers": 64, "framing": 96}
        return weight | {"total": sum(weight.values()) - weight["entries"]}

    def _apply(self, at: float, name: str, version: int) -> None:
        if self.applied >= self.spec.updates:
            return
        staleness = self.applied - version
        self.applied += 1
        weight = self._weight()
        self.pushed += weight.pop("total")
        divisor = {"adacomp": max(1.0, 1 + 0.15 * staleness), "ada-sgd": float(max(1, staleness))}
        self.note(
            at,
            "update",
            node=name,
            version=self.applied,
            updates=self.applied,
            staleness=staleness,
            divisor=round(divisor.get(self.spec.algorithm, 1.0), 3),
            loss=round(2.3 * 0.999**self.applied, 4),
            compute=0.03,
            **weight,
        )
        if self.applied % 200 == 0:
            accuracy = 0.1 + 0.87 * (1 - 2.718 ** (-self.applied / 400))
            self.note(
                at,
                "evaluation",
                version=self.applied,
                updates=self.applied,
                accuracy=round(accuracy + self.random.uniform(-0.006, 0.006), 4),
                loss=round(1.2 - accuracy, 4),
                push_bytes=self.pushed,
            )

    def _flow(self, at: float, name: str, way: str, size: int) -> float:
        side = LINKS[name.split("-")[0]]["down" if way == "rx" else "up"]
        rate = float(side["rate"].removesuffix("mbit")) * 1e6
        until = at + size * 8 * FRAME / rate + 0.03
        for node, direction in ((name, way), ("server", "tx" if way == "rx" else "rx")):
            self.flows.setdefault((node, direction), []).append((at, until, size * COUNTED))
        back = ("tx", "rx") if way == "rx" else ("rx", "tx")
        for node, direction in ((name, back[0]), ("server", back[1])):
            self.flows.setdefault((node, direction), []).append((at, until, size * ACKNOWLEDGED))
        return until

    def _gone(self, name: str, at: float) -> float | None:
        for _, node, begin, lasts in self.spec.faults:
            until = float("inf") if lasts is None else begin + lasts
            if node == name and begin <= at < until:
                return until
        return None

    def _plans(self, names: list[str]) -> None:
        # a generator of its own, so that no other number depends on the plans
        random = Random(self.spec.seed)
        for name in names:
            self.records.append(planned(name, 0.05, 1))
            self.records.append(planned(name, self.now / 2, 11))
            self.records.append(realised(name, self.now / 2, 10, random))

    def _faults(self) -> None:
        for row in self.spec.timeline():
            if row["at"] > self.now:
                continue
            what = verbs.record(row["verb"])
            late = self.random.uniform(0.01, 0.2)
            self.note(
                row["at"] + late,
                what,
                node=row["node"],
                fault=row["fault"],
                begins=row["begins"],
                planned=row["at"],
            )
            if what == "boot":
                self.note(row["at"] + late + 0.8, "hello", node=row["node"], incarnation=1)

    def _traffic(self) -> None:
        names = [*self.spec.names(), "server"]
        counters = {
            (name, way): self._counter(self.flows.get((name, way), []))
            for name in names
            for way in ("rx", "tx")
        }
        since = dict.fromkeys(names, 0)
        for at in range(10, int(self.now) + 1, 10):
            self.note(at + 0.5, "host", busy=[0.4] * 10, short=[False] * 10, server=[0.2] * 10)
        for second in range(1, int(self.now) + 1):
            for name in names:
                crash = any(
                    fault == "crash" and node == name and begin <= second < begin + (lasts or 1e9)
                    for fault, node, begin, lasts in self.spec.faults
                )
                if crash:
                    since[name] = second
                    continue
                rx, tx = (
                    counters[name, way][second] - counters[name, way][since[name]]
                    for way in ("rx", "tx")
                )
                self.note(second + 0.003, "traffic", node=name, rx=int(rx), tx=int(tx))
            if behind := self.spec.behind():
                down, up = (
                    sum(counters[name, way][second] for name in behind) for way in ("rx", "tx")
                )
                self.note(second + 0.003, "traffic", node="cabinet", rx=int(down), tx=int(up))

    def _counter(self, flows: list[tuple[float, float, float]]) -> list[float]:
        gained = [0.0] * (int(self.now) + 2)
        for begin, until, size in flows:
            for second in range(int(begin), min(int(until) + 1, len(gained) - 1)):
                overlap = min(until, second + 1) - max(begin, second)
                gained[second + 1] += size * max(0.0, overlap) / (until - begin)
        total = 0.0
        return [total := total + item for item in gained]

    def summary(self, records: list[dict]) -> dict:
        updates = [record for record in records if record["what"] == "update"]
        accuracy = [record["accuracy"] for record in records if record["what"] == "evaluation"]
        kinds = ("values", "indices", "headers", "framing")
        push = {kind: sum(record[kind] for record in updates) for kind in kinds}
        push["total"] = sum(push.values())
        server = [record for record in records if record.get("node") == "server"]
        begun = sum(record.get("begins", False) for record in records)
        dense = len(updates) * (4 * PARAMETERS + 160)
        costs, effects = Costs([0.9, 0.95, 0.97]), FaultEffects()
        sums, pulls = TravelledBytes(), 0
        for record in map(full, records):
            effects.take(record)
            sums.take(record)
            pulls += isinstance(record, PullRecord)
            if isinstance(record, EvaluationRecord):
                costs.take(record, sums.before(record))
        models = pulls * (4 * PARAMETERS + 160)
        both = push["total"] + self.pulled
        return {
            "scenario": "synthetic",
            "runtime": "docker",
            "seed": self.spec.seed,
            "outcome": self.spec.outcome,
            "duration_s": self.now,
            "devices": self.spec.devices,
            "updates": len(updates),
            "final_accuracy": accuracy[-1] if accuracy else None,
            "best_accuracy": max(accuracy, default=None),
            "targets": costs.plain(),
            "push_bytes": push,
            "pull_bytes": self.pulled,
            "evaluation_pull_bytes": 0,
            "dense_push_bytes": dense,
            "dense_pull_bytes": models,
            "compression_ratio": dense / push["total"] if push["total"] else None,
            "traffic_ratio": (dense + models) / both if both else None,
            "server_rx_bytes": server[-1]["rx"] if server else 0,
            "server_tx_bytes": server[-1]["tx"] if server else 0,
            "faults_planned": sum(
                row["begins"] and row["at"] <= self.now for row in self.spec.timeline()
            ),
            "faults_realised": begun,
            "fault_effects": effects.plain(),
            "refused": 0,
            "fidelity": {
                "kept_up": not self.spec.reasons,
                "reasons": self.spec.reasons,
                "latest_fault_s": 0.2,
                "host_short": 0.0,
                "host_busy_mean": 0.71,
                "host_busy_max": 0.93,
            },
        }
