"""A node in virtual time: a coroutine, run on the event heap.

A command that takes time is planned as an event, at which the coroutine goes on. A node that waits
for a message holds little more than its coroutine: a fleet may have a million such nodes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from .... import chance
from ....core.fault_draws import FaultDraws
from ....core.messages import ModelReply, Reply, Request
from ....core.worker import Await, Begun, Compute, Computed, Evaluate, NodeCoroutine, Tell
from ....vectors import Vector
from ....world.laws import Fixed, Law
from ..clock.alarms import Alarms
from ..clock.heap import Heap
from ..learning.gradient_handle import GradientHandle, PrefetchedReply, VirtualLearner
from ..links.network import GroupLinks
from .cpu_quota import Quota
from .receive_cost import Reception
from .standstill import Standstill

Coroutine: TypeAlias = NodeCoroutine[PrefetchedReply]
Incoming: TypeAlias = Reply | PrefetchedReply
"""A worker is sent PrefetchedReplies in place of models; the evaluator is sent models."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The parts of a run used by nodes."""

    clock: Heap
    alarms: Alarms
    seed: int
    step: Law
    """Seconds of a whole core for one mini-batch."""
    request: Callable[["VirtualDevice", Request], None]
    """Send a message to the server, over the node's own links."""
    out_of_reach: Callable[["VirtualDevice"], bool]
    """Return whether the node's connection has been given up."""
    draw_fault: Callable[["VirtualDevice"], bool]
    """Draw whether a fault strikes in this iteration; return whether the node is down now."""
    evaluate: Callable[[Vector], tuple[float, float]]
    """Return the accuracy and the loss of a model on the test set."""


class VirtualDevice:
    """A device, or the evaluator. A crash ends the coroutine, a boot begins another."""

    __slots__ = (
        *("_dice", "coroutine", "fault_draws", "hazards", "held", "inbox", "incarnation"),
        *("learner", "links", "listed", "name", "number", "quota", "reception", "standstill"),
        *("surroundings", "timeout", "until"),
    )

    def __init__(
        self, surroundings: Surroundings, name: str, links: GroupLinks, number: int
    ) -> None:
        """`links` belong to the node's group, `number` is the node's index in the group."""
        self.surroundings = surroundings
        self.name, self.links, self.number = name, links, number
        self.timeout = math.inf  # seconds that the server has to answer
        self.hazards: tuple[dict[str, Any], ...] = ()
        self.incarnation = 0  # the number of crashes
        self.coroutine: Coroutine | None = None  # None while the node is down or boots
        self.learner: VirtualLearner | None = None  # the worker's; the evaluator has none
        self.quota: Quota | None = None  # None: the node has a whole core
        self.reception: Reception | None = None
        self.fault_draws: FaultDraws | None = None
        self.standstill: Standstill | None = None  # None: the node was never paused
        self.inbox: list[Incoming] | None = None
        self.until: float | None = None  # when the node stops waiting; None: it does not wait
        self.listed = False  # whether the alarms know the node
        self.held: int | None = None  # version of the model that the node holds
        self._dice: Random | None = None

    def begin(self, coroutine: Coroutine) -> None:
        """Run `coroutine` up to the first wait."""
        self.coroutine = coroutine
        self._live(None)

    def die(self) -> None:
        """End the coroutine and the incarnation: messages and events for the latter become void."""
        self.incarnation += 1
        if self.coroutine is not None:
            self.coroutine.close()
        if self.quota is not None:
            self.quota.restart()
        if self.standstill is not None:
            self.standstill.forget()
        self.coroutine = self.learner = self.inbox = self.until = self.held = None

    def hear(self, incarnation: int, message: Incoming, size: int = 0) -> None:
        """Take `message` of `size` bytes, meant for `incarnation` of the node."""
        if incarnation != self.incarnation or self.coroutine is None:
            return
        if self.standstill and self.standstill.delays(self.hear, incarnation, message, size):
            return
        if isinstance(message, PrefetchedReply | ModelReply):
            self.held = message.version
            if self.quota and self.reception:
                # to receive a model takes processor time, while its bytes come in
                work, over = self.reception
                self.quota.spend(self.surroundings.clock.now, work * size, over * size)
        if self.until is not None:
            self.until = None
            self._live(message)
        elif self.inbox is None:
            self.inbox = [message]
        else:
            self.inbox.append(message)

    def renew(self) -> None:
        """Go on with a new connection. An answer awaited on the old connection never comes."""
        if self.standstill and self.standstill.delays(self.renew):
            return
        if self.until is not None:
            self.until = None
            self._live(None)

    def pause(self) -> None:
        """Stand still until `resume`: compute and send nothing, and let messages wait."""
        if self.standstill is None:
            self.standstill = Standstill(self.surroundings.clock)
        self.standstill.begin()

    def resume(self) -> None:
        """Go on: take messages from the time of the pause, then notice time-outs."""
        if self.standstill is None:
            return
        for call, arguments in self.standstill.end():
            call(*arguments)  # a fault that is drawn meanwhile may delay the rest again
        if self.until is not None and self.until <= self.surroundings.clock.now:
            self.give_up(self.until)

    def done(self, law: Law, times: int = 1) -> float:
        """Return the end of work from now on.

        The work has `times` pieces; `law` gives the seconds that each takes a whole core.
        """
        if isinstance(law, Fixed):
            work = float(law.fixed) * times
        else:
            if self._dice is None:
                self._dice = Random(chance.work(self.surroundings.seed, self.name))
            work = sum([law.draw(self._dice) for _ in range(times)])
        now = self.surroundings.clock.now
        return now + work if self.quota is None else self.quota.finish(now, work)

    # -- the coroutine -------------------------------------------------------------------------

    def _live(self, result: Any) -> None:
        """Send `result` to the coroutine, and run it until a command takes time."""
        coroutine, surroundings = self.coroutine, self.surroundings
        if coroutine is None:
            return
        try:
            while True:
                command = coroutine.send(result)
                result = None
                match command:
                    case Tell(message):
                        surroundings.request(self, message)
                    case Await(timeout):
                        if not self.inbox:
                            self._wait(timeout)
                            return
                        result = self.inbox.pop(0)
                    case Compute(reply):
                        if not surroundings.draw_fault(self):
                            self._compute(reply.handle)
                        return
                    case Evaluate(theta):
                        result = surroundings.evaluate(theta)
                    case Begun():
                        pass
        except StopIteration:
            self.coroutine = None

    def _wait(self, timeout: float) -> None:
        surroundings = self.surroundings
        if timeout < math.inf:
            surroundings.alarms.set(self, surroundings.clock.now + timeout)
        else:
            self.until = math.inf

    def give_up(self, until: float) -> None:
        """Stop waiting, if the node still waits for the message that was due at `until`.

        A node without a connection waits on: asking again would be in vain.
        """
        if self.until != until:
            return
        if self.standstill and self.standstill.paused:
            return  # `resume` looks at `until` again
        if self.surroundings.out_of_reach(self):
            self.until = math.inf
        else:
            self.until = None
            self._live(None)

    def _compute(self, handle: GradientHandle) -> None:
        handle.begin()
        now, end = self.surroundings.clock.now, self.done(self.surroundings.step, handle.steps)
        self.surroundings.clock.at(end, self._computed, self.incarnation, handle, now, end)

    def _computed(self, incarnation: int, handle: GradientHandle, began: float, end: float) -> None:
        if incarnation != self.incarnation:
            return
        work = began, end, self._computed, incarnation, handle, began, end
        if self.standstill and self.standstill.delays_work(*work):
            return
        # by the clock of the wall, as a worker in a container measures it, pauses included
        self._live(Computed(handle, handle.loss(), self.surroundings.clock.now - began))
