"""The runtime of a workload: sidecars make the links, and the engine runs the programs.

The conductor of containers is that of a training. In place of the workers it starts programs, each
in the network of its sidecar, and in place of the server's log it writes one itself: the run begins
once all programs run, and ends by the driver, a metric or the time.
"""

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ....core.survivors import Survivors
from ....errors import DeploymentError
from ....log.records import MetricRecord
from ....machine.host import Load
from ....node.orders import (
    ProgramDone,
    ProgramEnded,
    ProgramUse,
    ReviveProgram,
    StopPart,
    Zero,
)
from ....node.part.server_chores import Member
from ....node.reports import ProgramReport, ReadyReport
from ....runs.conductor import RunView
from ....runs.folder import RunFolder
from ....scenario import Scenario
from ....scenario.sections.workload_section import DRIVER, ProgramPlace, Ready
from ....world import verbs
from ....world.roles import SERVER
from ....world.verbs import Action
from ..configs.program_spec import PROGRAM, ProgramContainer, key_of, program, program_name
from ..container_runtime import LAST_REPORTS, LOG_LOOK, DockerRuntime, RunLogTail
from ..engine.client import refusals
from ..engine.engine_faults import ContainerPowers, EngineFaults
from ..engine.hosts import Hosts
from ..engine.stdio import OutputEnded, Said
from ..launching import Launcher
from ..start_waves import Waves
from .metric_lines import MetricLines
from .output_copies import copy_output
from .prepared_workload import PreparedWorkload
from .program_lives import LifeEnd, ProgramLives
from .program_uses import ProgramUses
from .workload_log import WorkloadLog

AT_ONCE = 1.0
"""Seconds after its start within which a program that ends ends the run: its command is wrong."""

GRACE = 5
"""Seconds that a program has to end after SIGTERM, when its device leaves."""

LAST_WORDS = 3
"""Seconds that programs have to end after SIGTERM, when the run is over."""

READY_LOOK = 0.25
"""Seconds between two looks whether the server listens."""

_LISTENS = "0A"
"""State of a listening socket in /proc/net/tcp, from include/net/tcp_states.h."""


class WorkloadRuntime(DockerRuntime):
    """One run of a workload as containers on a private network."""

    _beside = (DRIVER,)

    def __init__(
        self, hosts: Hosts, folder: RunFolder, world: PreparedWorkload, view: RunView, load: Load
    ) -> None:
        """As of a `DockerRuntime`."""
        self._prepared = world
        super().__init__(hosts, folder, world, view, load)
        self._workload = world.workload
        self._lives = ProgramLives(hosts, self._stdio)
        self._uses = ProgramUses(hosts, self._lives)
        self._metrics = MetricLines(self._workload.metrics)
        self._ready_nodes: list[str] = []
        self._sidecars: dict[str, str] = {}
        self._runs: set[str] = set()
        """Nodes with a program that runs, as far as is known."""
        self._hidden: dict[str, float] = {}
        """Lives that have closed their output, with the time of the next look at them."""
        self._starved: set[str] = set()
        """Devices whose program ended while a fault took memory."""
        self._pressed: set[str] = set()
        self._server_said: str | None = None
        """Line of the server by which it is ready."""
        self._copied = False

    def _run_log(self, path: Path, load: Load) -> RunLogTail:
        self._own_log = WorkloadLog(path, load)
        return self._own_log

    def _engine_faults(self) -> EngineFaults:
        cpus = {name: device.cpu for name, device in self._devices.items()}
        limits = {name: device.memory for name, device in self._devices.items()}
        run = self._folder.run
        return EngineFaults(self._hosts, run, cpus, self._clock, named=program_name, limits=limits)

    # -- begin -----------------------------------------------------------------------------------

    def deploy(self, scenario: Scenario, survivors: Survivors) -> None:
        launcher = self._lay_out(survivors)
        self._prepared.write_server()
        addresses = self._start_servers(launcher)
        self._world.write_nodes(addresses)
        self._start_sidecars(launcher)
        (server,) = {address for own in addresses.values() for address in own}
        self._create_programs(launcher, server)
        self._start_programs([SERVER])
        self._await_ready(self._workload.server.ready)
        self._start_programs([*self._devices])
        for device in self._devices:
            self._engine.limit(device)
        until = self._clock.now() + AT_ONCE
        while self._engine.busy or self._clock.now() < until:
            self._look(LOG_LOOK)
        self._own_log.begin(len(self._devices))
        self._follow()
        if self._workload.driver is not None:
            self._start_programs([DRIVER])

    def _start_sidecars(self, launcher: Launcher) -> None:
        """Start the sidecars of the devices; return once all links are made."""
        gathering = launcher.gathering()
        self._waves = Waves(gathering, launcher.start, _Readies(self._ready_nodes, self._devices))
        wanted = {SERVER, *self._devices}
        while not wanted <= {*self._ready_nodes}:
            self._listen(self._waves.start_next())
            self._view.progress(gathering.words().replace("said hello", "ready"))
            self._look(LOG_LOOK)
            if why := gathering.late(self._clock.now()):
                raise DeploymentError(f"the run did not begin: {why}")
        self._listen(self._waves.start_next())

    def _create_programs(self, launcher: Launcher, server: str) -> None:
        """Create the containers of all programs; `server` is the server's address."""
        scenario, image = self._prepared.scenario, self._prepared.programs
        names, count = [*self._devices], len(self._devices)
        driver = [DRIVER] if self._workload.driver else []
        for number, node in enumerate([*names, SERVER, *driver]):
            device = self._devices.get(node)
            index = number if device else 0
            place = ProgramPlace(server, node, index, count, scenario.seed)
            marks = launcher.marks(PROGRAM, node if device else "")
            memory = device.memory if device else None
            wanted = ProgramContainer(node, image, marks, memory)
            self._view.progress(f"programs: {number} of {count + 1 + len(driver)} made")
            options = program(wanted, self._workload, place)
            with refusals(f"workload.{key_of(node)}: making the container of {node}"):
                container = launcher.finish(launcher.create_program, options)
            self._lives.created(node, container, memory)
            self._exits.created(node, container, memory)

    def _start_programs(self, nodes: list[str]) -> None:
        """Start the programs of `nodes`; return once they run."""
        self._view.progress(f"programs: starting {', '.join(nodes[:3])}{' …' * (len(nodes) > 3)}")
        waits = set(nodes)
        for node in nodes:
            self._start(node, partial(waits.discard, node))
        while waits:
            self._look(LOG_LOOK)

    def _start(self, node: str, then: Callable[[], None] | None = None) -> None:
        """Begin to start the program of `node`; call `then` once it runs."""
        names: list[str] = []

        def start(powers: ContainerPowers) -> None:
            names.append(self._lives.start(node))

        def started(now: float) -> None:
            self._runs.add(node)
            self._stdio.listen(names[0])
            if then is not None:
                then()

        name = f"workload.{key_of(node)}.command: starting the program of {node}"
        self._engine.have(node, name, start, started)

    def _await_ready(self, ready: Ready | None) -> None:
        """Wait for the sign by which the server is ready. Raises DeploymentError without it."""
        if ready is None:
            return
        self._view.progress(f"programs: waiting for the server ({ready})")
        now = self._clock.now()
        until = now + float(ready.within)
        while not self._is_ready(ready, now):
            self._look(READY_LOOK)
            if self._clock.now() > until:
                raise DeploymentError(
                    f"workload.server.ready: the server gave no sign ({ready}) within "
                    f"{ready.within}; {self._node_logs.ending(SERVER)}"
                )

    def _is_ready(self, ready: Ready, since: float) -> bool:
        if ready.log is not None:
            return self._server_said is not None
        if ready.seconds is not None:
            return self._clock.now() >= since + float(ready.seconds)
        return ready.port in self._listening()

    def _listening(self) -> set[int]:
        """Return the TCP ports on which the server listens, in the network of its sidecar."""
        api: Any = self._hosts.home.client.api
        sidecar = f"emulate-{self._folder.run}-{SERVER}"
        with refusals("workload.server.ready: looking for the server's port"):
            command = ["cat", "/proc/net/tcp", "/proc/net/tcp6"]
            text = api.exec_start(api.exec_create(sidecar, command, stderr=False)["Id"])
        return set(_ports(text.decode(errors="replace")))

    # -- the run -----------------------------------------------------------------------------------

    def perform(self, action: Action, planned: float) -> None:
        if verbs.row(action.verb).revives:  # memory is that of the program's container
            if action.begins:
                self._pressed.add(action.node)
            self._engine.perform(action, planned)
            if not action.begins:
                self._engine.have(
                    action.node,
                    f"memory of {action.node}",
                    lambda powers: None,
                    lambda now: self._released(action.node),
                )
            return
        super().perform(action, planned)

    def _released(self, node: str) -> None:
        """Start the program of `node` again, if it ended for want of memory."""
        self._pressed.discard(node)
        if node in self._starved:
            self._starved.discard(node)
            self._stdio.tell(node, ReviveProgram())

    def _take(self, timeout: float) -> None:
        super()._take(timeout)
        for name in [name for name, due in self._hidden.items() if self._clock.now() >= due]:
            self._life_ended(name)
        if self._log.stop or self._log.zero is None:
            return
        for use in self._uses.tick(sorted(self._runs & self._devices.keys())):
            self._host.heard(use.node, use.now, [use.seconds, use.throttled])
            self._stdio.tell(use.node, ProgramUse(use.life, use.seconds))
        limit = self._prepared.scenario.stop.time
        if limit is not None and self._log.now >= limit:
            self._own_log.end("time", at=float(limit))

    def _hear_other(self, news: Said | OutputEnded) -> bool:
        if (owner := self._lives.owner(news.node)) is None:
            return False
        if isinstance(news, OutputEnded):
            self._life_ended(news.node)
        else:
            self._hear_program(owner[0], news)
        return True

    def _hear(self, said: Said) -> None:
        match said.report:
            case ReadyReport():
                self._ready_nodes.append(said.node)
            case ProgramReport() as asked:
                self._do_to_program(said.node, asked)
            case _:
                super()._hear(said)

    def _hear_program(self, node: str, said: Said) -> None:
        """Take a line that the program of `node` printed: text, perhaps with metrics."""
        self._node_logs.write(node, said.text)
        self._exits.said(node, said.text)
        ready = self._workload.server.ready
        sign = ready.log if node == SERVER and ready is not None else None
        if sign is not None and self._server_said is None and re.search(sign, said.text):
            self._server_said = said.text
        if self._log.zero is None or self._log.stop:
            return
        if values := self._metrics.values(said.text):
            at = round(self._log.now, 6)
            self._own_log.write(MetricRecord(at, node, values))
            if node not in self._devices:
                self._judge(values)

    def _judge(self, values: dict[str, float]) -> None:
        """End the run if one of `values`, of the server or the driver, reaches its goal."""
        for name, goal in (self._prepared.scenario.stop.metric or {}).items():
            if name in values and goal.met(values[name]):
                self._own_log.end("metric", f"{name} {values[name]:g}, {goal}")

    def _do_to_program(self, node: str, asked: ProgramReport) -> None:
        """Do to the program of `node` what its sidecar has asked for, and answer."""

        def answer(now: float) -> None:
            self._stdio.tell(node, ProgramDone(asked.ask))

        if asked.do == "start":
            self._start(node, lambda: answer(0.0))
            return
        if asked.do in ("kill", "stop"):
            self._lives.asked(node)
        deeds: dict[str, Callable[[ContainerPowers], None]] = {
            "kill": ContainerPowers.kill,
            "stop": partial(ContainerPowers.stop, grace=GRACE),
            "freeze": ContainerPowers.freeze,
            "thaw": ContainerPowers.thaw,
        }
        self._engine.have(node, f"{asked.do} of {node}", deeds[asked.do], answer)

    def _life_ended(self, name: str) -> None:
        """Take that the output of a program's life has ended, and the program with it, perhaps."""
        node, life = self._lives.owner(name) or ("", 0)
        hidden = self._hidden.pop(name, None) is not None
        if life != self._lives.life(node) or self._log.stop:
            return
        how = self._lives.ended(node, wait=0.0) if hidden else self._lives.ended(node)
        if how is None:  # it has closed its output, and goes on
            self._hidden[name] = self._clock.now() + AT_ONCE
            return
        self._runs.discard(node)
        if node in self._devices:
            self._device_ended(node, life, how)
        elif self._lives.present(node, life):
            self._main_ended(node, how)

    def _device_ended(self, node: str, life: int, how: LifeEnd) -> None:
        if self._log.zero is None:
            raise DeploymentError(self._obituary(node, how, "before the run began"))
        if node in self._pressed and self._lives.present(node, life):
            self._starved.add(node)
        self._stdio.tell(node, ProgramEnded(life, how.code, how.cause))

    def _main_ended(self, node: str, how: LifeEnd) -> None:
        """Take that the program of the server or the driver has ended by itself."""
        awaited = DRIVER if self._workload.driver else SERVER
        stops = self._prepared.scenario.stop.driver and node == awaited
        if self._log.zero is None:
            raise DeploymentError(self._obituary(node, how, "before the run began"))
        if stops and how.code == 0:
            self._own_log.end("driver", f"the program of the {node} ended")
        elif node == SERVER or how.code:
            words = "; with `stop: {driver: true}` that would be its end" * (how.code == 0)
            raise DeploymentError(self._obituary(node, how, f"while the run went on{words}"))

    def _obituary(self, node: str, how: LifeEnd, when: str) -> str:
        code = f"signal {-how.code}" if how.code < 0 else f"exit code {how.code}"
        code = "its memory limit" if how.cause == "limit" else code
        return (
            f"workload.{key_of(node)}.command: the program of {node} ended {when}, by {code}; "
            f"{self._node_logs.ending(node)}"
        )

    def _begin_links(self, zero: float) -> None:
        batteries = self._prepared.scenario.batteries
        for name, device in self._devices.items():
            if device.link.changes or name in batteries:
                self._stdio.tell(name, Zero(zero))

    # -- the end -----------------------------------------------------------------------------------

    def _give_up(self) -> None:
        last = [node for node in self._devices if node in self._exits.last]
        self._survivors.reason += "".join(
            f"; {node} ended unasked: {self._exits.last[node].reason}; "
            f"{self._node_logs.ending(node)}"
            for node in last[-1:]
        )
        super()._give_up()

    def _end_server(self, reason: str) -> None:
        self._own_log.end(reason)
        self._await_server()

    def _await_server(self) -> None:
        """Let the programs end, take the sidecars' last reports, and copy the programs' output.

        A program may be starting just now, in the network of its sidecar: its end comes behind.
        """
        self._follow()
        self._view.progress("ending the programs")
        waits = set(self._lives.nodes)
        for node in list(waits):
            self._lives.asked(node)
            stop = partial(ContainerPowers.stop, grace=LAST_WORDS)
            self._engine.have(node, f"end of {node}", stop, partial(_end_wait, waits, node))
        self._await_end(lambda: bool(waits), LAST_WORDS + LAST_REPORTS)
        told = {name for name in self._world.nodes if self._stdio.tell(name, StopPart())}
        self._await_end(lambda: bool(told - self._ended), LAST_REPORTS)
        self._copy_output()

    def _await_end(self, waits: Callable[[], bool], most: float) -> None:
        """Take what containers and the engine say while `waits`, for up to `most` seconds."""
        until = self._clock.now() + most
        while waits() and self._clock.now() < until:
            self._look(LOG_LOOK)
            self._engine.tick(self._clock.now())

    def _copy_output(self) -> None:
        """Copy the output of all programs into the run's folder, once."""
        if self._copied or self._workload.output is None:
            return
        self._copied = True
        self._view.progress("copying the programs' output")
        for node in self._lives.nodes:
            container = self._lives.container(node)
            into = self._folder.path / "output" / node
            client, path = self._hosts.home.client, self._workload.output
            if missing := copy_output(client, container, path, into):
                self._view.progress(f"output of {node}: {missing}")

    def teardown(self) -> None:
        self._uses.close()
        super().teardown()


def _end_wait(waits: set[str], node: str, *_: float) -> None:
    waits.discard(node)


class _Readies:
    """The devices whose sidecars have made their links since the last look."""

    def __init__(self, nodes: list[str], devices: Collection[str]) -> None:
        """`nodes` grows by each sidecar that is ready."""
        self._nodes, self._devices, self._taken = nodes, devices, 0

    def read(self) -> Iterator[Member]:
        new, self._taken = self._nodes[self._taken :], len(self._nodes)
        yield from (Member(node) for node in new if node in self._devices)


def _ports(text: str) -> Iterator[int]:
    """Yield the ports of the listening sockets in `text`, lines of /proc/net/tcp."""
    for line in text.splitlines():
        # sl local_address rem_address st …, as `0: 00000000:1B58 00000000:0000 0A …`
        fields = line.split()
        if len(fields) > 3 and fields[3] == _LISTENS:
            yield int(fields[1].rpartition(":")[2], 16)
