"""Containers on this host, each behind its own link; this process only tells them when."""

import time
from typing import Any

from docker import DockerClient

from ...core.survivors import NONE_LEFT, SETTLE, Survivors
from ...errors import DeploymentError
from ...log.tail import Tail
from ...log.writing import Record
from ...machine.host import Load
from ...node.roll import FILE as HELLOS
from ...runs.conductor import RunView
from ...runs.folder import RunFolder
from ...scenario import Device, Scenario
from ...world.roles import EVALUATOR, SERVER
from ...world.verbs import Action
from . import labels, owners, spec
from .cleanup import sweep
from .client import finished, refusals
from .exits import Exit, Exits
from .gathering import Gathering
from .nodelogs import NodeLogs
from .prepare import Prepared
from .stdio import OutputEnded, Said, Stdio
from .waves import Waves

PATIENCE = 10.0
"""Seconds that the server has to write the model when it is told to stop."""

LOOK = 0.1
"""Seconds between looks at the server's log."""


class DockerRuntime:
    """One run of a scenario as containers on a private network."""

    def __init__(
        self, client: DockerClient, folder: RunFolder, world: Prepared, view: RunView, load: Load
    ) -> None:
        """`load` samples the host from the run's zero to its end."""
        self._client, self._folder, self._world, self._view = client, folder, world, view
        self._load = load
        self._net = spec.name(folder.run, "wan")
        self._lines = Stdio()
        self._tail = Tail(world.output / "run.jsonl")
        self._early: list[tuple[float, str, dict[str, Any]]] = []
        self._zero: float | None = None
        self._stopped = False
        self._gone: set[str] = set()
        """Nodes whose container has ended."""
        self._exits = Exits(client, folder.run)
        self._logs = NodeLogs(folder, world.nodes)

    # -- Runtime ---------------------------------------------------------------------------------

    def deploy(self, scenario: Scenario, survivors: Survivors) -> None:
        self._survivors = survivors
        self._view.progress("network")
        with refusals("making the run's network"):
            wanted = spec.network(self._net, self._labels(SERVER))
            finished(self._client.networks.create, **wanted)
        address = self._start_server()
        self._world.write_nodes(address)
        self._gather(scenario.nodes)

    def wait(self, until: float) -> bool:
        while not self._stopped:
            left = until - self._now()
            if left <= 0:
                return True
            if self._survivors.none:
                self._give_up()
                return False
            self._look(min(LOOK, left))
            self._view.beat(self._now())
        self._await_server()
        return False

    def _give_up(self) -> None:
        """No device is left: let what has left arrive, then end the run."""
        until = time.monotonic() + SETTLE
        while not self._stopped and time.monotonic() < until:
            self._look(LOOK)
        if self._stopped:
            self._await_server()
        else:
            self.given_up = NONE_LEFT
            self.cancel()

    def perform(self, action: Action, planned: float) -> None:
        order = {"verb": action.verb, "fault": action.fault, "planned": planned}
        self._lines.tell(action.node, order)

    def cancel(self, reason: str = "canceled") -> None:
        self._view.progress("stopping")
        order = {"verb": "stop", "reason": reason}
        if SERVER not in self._gone and self._lines.tell(SERVER, order):
            self._await_server()

    def teardown(self) -> None:
        self._lines.close()
        self._logs.close()
        sweep(self._client, self._folder.run)  # the session looks for what is left

    # -- on the way up -----------------------------------------------------------------------------

    def _labels(self, role: str, device: str = "") -> dict[str, str]:
        folder, name = self._folder, self._world.scenario.name
        path, lock = str(folder.path), str(owners.place(folder.run))
        return labels.labels(folder.run, name, path, lock, role, device)

    def _start_server(self) -> str:
        """Start the server alone, as the others need its address."""
        self._world.write_server()
        wanted = self._world.container(SERVER, self._net, self._labels(SERVER))
        container = finished(self._start, wanted)
        self._lines.listen(SERVER)
        with refusals("looking up the server's address"):
            container.reload()
        networks: dict[str, Any] = container.attrs["NetworkSettings"]["Networks"]
        return str(networks[self._net]["IPAddress"])

    def _gather(self, devices: tuple[Device, ...]) -> None:
        """Start the others in waves, and look on until the run begins, or cannot.

        The evaluator starts with the last of the devices: while they boot they leave it no time.
        """
        wanted = {
            d.name: self._world.container(d.name, self._net, self._labels("device", d.name), d)
            for d in devices
        }
        wanted[EVALUATOR] = self._world.container(EVALUATOR, self._net, self._labels(EVALUATOR))
        with refusals("asking for the engine's cores"):
            cores = self._client.info()["NCPU"]
        shares = {d.name: d.cpu or 1.0 for d in devices} | {EVALUATOR: 0.0}
        gathering = Gathering(shares, cores)
        hellos = Tail(self._world.output / HELLOS)
        with Waves(gathering, lambda node: self._start(wanted[node]), hellos) as waves:
            while self._zero is None or not waves.idle:
                for node in waves.roll():
                    self._lines.listen(node)
                self._view.progress(gathering.words())
                self._look(LOOK)
                if why := gathering.late(time.monotonic()) or self._stopped_early():
                    raise DeploymentError(f"the run did not begin: {why}")

    def _stopped_early(self) -> str:
        """Return why the server gave up before the run began; empty if it did not."""
        stop = self.stop if self._zero is None else None
        return str(stop.get("detail", "no reason")) if stop else ""

    def _start(self, wanted: spec.Container) -> Any:
        with refusals(f"starting {wanted.node}"):
            container = self._client.containers.create(**spec.container(wanted))
            self._lines.open(self._client, wanted.node, str(container.id))
            self._exits.started(wanted)
            container.start()
        return container

    # -- while it goes ----------------------------------------------------------------------------

    def _now(self) -> float:
        return time.monotonic() - self._zero if self._zero is not None else 0.0

    def _look(self, timeout: float) -> None:
        for news in self._lines.read(timeout):
            if isinstance(news, OutputEnded):
                self._ended(news.node)
            else:
                self._hear(news)
        self._folder.path.stat()  # raises where somebody moved the folder or removed it
        for record in self._tail.read():
            self._follow(record)

    def _follow(self, record: Record) -> None:
        if record["what"] == "start":
            self._zero = record["zero"]
            self._load.begin()
            for now, node, fact in self._early:
                self._note(now, node, fact)
        elif record["what"] == "stop":
            if self.given_up and record["reason"] == "canceled":
                record = {**record, "reason": "failed", "detail": self.given_up}
            else:  # the run came to its own end meanwhile
                self.given_up = ""
            self.stop, self._stopped = record, True
            self._load.end()
        self._view.record(record)

    stop: Record | None = None
    """The server's last word."""

    given_up: str = ""
    """Why the run was ended, if it was ended as no device was left."""

    def _hear(self, said: Said) -> None:
        fact = said.fact
        if fact is None:
            self._exits.said(said.node, said.text)
            self._logs.write(said.node, said.text)
        elif fact["what"] == "failed":
            raise DeploymentError(fact["detail"])
        elif fact["what"] == "lost":
            self._survivors.lost(said.node)
        elif fact["what"] != "ready":
            self._report(said.node, fact.pop("now"), fact)

    def _report(self, node: str, now: float, fact: dict[str, Any]) -> None:
        """Note a supervisor's report, or keep it until the run's zero is known."""
        if fact["what"] == "exit":
            self._exited(node, now, self._exits.part(node, fact["code"], fact["cause"]))
        elif self._zero is None:
            self._early.append((now, node, fact))
        else:
            self._note(now, node, fact)

    def _note(self, now: float, node: str, fact: dict[str, Any]) -> None:
        """A supervisor's report as a record of the run."""
        at = round(now - (self._zero or 0.0), 6)
        what = "boot" if fact["what"] == "start" else fact["what"]
        facts = {key: value for key, value in fact.items() if key != "what"}
        if "planned" in facts and facts["planned"] is None:
            facts["planned"] = at  # the device drew it itself
        record = {"at": at, "what": what, "node": node, **facts}
        self._logs.report(record)
        self._view.record(record)
        if what == "exit" and node not in (SERVER, EVALUATOR):
            self._survivors.ended(node, at)
        if what != "traffic":
            self._logs.write(node, f"{at:.3f} {what} {facts}")

    def _ended(self, node: str) -> None:
        """A container has ended: as it should, or unasked."""
        self._gone.add(node)
        for record in self._tail.read():
            self._follow(record)
        if self._stopped:
            return
        vital = node in (SERVER, EVALUATOR)
        if not vital or node not in self._exits.last:  # else its supervisor has said why
            self._exited(node, time.monotonic(), self._exits.container(node))
        if vital:
            raise DeploymentError(self._obituary(node))
        self._survivors.lost(node)

    def _exited(self, node: str, now: float, how: Exit) -> None:
        """Note that `node` ended unasked. Before the run's zero, the run cannot begin."""
        if self._zero is None:
            raise DeploymentError(self._obituary(node))
        self._note(now, node, {"what": "exit", **how._asdict()})

    def _obituary(self, node: str) -> str:
        why = self._exits.last[node].reason
        return f"{node} ended unasked: {why}; {self._logs.ending(node)}"

    def _await_server(self) -> None:
        """Until the server has written the model and gone."""
        until = time.monotonic() + PATIENCE
        while SERVER not in self._gone and time.monotonic() < until:
            self._look(LOOK)
