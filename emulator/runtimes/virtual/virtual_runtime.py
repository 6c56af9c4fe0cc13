"""A scenario in virtual time: the same stories and the same server, a heap instead of a network."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from ... import chance
from ...core import wire
from ...core.chores import Chore
from ...core.evaluator import evaluator
from ...core.heartbeat import Heartbeat
from ...core.messages import ModelReply, Patch, Pull, Request, Update
from ...core.server import ParameterServer, Replies
from ...core.survivors import NONE_LEFT, SETTLE, Survivors
from ...core.worker import worker
from ...errors import WireError
from ...faults import Hazard
from ...log.writing import RunLog
from ...pulls import Delta
from ...runs.conductor import RunView
from ...scenario import Scenario
from ...scenario.timeouts import answer_timeout, slowest_exchange
from ...vectors import Vector
from ...world.laws import Law
from ...world.roles import EVALUATOR
from ...world.verbs import Action
from .channel import Channel
from .clock.alarms import Alarms
from .clock.heap import Heap
from .device.cpu_quota import Quota
from .device.receive_cost import packet, reception
from .device.virtual_device import Incoming, VirtualDevice
from .device_faults import DeviceFaults, DevicePowers
from .learning.gradient_handle import FleetLearning, HandleEncoder, PrefetchedReply
from .links.network import acknowledgements, lay
from .meter import TrafficMeter
from .serving_time import Processor

SLICE = 500
"""Events between two looks at the real clock."""

BEAT = 0.1
"""Real seconds between two beats of whoever looks on."""


class VirtualRuntime:
    """One run of a scenario on a heap; nothing in it waits for the real clock."""

    def __init__(
        self,
        scenario: Scenario,
        server: ParameterServer,
        learning: FleetLearning,
        log: RunLog,
        view: RunView,
        chores: Sequence[Chore] = (),
    ) -> None:
        """The scenario's `virtual.step` and `virtual.boot` are laws by now."""
        step, boot = scenario.virtual.step, scenario.virtual.boot
        if step is None or boot is None:
            raise TypeError("virtual.step and virtual.boot must be known")
        self.heap = Heap()
        self.alarms = Alarms(self.heap)
        self.seed = scenario.seed
        self.step: Law = step
        self._boot_law: Law = boot
        self._processor = Processor(scenario.virtual.serve, scenario.seed)
        self._scenario, self.server, self._learning = scenario, server, learning
        self._encoder, self._log, self._view = HandleEncoder(), log, view
        self._chores = chores
        self._size = server.layout.size
        self._encrypted = scenario.server.encrypt
        self._patched = isinstance(scenario.training.pull, Delta)
        self.ways = lay(self.heap, scenario)
        self._nodes: dict[str, VirtualDevice] = {}
        self._ending = False  # no device is left, and the end is planned
        self._deadline = math.inf  # the server's earliest that is planned
        self._beaten = 0.0
        self._meter: TrafficMeter | None = None  # until the run has begun
        self._evaluated = [0, 0]  # bytes of messages that the evaluator has sent, and was sent

    # -- Runtime ---------------------------------------------------------------------------------

    def deploy(self, scenario: Scenario, survivors: Survivors) -> None:
        self._survivors = survivors
        timeout = Heartbeat.fit(slowest_exchange(scenario, 4 * self._size)).timeout
        self._channel = Channel(self.heap, timeout)
        self._faults = DeviceFaults(
            self._powers, self.heap, lambda: self.now, self._log, self._lost
        )
        self._timeouts = [
            answer_timeout(scenario, group.link, 4 * self._size) for group in scenario.devices
        ]
        self._view.progress(f"{len(scenario.nodes)} devices")
        self._populate(scenario)
        self._arm()
        while self.server.zero is None and not self.heap.halted:
            self.heap.run(math.inf, 1)
        acknowledged = acknowledgements(scenario)
        nodes, zero = list(self._nodes.values()), self._zero
        self._meter = TrafficMeter(nodes, self._evaluated, acknowledged, self._log, zero)
        self._do(self._meter)
        for chore in self._chores:
            self._plan(chore)

    def wait(self, until: float) -> bool:
        zero = self._zero
        self._end_without_survivors()
        while not self.heap.run(zero + until, SLICE):
            self._beat()
        self._beat()
        if until == math.inf and not self.heap.halted:
            self._end("nothing is left that could happen")
        return not self.heap.halted

    def perform(self, action: Action, planned: float) -> None:
        self._faults.perform(action, self._nodes[action.node], planned)

    def cancel(self, reason: str = "canceled") -> None:
        self.heap.halted = True

    def teardown(self) -> None:
        if self._meter:
            self._meter.tick(self.heap.now)
        self._learning.close()

    @property
    def now(self) -> float:
        """Emulated seconds into the run."""
        return self.heap.now - self._zero

    @property
    def _zero(self) -> float:
        return self.server.zero or 0.0

    def _plan(self, chore: Chore) -> None:
        due = chore.deadline()
        if due is not None:
            self.heap.at(due, self._do, chore)

    def _do(self, chore: Chore) -> None:
        chore.tick(self.heap.now)
        self._plan(chore)

    # -- the world -------------------------------------------------------------------------------

    def _populate(self, scenario: Scenario) -> None:
        devices = iter(scenario.nodes)
        sent = packet(scenario.server.link.up, [group.link.down for group in scenario.devices])
        for index, (group, ways) in enumerate(zip(scenario.devices, self.ways, strict=True)):
            received = reception(group.link.down, sent)
            for number in range(len(group.names)):
                device = next(devices)
                node = VirtualDevice(self, device.name, ways, number)
                node.timeout = self._timeouts[index]
                if device.cpu is not None and device.cpu < 1:
                    node.quota, node.reception = Quota(device.cpu), received
                node.hazards = device.hazards
                self._nodes[device.name] = node
        for node in self._nodes.values():
            self._boot(node, 0)
        self._start_evaluator()

    def _start_evaluator(self) -> None:
        if not self._learning.scores:
            return
        node = self._nodes[EVALUATOR] = VirtualDevice(self, EVALUATOR, None, 0)
        node.begin(evaluator(EVALUATOR, 0, self._size, math.inf))

    def _boot(self, node: VirtualDevice, incarnation: int) -> None:
        """Begin its story, unless it has died on the way."""
        if incarnation != node.incarnation:
            return
        if node.hazards:
            node.hazard = Hazard(node.hazards, chance.hazard(self.seed, node.name, incarnation))
        node.learner = self._learning.learner(node.name, incarnation)
        node.begin(
            worker(node.name, incarnation, self._encoder, self._size, node.timeout, PrefetchedReply)
        )

    # -- messages --------------------------------------------------------------------------------

    def carry(self, node: VirtualDevice, message: Request) -> None:
        if self._patched and isinstance(message, Pull):
            message = replace(message, held=node.held)
        size = wire.size(message, encrypted=self._encrypted)
        if node.ways is None:
            self._evaluated[0] += size
            self.heap.at(self.heap.now, self._serve, message)
        else:
            node.ways.up.send(node.number, size, self._serve, message)

    def evaluate(self, theta: Vector) -> tuple[float, float]:
        return self._learning.evaluate(theta)

    def _serve(self, message: Request) -> None:
        now = self.heap.now
        if isinstance(message, Update):
            self._processor.take(now)
        try:
            replies = self.server.receive(message, now)
        except WireError as error:
            self.server.refuse(message.node, str(error), now)
        else:
            self._send(replies)
        self._arm()

    def _send(self, replies: Replies) -> None:
        now = self.heap.now
        free = self._processor.free(now)
        for name, reply in replies:
            node, size = self._nodes[name], wire.size(reply, encrypted=self._encrypted)
            if node.ways is None:
                self._evaluated[1] += size
                self.heap.at(now, node.hear, 0, reply)  # it measures the model as it is now
            elif self._channel.out_of_reach(node):
                self.server.unsent(name, reply, now)
            elif node.learner is not None:  # else there is nobody, which the server cannot know
                answer: Incoming = reply
                if isinstance(reply, ModelReply | Patch):
                    # no step comes between an answer and its way, so it is of this very version
                    handle = node.learner.prefetch(self.server.pulled())
                    answer = PrefetchedReply(reply.ticket, reply.version, handle)
                if free > now:
                    self.heap.at(free, self._answer, node, node.incarnation, answer, size)
                else:
                    self._answer(node, node.incarnation, answer, size)

    def _answer(self, node: VirtualDevice, incarnation: int, reply: Incoming, size: int) -> None:
        if incarnation == node.incarnation:
            node.links.down.send(node.number, size, node.hear, incarnation, reply, size)

    def out_of_reach(self, node: VirtualDevice) -> bool:
        return self._channel.out_of_reach(node)

    def _arm(self) -> None:
        """Plan what the server wants to be called for; and when it is over, all is."""
        if self.server.over:
            self.heap.halted = True
            return
        due = self.server.deadline()
        if due is not None and due < self._deadline:
            self._deadline = due
            self.heap.at(due, self._tick)

    def _tick(self) -> None:
        self._deadline = math.inf
        self._send(self.server.tick(self.heap.now))
        self._arm()

    # -- faults ----------------------------------------------------------------------------------

    def strike(self, node: VirtualDevice) -> bool:
        return self._faults.draw(node)

    def _lost(self, device: str) -> None:
        self._survivors.lost(device)
        self._end_without_survivors()

    def _powers(self, device: VirtualDevice) -> DevicePowers:
        return DevicePowers(device, self._channel, self._plan_boot)

    def _plan_boot(self, node: VirtualDevice) -> None:
        self.heap.at(node.done(self._boot_law), self._boot, node, node.incarnation)

    # -- the end ---------------------------------------------------------------------------------

    def _end_without_survivors(self) -> None:
        """Once every device is gone for good, plan the end."""
        if self._survivors.none and not self._ending:
            self._ending = True
            self.heap.at(self.heap.now + SETTLE, self._end, NONE_LEFT)

    def _end(self, detail: str) -> None:
        self.server.end("failed", self.heap.now, detail)
        self.heap.halted = True

    def _beat(self) -> None:
        if time.monotonic() - self._beaten > BEAT:
            self._beaten = time.monotonic()
            self._view.beat(self.now)
