"""Turns the output of containers, and their ends, into records of the run."""

from collections.abc import Iterable
from typing import Any

from ...core.survivors import Survivors
from ...errors import DeploymentError
from ...log.records import Record, TrafficRecord, made
from ...log.records.fidelity_records import LinkRecord
from ...log.records.plan_records import IterationRecord, PlanRecord
from ...runs.conductor import RunView
from ...world.emulated_clock import UNDILATED, EmulatedClock
from ...world.roles import EVALUATOR, SERVER
from .earlier_lives import EarlierLives
from .engine.exits import Exit, Exits
from .engine.stdio import Said
from .host_log import HostLog
from .nodelogs import NodeLogs

_LONG = TrafficRecord | LinkRecord | PlanRecord | IterationRecord
"""Records that are no messages of a node."""


class Reports:
    """What supervisors report, and how containers end, as records with emulated times."""

    def __init__(
        self,
        exits: Exits,
        logs: NodeLogs,
        view: RunView,
        survivors: Survivors,
        lives: EarlierLives | None = None,
        clock: EmulatedClock = UNDILATED,
        host: HostLog | None = None,
        gateways: Iterable[str] = (),
    ) -> None:
        """`lives`: the earlier lives of a run that is resumed; `clock` is the server's. `host`
        hears of the containers' processor time. `gateways` are those of bottlenecks."""
        self._vital = {SERVER, EVALUATOR, *gateways}
        self._lives, self._clock, self._host = lives, clock, host
        self._exits, self._logs, self._view, self._survivors = exits, logs, view, survivors
        self._zero: float | None = None
        self._early: list[tuple[float, str, dict[str, Any]]] = []
        """Reports from before the run's zero: time of the clock, node, facts."""

    def begin(self, zero: float) -> None:
        """Take the run's `zero`, a time of the clock, and record the reports from before `zero`."""
        self._zero = zero
        for now, node, fact in self._early:
            self._record(now, node, fact)
        self._early.clear()

    def hear(self, said: Said) -> None:
        """Take a line of a container's output: a supervisor's report, or text for its log.

        Raises DeploymentError if a supervisor could not set its node up.
        """
        fact = said.fact
        if fact is None:
            self._exits.said(said.node, said.text)
            self._logs.write(said.node, said.text)
        elif fact["what"] == "failed":
            raise DeploymentError(fact["detail"])
        elif fact["what"] == "lost":
            self._survivors.lost(said.node)
        elif fact["what"] != "ready":
            now, use = fact.pop("now"), fact.pop("cpu", None)
            if use and self._host is not None:
                self._host.heard(said.node, now, use)
            # supervisors read the host's clock
            self._report(said.node, self._clock.emulated(now), fact)

    def did(self, now: float, node: str, fact: dict[str, Any]) -> None:
        """Record `fact`, which the engine did to `node` at the time `now`."""
        self._report(node, now, fact)

    def late(self, fact: dict[str, Any]) -> None:
        """Record the lateness of packets, as the box reports it, if the run has begun."""
        if self._zero is None:
            return
        at = round(self._clock.emulated(fact["time"]) - self._zero, 6)
        late = {key: round(self._clock.emulated(fact[key]), 6) for key in ("p50", "p99", "max")}
        counts = {key: fact[key] for key in ("packets", "cpu", "dropped")}
        self.write(made("lateness", at, **late, **counts))

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

    def _report(self, node: str, now: float, fact: dict[str, Any]) -> None:
        if fact["what"] == "exit":
            how = self._exits.part(node, fact["code"], fact["cause"])
            self._exited(node, now, how, returns=fact.get("returns", False))
        elif self._zero is None:
            self._early.append((now, node, fact))
        else:
            self._record(now, node, fact)

    def _exited(self, node: str, now: float, how: Exit, *, returns: bool = False) -> None:
        """Record that `node` ended unasked; raise DeploymentError if the run has not begun.

        With `returns` its supervisor is going to boot it, though the timeline does not say so.
        """
        if self._zero is None:
            raise DeploymentError(self._obituary(node))
        self._record(now, node, {"what": "exit", **how._asdict(), "returns": returns})
        if returns:
            del self._exits.last[node]  # it explains no later end of the container
        elif node not in self._vital:
            self._survivors.ended(node, round(now - self._zero, 6))

    def _record(self, now: float, node: str, fact: dict[str, Any]) -> None:
        """Write `fact`, reported at the time `now`, as a record of the run."""
        # a device's record of its own has the time of the event
        at = round(fact.get("at", now - (self._zero or 0.0)), 6)
        what = fact["what"]
        facts = {key: value for key, value in fact.items() if key not in ("what", "at", "node")}
        if "planned" in facts and facts["planned"] is None:
            facts["planned"] = at  # the device drew it itself
        record = made(what, at, node=node, **facts)
        if self.write(record) and not isinstance(record, _LONG):
            self._logs.write(node, f"{record.at:.3f} {what} {facts}")

    def write(self, record: Record) -> bool:
        """Write `record` to the reports; return False if it belongs to no time of the run."""
        if self._lives is not None and not self._lives.adopt(record):
            return False
        self._logs.report(record)
        self._view.record(record)
        return True

    def _obituary(self, node: str) -> str:
        return f"{node} ended unasked: {self._exits.last[node].reason}; {self._logs.ending(node)}"
