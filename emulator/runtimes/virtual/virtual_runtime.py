"""A scenario in virtual time: the containers' coroutines and server, on a heap of events."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from ...core.server.parameter_server import Chore, ParameterServer
from ...core.survivors import SETTLE, Survivors
from ...core.zmtp import Heartbeat
from ...errors import counted
from ...log.lines import RunLog
from ...log.records import BackgroundRecord, TrafficRecord, made
from ...pulls import Delta
from ...runs.conductor import RunView
from ...scenario import Scenario
from ...scenario.sections.server_section import planned as planned_durability
from ...scenario.timeouts import slowest_exchange
from ...world import verbs
from ...world.roles import SERVER, shard_name
from ...world.verbs import Action
from .clock import Alarms, Heap
from .cut_times import ServerPasses
from .device.device_faults import Batteries, DeviceFaults, DeviceMemory, DevicePowers
from .device.processor import Surroundings
from .device.virtual_device import VirtualDevice
from .fleet import Fleet
from .links.background_traffic import BackgroundTraffic
from .links.network import GroupLinks, InterfaceBytes, LinkPlayer, NetworkFaults, build_links
from .links.shared_rates import Crossed, NetworkLinks, crossed
from .server.channel import Channel, Garbling
from .server.virtual_crashes import VirtualCrashes
from .server.virtual_server import VirtualServer, processors
from .workers import Workers

SLICE = 500
"""Events between two looks at the real clock."""

BEAT = 0.1
"""Real seconds between two beats of the view."""


SAMPLES = 200
"""Nodes sampled each second. Larger fleets are sampled less often, or they would fill the log."""


class TrafficMeter:
    """A Chore that writes `traffic` records of the devices, the evaluator, the bottlenecks, the
    network's links and the server."""

    def __init__(
        self,
        nodes: Iterable[VirtualDevice],
        log: RunLog,
        zero: float,
        behind: Mapping[str, Crossed],
        background: BackgroundTraffic,
        links: Sequence[GroupLinks] = (),
    ) -> None:
        """Sample `nodes` from the driver's time `zero` on, at which the run began.

        `behind` names the shared links that each device is behind. `links` has the links of
        the evaluator and of each group of devices, of a server with shards, each of which is
        sampled, too.
        """
        self._background, self._links = background, links
        self._nodes, self._log, self._zero, self._behind = tuple(nodes), log, zero, behind
        hops = (hop for each in behind.values() for way in each for hop in way)
        self._shared = tuple(dict.fromkeys(hop.link for hop in hops))
        self._interval = max(1.0, len(self._nodes) / SAMPLES)  # seconds between two samples
        self._due = zero

    def deadline(self) -> float:
        return self._due

    def tick(self, now: float) -> None:
        """Write a record per interface, as of `now` on the driver's clock."""
        self._sample(now - self._zero)
        self._due = now + self._interval

    def _sample(self, now: float) -> None:
        received = sent = 0
        # a bottleneck carries the bytes of its members, a link those of the devices behind it
        shared = {name: {"up": 0, "down": 0} for name in self._shared}
        for node in self._nodes:
            count = node.links.count(node.number)
            # all that leaves a node arrives at the server, and nothing else does
            received, sent = received + count.tx, sent + count.rx
            self._log.write(TrafficRecord(now, node.name, rx=count.rx, tx=count.tx))
            if (crossed := self._behind.get(node.name)) is not None:
                for hops, bytes_ in zip(crossed, (count.tx, count.rx), strict=True):
                    for name, way in hops:
                        shared[name][way] += bytes_
        for name, carried in shared.items():
            self._log.write(TrafficRecord(now, name, rx=carried["down"], tx=carried["up"]))
        self._log.write(TrafficRecord(now, SERVER, rx=received, tx=sent))
        for name, (down, up) in self._background.counts().items():
            self._log.write(BackgroundRecord(now, name, rx=down, tx=up))
        groups = [each.count_by_shard() for each in self._links]
        # the evaluator's links lead to the first shard alone
        for number, counts in enumerate(zip_longest(*groups, fillvalue=InterfaceBytes(0, 0))):
            rx, tx = (sum(part) for part in zip(*counts, strict=True))
            self._log.write(TrafficRecord(now, shard_name(number), rx=rx, tx=tx))


class VirtualRuntime:
    """Plays one run of a scenario on a heap of events; never waits for the real clock."""

    def __init__(
        self,
        scenario: Scenario,
        server: ParameterServer,
        workers: Workers,
        log: RunLog,
        view: RunView,
        chores: Sequence[Chore] = (),
        passes: ServerPasses | None = None,
    ) -> None:
        """Put the parts together. `scenario.virtual.step` and `.boot` must be known laws.

        `passes` times the passes through the server's part of a cut model.
        """
        step, boot = scenario.virtual.step, scenario.virtual.boot
        if step is None or boot is None:
            raise TypeError("virtual.step and virtual.boot must be known")
        size, form = server.layout.size, server.form
        self.clock = clock = Heap()
        network = NetworkLinks(clock, scenario)
        self.links = build_links(clock, scenario, network)
        self._network = NetworkFaults(scenario, network, self.links)
        self._background = BackgroundTraffic(clock, scenario, network)
        self._link_player = LinkPlayer(clock, scenario, self.links)
        self.fleet = Fleet(scenario, workers, size, boot)
        self._server, self._learning = server, workers.learning
        self._log, self._view, self._chores = log, view, chores
        self._late_chores: list[Chore] = []  # chores that were due while the server was down
        timeout = Heartbeat.fit(slowest_exchange(scenario, 4 * size)).timeout
        patches = isinstance(scenario.training.pull, Delta)
        durability = planned_durability(scenario.server.durability)
        sized = scenario.virtual.learner == "none"
        channel = Channel(
            clock,
            timeout,
            form=form,
            patches=patches,
            garbling=Garbling(scenario.seed, sized=sized) if form.checked else None,
            shards=workers.shards,
        )
        self._endpoint = VirtualServer(
            server,
            clock,
            channel,
            self.fleet.nodes,
            processors(scenario, workers.shards),
            form=form,
            passes=passes,
            shards=workers.shards,
        )
        self._crashes: VirtualCrashes | None = None
        if durability is not None:
            parts = server, self._endpoint, channel, clock, log
            self._crashes = VirtualCrashes(durability, *parts)

        memory = DeviceMemory(scenario, log, lambda: self.now)

        def powers(device: VirtualDevice) -> DevicePowers:
            return DevicePowers(device, channel, self.fleet.boot, memory, self._background.cut)

        self._faults = DeviceFaults(powers, clock, lambda: self.now, log, self._lost)
        self._surroundings = Surroundings(
            clock,
            Alarms(clock),
            scenario.seed,
            step,
            request=channel.request,
            out_of_reach=channel.out_of_reach,
            draw_fault=self._faults.draw,
            evaluate=workers.learning.evaluate,
        )
        self._ending = False  # whether no device is left, and the end is planned
        self._beaten = 0.0  # real time of the last beat
        self._meter: TrafficMeter | None = None  # None until the run has begun

    # -- Runtime ---------------------------------------------------------------------------------

    def deploy(self, scenario: Scenario, survivors: Survivors) -> None:
        self._survivors = survivors
        self._view.progress(counted(len(scenario.nodes), "device"))
        self.fleet.populate(self._surroundings, self.links)
        self._endpoint.arm()
        while self._server.zero is None and not self.clock.halted:
            self.clock.run(math.inf, 1)
        batteries = Batteries(self.clock, self._faults, lambda: self.now, self._log, self._lost)
        batteries.install(scenario, self.fleet.nodes)
        self._link_player.begin(self._zero)
        self._background.begin(self._zero)
        behind = {name: crossed(scenario, name) for name in scenario.shared_of}
        nodes = self.fleet.nodes.values()
        links: dict[int, GroupLinks] = {}  # by identity: devices of a group share an object
        if scenario.server.shards > 1:
            links = {id(node.links): node.links for node in nodes}
        meters = behind, self._background, tuple(links.values())
        self._meter = TrafficMeter(nodes, self._log, self._zero, *meters)
        self._do(self._meter)
        for chore in (*self._chores, *([self._crashes] if self._crashes else ())):
            self._plan(chore)

    def wait(self, until: float) -> bool:
        zero = self._zero
        self._end_without_survivors()
        while not self.clock.run(zero + until, SLICE):
            self._beat()
        self._beat()
        if until == math.inf and not self.clock.halted:
            self._end("nothing is left that could happen")
        return not self.clock.halted

    def perform(self, action: Action, planned: float) -> None:
        if action.node == SERVER and self._crashes:
            self._crashes.perform(action, planned, self.fleet.nodes.values())
            if not self._endpoint.down:
                late, self._late_chores = self._late_chores, []
                for chore in late:
                    self._do(chore)
        elif action.node in self._network:
            facts = {"node": action.node, "fault": action.fault, "begins": action.begins}
            how = {"planned": planned, "setting": action.setting}
            self._log.write(made(verbs.record(action.verb), self.now, **facts, **how))
            self._network.perform(action)
        else:
            self._faults.perform(action, self.fleet.nodes[action.node], planned)
            if verbs.row(action.verb).revives and self._faults.starved(action.node):
                self._survivors.ended(action.node, self.now)

    def cancel(self, reason: str = "canceled") -> None:
        self.clock.halted = True
        if self._server.ended:  # by itself, and it waits for the last scores
            self._server.end(reason, self.clock.now)

    def teardown(self) -> None:
        if self._meter:
            self._meter.tick(self.clock.now)
        self.fleet.close()
        self._learning.close()

    @property
    def now(self) -> float:
        """Emulated seconds into the run."""
        return self.clock.now - self._zero

    @property
    def _zero(self) -> float:
        return self._server.zero or 0.0

    # -- beside the protocol -----------------------------------------------------------------------

    def _plan(self, chore: Chore) -> None:
        due = chore.deadline()
        if due is not None:
            self.clock.at(due, self._do, chore)

    def _do(self, chore: Chore) -> None:
        if self._endpoint.down and chore in self._chores:
            self._late_chores.append(chore)
            return
        chore.tick(self.clock.now)
        self._plan(chore)

    def _beat(self) -> None:
        if time.monotonic() - self._beaten > BEAT:
            self._beaten = time.monotonic()
            self._view.beat(self.now)

    # -- the end ---------------------------------------------------------------------------------

    def _lost(self, device: str) -> None:
        """Count `device` as lost: a drawn fault has no end."""
        self._survivors.lost(device)
        self._end_without_survivors()

    def _end_without_survivors(self) -> None:
        """Plan the end, once every device is gone for good."""
        if self._survivors.none and not self._ending:
            self._ending = True
            # messages that have left still arrive
            self.clock.at(self.clock.now + SETTLE, self._end, self._survivors.reason)

    def _end(self, detail: str) -> None:
        self._server.end("failed", self.clock.now, detail)
        self.clock.halted = True
