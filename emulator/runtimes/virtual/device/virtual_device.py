"""A device in virtual time: its story, told on the heap.

Whatever a wish takes is planned as an event, at which the story goes on. A node that waits for a
message holds nothing but its story.
"""

import math
from random import Random
from typing import Any, Protocol, TypeAlias

from .... import chance
from ....core.messages import ModelReply, Reply, Request
from ....core.worker import Await, Begun, Compute, Computed, Evaluate, NodeCoroutine, Tell
from ....faults import Hazard
from ....vectors import Vector
from ....world.laws import Fixed, Law
from ..clock.alarms import Alarms
from ..clock.heap import Heap
from ..learning.gradient_handle import GradientHandle, PrefetchedReply, VirtualLearner
from ..links.network import Ways
from .cpu_quota import Quota
from .receive_cost import Reception

Coroutine: TypeAlias = NodeCoroutine[PrefetchedReply]
Incoming: TypeAlias = Reply | PrefetchedReply
"""A worker is sent PrefetchedReplies in place of models, the evaluator models."""


class Surroundings(Protocol):
    """What nodes need of the runtime that they are in."""

    heap: Heap
    alarms: Alarms
    seed: int
    step: Law

    def carry(self, node: "VirtualDevice", message: Request) -> None:
        """Send it to the server, over the node's own link."""

    def out_of_reach(self, node: "VirtualDevice") -> bool:
        """Whether the node has been cut off for so long that its connection is given up."""

    def strike(self, node: "VirtualDevice") -> bool:
        """Let the node draw whether a fault ends this iteration; whether it is off now."""

    def evaluate(self, theta: Vector) -> tuple[float, float]: ...


class VirtualDevice:
    """One device, or the evaluator. A crash ends its story, a boot begins another."""

    __slots__ = (
        *("_dice", "_world", "hazard", "hazards", "held", "inbox", "incarnation", "listed", "name"),
        *("coroutine", "learner", "number", "quota", "reception", "timeout", "until", "ways"),
    )

    def __init__(self, world: Surroundings, name: str, ways: Ways | None, number: int) -> None:
        """`number` is the device's own on its group's ways; who has none is beside the server."""
        self._world = world
        self.name, self.ways, self.number = name, ways, number
        self.timeout = math.inf
        self.hazards: tuple[dict[str, Any], ...] = ()
        self.incarnation = 0
        self.coroutine: Coroutine | None = None
        self.learner: VirtualLearner | None = None
        self.quota: Quota | None = None
        self.reception: Reception | None = None
        self.hazard: Hazard | None = None
        self.inbox: list[Incoming] | None = None
        self.until: float | None = None  # when its patience ends; None: it does not wait
        self.listed = False
        self.held: int | None = None  # the version of the model that it holds
        self._dice: Random | None = None

    @property
    def links(self) -> Ways:
        """Its ways, which every device has."""
        if self.ways is None:
            raise TypeError(f"{self.name} is on no link")
        return self.ways

    def begin(self, coroutine: Coroutine) -> None:
        self.coroutine = coroutine
        self._live(None)

    def die(self) -> None:
        """Nothing of it is left; what still comes for this incarnation comes to nobody."""
        self.incarnation += 1
        if self.coroutine is not None:
            self.coroutine.close()
        if self.quota is not None:
            self.quota.restart()
        self.coroutine = self.learner = self.inbox = self.until = self.held = None

    def hear(self, incarnation: int, message: Incoming, size: int = 0) -> None:
        """A message of so many bytes has arrived, on a connection of that incarnation."""
        if incarnation != self.incarnation or self.coroutine is None:
            return
        if isinstance(message, PrefetchedReply | ModelReply):
            self.held = message.version
            if self.quota and self.reception:
                work, over = self.reception
                self.quota.spend(self._world.heap.now, work * size, over * size)
        if self.until is not None:
            self.until = None
            self._live(message)
        elif self.inbox is None:
            self.inbox = [message]
        else:
            self.inbox.append(message)

    def renew(self) -> None:
        """Go on with a new connection: no answer comes to a question that was on the last one."""
        if self.until is not None:
            self.until = None
            self._live(None)

    def done(self, law: Law, times: int = 1) -> float:
        """When work that begins now is done; `law` says what a whole core takes for each piece."""
        if isinstance(law, Fixed):
            work = float(law.fixed) * times
        else:
            if self._dice is None:
                self._dice = Random(chance.work(self._world.seed, self.name))
            work = sum([law.draw(self._dice) for _ in range(times)])
        now = self._world.heap.now
        return now + work if self.quota is None else self.quota.finish(now, work)

    # -- the story -------------------------------------------------------------------------------

    def _live(self, outcome: Any) -> None:
        """Tell the story on until it has to wait for something."""
        coroutine, world = self.coroutine, self._world
        if coroutine is None:
            return
        try:
            while True:
                command = coroutine.send(outcome)
                outcome = None
                match command:
                    case Tell(message):
                        world.carry(self, message)
                    case Await(timeout):
                        if not self.inbox:
                            self._wait(timeout)
                            return
                        outcome = self.inbox.pop(0)
                    case Compute(reply):
                        if not world.strike(self):
                            self._compute(reply.handle)
                        return
                    case Evaluate(theta):
                        outcome = world.evaluate(theta)
                    case Begun():
                        pass
        except StopIteration:
            self.coroutine = None

    def _wait(self, timeout: float) -> None:
        world = self._world
        if timeout < math.inf:
            world.alarms.set(self, world.heap.now + timeout)
        else:
            self.until = math.inf

    def give_up(self, until: float) -> None:
        """Its patience has ended, unless it was answered since; without a connection it lasts."""
        if self.until != until:
            return
        if self._world.out_of_reach(self):
            self.until = math.inf
        else:
            self.until = None
            self._live(None)

    def _compute(self, handle: GradientHandle) -> None:
        handle.begin()
        heap, end = self._world.heap, self.done(self._world.step, handle.steps)
        heap.at(end, self._computed, self.incarnation, handle, end - heap.now)

    def _computed(self, incarnation: int, handle: GradientHandle, seconds: float) -> None:
        if incarnation == self.incarnation:
            self._live(Computed(handle, handle.loss(), seconds))
