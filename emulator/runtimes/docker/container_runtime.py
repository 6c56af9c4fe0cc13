"""The runtime of containers on this host: each node shapes its own link and trains for real.

This process starts the containers, gives the timeline's actions to their supervisors, and follows
the server's log.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from ...core.survivors import SETTLE, Survivors
from ...errors import DeploymentError
from ...log.records import Record, RecoveredRecord, StartRecord, StopRecord
from ...machine.host import Load
from ...node.config import Delay
from ...node.orders import Do, HoldMessages, LetBegin, QuotaAnswer, StopPart, Zero
from ...node.part.server_chores import HELLOS, members
from ...node.reports import (
    DelayReport,
    DrawnReport,
    ExitReport,
    ForkReport,
    NodeReport,
    QuotaReport,
    VerbReport,
)
from ...runs.conductor import RunView
from ...runs.folder import RunFolder
from ...runs.results import read_json, unfinished_models, write_json
from ...scenario import Device, Scenario
from ...scenario.sections.server_section import NONE
from ...world import verbs
from ...world.links.reshaping import VERB
from ...world.roles import SERVER
from ...world.verbs import Action
from .configs.container_settings import World
from .engine.cleanup import clean_up_hosts
from .engine.engine_faults import EngineFaults, fits
from .engine.exits import Exits
from .engine.hosts import Hosts
from .engine.stdio import OutputEnded, Said, Stdio
from .forks import Forks, workers_words
from .host_log import HostLogs
from .launching import Launcher
from .network.packet_box import PacketBox
from .reporting import Reports
from .run_logs import NodeLogs, ServerLog
from .start_waves import Waves

LAST_WRITES = 10.0
"""Emulated seconds that the server has to end when it is told to stop. They begin again each time
that the file of its model has grown: a large model may take a slow disk minutes."""

LAST_REPORTS = 2.0
"""Emulated seconds that gateways have for their last reports, after the server has ended."""

LOG_LOOK = 0.1
"""Real seconds between looks at the server's log."""

ENGINE_LOOK = 0.01
"""Real seconds between looks whether a call to the engine has come to its end."""


class RunLogTail(Protocol):
    """The log from which the begin and the end of a run are known."""

    zero: float | None
    stop: StopRecord | None
    given_up: str

    @property
    def now(self) -> float: ...
    @property
    def over(self) -> bool: ...
    @property
    def stopped_early(self) -> str: ...
    def read(self) -> Iterator[Record]: ...


class DockerRuntime:
    """One run of a scenario as containers on a private network."""

    def __init__(
        self,
        hosts: Hosts,
        folder: RunFolder,
        world: World,
        view: RunView,
        load: Load,
        stdio: Stdio | None = None,
    ) -> None:
        """`load` samples the host from the run's zero to its end."""
        self._hosts, self._folder, self._world, self._view = hosts, folder, world, view
        self._stdio = stdio or Stdio()
        self._clock = world.configs.clock
        self._log = self._run_log(world.output / "run.jsonl", load)
        quotas = {device.name for device in world.scenario.nodes if device.cpu is not None}
        self._host, self._loads_written = HostLogs(hosts, load, quotas, self._clock), False
        boxed = {hosts.of(node) for node in world.configs.networks.boxed}
        forking = {hosts.of(node) for node in world.configs.forked}
        beside = [host.box for host in boxed] + [host.fork_server for host in forking]
        self._node_logs = NodeLogs(folder, [*world.nodes, *beside, *self._beside])
        self._exits = Exits(hosts)
        self._devices = {device.name: device for device in world.scenario.nodes}
        said = folder.run, self._exits, self._node_logs
        self._boxes = {host.box: PacketBox(host, *said) for host in boxed}
        self._forking = forking
        self._engine = self._engine_faults()
        self._forks: dict[str, Forks] = {}
        """By the name of the fork server."""
        self._waves: Waves | None = None
        self._launcher: Launcher | None = None
        self._ended: set[str] = set()
        """Nodes whose container has ended."""
        self.unanswered: set[str] = set()
        """Names of containers and networks that the engine may be making yet."""

    _beside: Sequence[str] = ()
    """Names of logs beside those of the nodes."""

    def _run_log(self, path: Path, load: Load) -> "RunLogTail":
        """Return the log from which the begin and the end of the run are known."""
        return ServerLog(path, load, self._clock)

    def _engine_faults(self) -> EngineFaults:
        """Return the player of the faults that the engine plays."""
        cpus = {name: device.cpu for name, device in self._devices.items()}
        return EngineFaults(self._hosts, self._folder.run, cpus, self._clock)

    @property
    def given_up(self) -> str:
        """The reason for which the runtime ended the run without devices; else empty."""
        return self._log.given_up

    @property
    def over(self) -> bool:
        """Whether the server has ended the run without an order of a person."""
        return self._log.over

    @property
    def shortest_delay(self) -> float:
        """Shortest delay of a link through the box in seconds; 0 without any."""
        return self._world.configs.networks.shortest

    def _lay_out(self, survivors: Survivors) -> Launcher:
        """Make the networks and the boxes of the run; return the launcher of its containers."""
        self._survivors = survivors
        lives = self._world.lives
        made = self._exits, self._node_logs, self._view, survivors, lives
        vital = [*self._world.servers, *self._world.gateways, *self._world.relays]
        self._reports = Reports(*made, self._clock, self._host, vital)
        launcher = Launcher(self._hosts, self._folder, self._world, self._stdio, self._exits)
        self._launcher = launcher
        self.unanswered = launcher.unanswered
        self._view.progress("network")
        if self._world.gateways:
            self._world = self._world.with_ways(launcher.create_network_with_addresses())
            launcher.take(self._world)
        else:
            launcher.create_networks()
        self._start_boxes(launcher)
        return launcher

    def deploy(self, scenario: Scenario, survivors: Survivors) -> None:
        launcher = self._lay_out(survivors)
        limits = {name: device.memory for name, device in self._devices.items()}
        said = self._stdio, self._exits, self._node_logs
        for host in self._forking:
            forks = Forks(launcher, *said, self._engine.set_memory, limits, host)
            self._forks[host.fork_server] = forks
            forks.start()
        self._world.write_server()
        if len(self._world.servers) > 1:
            launcher.create_shards_volume()
        addresses = self._start_servers(launcher)
        if self._world.relays:
            addresses = {**addresses, **self._start_relays(launcher, addresses)}
        self._world.write_nodes(addresses)
        gathering = launcher.gathering()
        self._waves = Waves(gathering, launcher.start, members(self._world.output / HELLOS))
        # Devices boot with the whole host, and have their quotas from the run's zero. The timeline
        # begins when all have said hello and no quota is missing, though the engine of a busy host
        # may yet answer for seconds that a container runs.
        let_begin = False
        while self._log.zero is None:
            self._listen(self._waves.start_next())
            for node in gathering.take_news():
                if node in self._devices:
                    self._engine.limit(node)
            if gathering.complete and not self._engine.busy and not let_begin:
                let_begin = self._stdio.tell(SERVER, LetBegin())
            self._view.progress(gathering.words())
            self._look(LOG_LOOK)
            if why := gathering.late(self._clock.now()) or self._log.stopped_early:
                raise DeploymentError(f"the run did not begin: {why}")
        refused: dict[str, str] = {}
        for forks in self._forks.values():
            forks.end()
            refused |= forks.refused
        self._note_executed(refused)

    def _start_servers(self, launcher: Launcher) -> Mapping[str, list[str]]:
        """Start the containers of the server and of gateways, before the others, which are told the
        addresses that are returned, by node."""
        for server in self._world.servers:
            launcher.finish(launcher.start, server)
            self._stdio.listen(server)
        self._world.write_gateways()
        for gateway in self._world.gateways:
            launcher.finish(launcher.start, gateway)
            self._stdio.listen(gateway)
        return launcher.server_addresses()

    def _note_executed(self, refused: Mapping[str, str]) -> None:
        """Write to the manifest which workers could not be forked, and why, if any."""
        if refused:
            words = workers_words(self._world.scenario, "", refused)
            path = self._folder.path / "manifest.json"
            write_json(path, {**read_json(path), "workers": words})
            self._view.progress(f"workers: {words}")

    def _start_relays(
        self, launcher: Launcher, addresses: Mapping[str, list[str]]
    ) -> dict[str, list[str]]:
        """Start the relays, which reach the server at one of `addresses`, as all nodes of several
        hosts do; return for each device behind one the relay's address."""
        (server,) = {address for own in addresses.values() for address in own}
        self._world.write_relays(server)
        behind: dict[str, list[str]] = {}
        for name, devices in self._world.configs.relays.items():
            launcher.finish(launcher.start, name)
            self._stdio.listen(name)
            address = launcher.address(name)
            behind |= {device: [address] for device in devices.names.values()}
        return behind

    def _start_boxes(self, launcher: Launcher) -> None:
        for name in self._boxes:
            launcher.start_box(self._hosts.of(name))
            self._stdio.listen(name)
        for box in self._boxes.values():
            while not box.ready:
                self._look(LOG_LOOK)
                box.check_start()

    def wait(self, until: float) -> bool:
        while not self._log.stop:
            left = until - self._log.now
            if left <= 0:
                return True
            if self._survivors.none:
                self._give_up()
                return False
            if self._waves and not self._waves.idle:
                self._listen(self._waves.start_next())
            self._look(min(LOG_LOOK, self._clock.real(left)))
            self._view.beat(self._log.now)
        self._await_server()
        return False

    def perform(self, action: Action, planned: float) -> None:
        if verbs.row(action.verb).by == "engine":
            self._engine.perform(action, planned)
            return
        order = Do(action.verb, action.fault, action.setting, planned)
        struck = self._world.servers if action.node == SERVER else [action.node]
        for node in struck:  # all shards of the server at once
            self._stdio.tell(node, order)

    def cancel(self, reason: str = "canceled") -> None:
        begun = self._log.zero is not None
        ends = "stopping" if begun else "stopping: waiting for the containers that are being made"
        self._view.progress(ends)  # first: starts under way take seconds to end
        self._end_starts()
        if not begun:  # there is no model that the server should write
            self._view.progress("removing the containers")
            return
        self._end_server(reason)

    def _end_server(self, reason: str) -> None:
        """Have the server end the run for `reason`, and wait for its last writes."""
        if SERVER not in self._ended and self._stdio.tell(SERVER, StopPart(reason)):
            self._await_server()

    def teardown(self) -> None:
        self._end_starts()
        self._engine.close()
        self._stdio.close()
        self._record_load(last=True)
        self._node_logs.close()
        # `play_containers` cleans up once more, and reports the rest
        self.unanswered -= {*clean_up_hosts(self._hosts, self._folder.run).found}

    def _listen(self, nodes: Iterable[str]) -> None:
        for node in nodes:
            self._stdio.listen(node)

    def _end_starts(self) -> None:
        """Wait for the engine's answers to the starts under way, and begin no other."""
        if self._launcher is None:
            return
        self._launcher.end()
        if self._waves:
            self._waves.close()
            self._waves = None
        self._launcher.close()
        self._launcher = None

    def _give_up(self) -> None:
        """End the run, as no device is left; messages on their way may still arrive."""
        until = self._clock.now() + SETTLE
        while not self._log.stop and self._clock.now() < until:
            self._look(LOG_LOOK)
        if self._log.stop:
            self._await_server()
        else:
            self._log.given_up = self._survivors.reason
            if not self._can_come_back():
                self.cancel()

    def _can_come_back(self) -> bool:
        """Return whether the run could go on with new devices: the server is durable, and a device
        ended unasked, by no memory limit that its profile sets."""
        devices = (self._exits.last.get(device.name) for device in self._world.scenario.nodes)
        unasked = any(how is not None and how.cause != "limit" for how in devices)
        return unasked and self._world.scenario.server.durability != NONE

    def _await_server(self) -> None:
        """Wait until the server has written the model and its container has ended, and then the
        gateways' containers."""
        model = self._world.output / "model.npz"
        sizes: list[int] = []
        until = self._clock.now() + LAST_WRITES
        while SERVER not in self._ended and self._clock.now() < until:
            self._look(LOG_LOOK)
            # the server completes a checkpoint before it begins with the model
            if sizes != (sizes := unfinished_models(self._folder)):
                until = self._clock.now() + LAST_WRITES
        if SERVER not in self._ended and not model.is_file():
            self._view.progress("the server has not written its model in time")
        # nobody needs them once the server is gone
        helpers = [*self._world.gateways, *self._world.relays]
        told = {name for name in helpers if self._stdio.tell(name, StopPart())}
        told |= {*self._world.servers}  # the leader has told the others
        until = self._clock.now() + LAST_REPORTS
        while told - self._ended and self._clock.now() < until:
            self._look(LOG_LOOK)

    def _look(self, timeout: float) -> None:
        """Take the containers' output, for up to `timeout` real seconds, and the server's log."""
        with ExitStack() as blame:
            for box in self._boxes.values():
                blame.enter_context(box.blamed())
            self._take(timeout)

    def _take(self, timeout: float) -> None:
        said = self._stdio.read(min(timeout, ENGINE_LOOK) if self._engine.busy else timeout)
        if said:
            self._follow()  # the server may have written that the run has begun, or is over
        for news in said:
            if self._hear_other(news):
                continue
            if box := self._boxes.get(news.node):
                self._hear_box(box, news)
            elif forks := self._forks.get(news.node):
                forks.hear(news)
            elif not isinstance(news, OutputEnded):
                self._hear(news)
            else:
                self._ended.add(news.node)
                gone = news.node in self._world.relays and self._hosts.of(news.node).lost()
                if not self._log.stop and not gone:  # a host takes its relay with it
                    self._reports.ended(news.node)
        if not self._log.stop:
            for done in self._engine.tick(self._clock.now()):
                self._reports.did(*done)
        self._record_load()
        self._folder.path.stat()  # raises if somebody moved or removed the folder
        self._follow()

    def _hear_other(self, news: Said | OutputEnded) -> bool:
        """Take the output of a container that is no node of ours; return whether it was one."""
        return False

    def _hear(self, said: Said) -> None:
        """Take a line of a node: do as a device asks, or record the line."""
        device = self._devices.get(said.node)
        forks = self._forks.get(self._hosts.of(said.node).fork_server)
        if forks and _downs(said.report):
            forks.down(said.node)
        match said.report:
            case DelayReport(delay) if device:
                self._hold(said.node, delay)
            case QuotaReport(lifted, press) if device:
                self._lift(said.node, lifted, press)
            case ForkReport() as asked if device and forks:
                forks.want(said.node, asked)
            case DrawnReport() as drawn if device and fits(drawn):
                self._engine.draw(said.node, drawn)
            case VerbReport() as done if device and not self._tell_the_server(device, done):
                self._reports.hear(Said(said.node, said.text))
            case VerbReport() if said.node in self._world.servers[1:]:
                pass  # the leader reports what befell all shards
            case _:
                self._reports.hear(said)

    def _record_load(self, *, last: bool = False) -> None:
        """Write the load of the hosts, each time that a record is full, and the rest once the run
        is over or at the `last` call: what the hosts do later is not the run's."""
        if self._log.zero is None or self._loads_written:
            return
        stop = self._log.stop
        self._loads_written = last or stop is not None
        at = self._log.now if stop is None else stop.at
        for record in self._host.tick(at, last=self._loads_written):
            self._reports.write(record)

    def _hear_box(self, box: PacketBox, news: Said | OutputEnded) -> None:
        """Take the output of a box. Its end matters only while the run goes on, and its host is
        there."""
        if isinstance(news, OutputEnded) and (self._log.stop or self._hosts.of(news.node).lost()):
            return
        box.hear(news, self._reports)

    def _tell_the_server(self, device: Device, done: VerbReport) -> bool:
        """Tell the server's supervisor of a changed link: the server may hold messages for it.

        Return False if the setting in `done` is none of a link.
        """
        # a device whose link changes by itself reports the delay, too
        if verbs.row(done.verb).name != VERB or device.link.changes:
            return True
        try:
            delay = self._world.configs.received_delay(device, done.setting)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return False
        self._hold(device.name, delay)
        return True

    def _hold(self, node: str, delay: Delay) -> None:
        """Tell the server's supervisors for how long to hold back the messages of `node`."""
        for server in self._world.servers:
            self._stdio.tell(server, HoldMessages(node, delay.plain()))

    def _lift(self, node: str, lifted: bool, press: int) -> None:
        """Lift or put back the CPU quota of `node`, as its supervisor asked, and answer."""

        def answer(now: float) -> None:
            self._stdio.tell(node, QuotaAnswer(lifted, press))

        self._engine.lift(node, lifted, answer)

    def _begin_links(self, zero: float) -> None:
        """Tell the devices whose links change by themselves the run's `zero`, a time of the
        clock."""
        for device in self._world.scenario.nodes:
            if device.link.changes:
                host, real = self._hosts.of(device.name), self._clock.real(zero)
                self._stdio.tell(device.name, Zero(self._clock.emulated(host.away(real))))

    def _follow(self) -> None:
        for record in self._log.read():
            if isinstance(record, StartRecord | RecoveredRecord):
                self._reports.begin(record.zero)
                self._begin_links(record.zero)
            self._view.record(record)


def _downs(report: NodeReport | None) -> bool:
    """Return whether the worker that a supervisor reports about is down, or about to be."""
    match report:
        case ExitReport():
            return True
        case VerbReport(verb):
            return verbs.row(verb).ends_process and verbs.begins(verb)
    return False
