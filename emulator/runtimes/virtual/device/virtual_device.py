"""A node in virtual time: a coroutine, run on the event heap.

A command that takes time is planned as an event, at which the coroutine goes on. A node that waits
for a message holds little more than its coroutine: a fleet may have a million such nodes.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from ....core.wire.messages import Leave, ModelReply, Reply, Request
from ....core.worker.falsifying import VERB as FALSIFY
from ....core.worker.kept_state import Keeper
from ....core.worker.worker import (
    Activate,
    ActivationsBack,
    Await,
    Backward,
    Begun,
    Compute,
    Evaluate,
    Forward,
    LossAt,
    NodeCoroutine,
    Tell,
)
from ....world.faults import Hazard
from ....world.faults.self_played import SelfPlayed
from ....world.verbs import Setting
from ..learning.gradient_handle import PrefetchedReply, PrefetchedSegment, VirtualLearner
from ..links.network import GroupLinks
from .passes import Pass, Passes, WholePass
from .processor import Processor, Reception, Standstill, Surroundings

Coroutine: TypeAlias = NodeCoroutine[PrefetchedReply] | NodeCoroutine[PrefetchedSegment]
Work: TypeAlias = Compute[Any] | Forward[Any] | Backward | Activate[Any] | ActivationsBack
"""A command that keeps the processor busy."""

Incoming: TypeAlias = Reply | PrefetchedReply | PrefetchedSegment
"""A worker is sent PrefetchedReplies and PrefetchedSegments in place of models and their segments;
the evaluator is sent models."""


_MODELS = PrefetchedReply, PrefetchedSegment, ModelReply


class VirtualDevice(Processor):
    """A device, or the evaluator. A crash ends the coroutine, a boot begins another."""

    __slots__ = (
        *("coroutine", "hazard", "hazards", "held", "inbox", "keeper", "learner", "links"),
        *("listed", "number", "passes", "played", "reception", "timeout", "until"),
    )

    def __init__(
        self, surroundings: "Surroundings[VirtualDevice]", name: str, links: GroupLinks, number: int
    ) -> None:
        """`links` belong to the node's group, `number` is the node's index in the group."""
        super().__init__(surroundings, name)
        self.links, self.number = links, number
        self.timeout = math.inf  # seconds that the server has to answer
        self.hazards: tuple[dict[str, Any], ...] = ()
        self.keeper: Keeper | None = None  # None: no fault lets the node keep its state
        self.coroutine: Coroutine | None = None  # None while the node is down or boots
        self.learner: VirtualLearner | None = None  # None: no worker runs
        self.passes: Passes | None = None  # of a worker with several passes an iteration
        self.reception: Reception | None = None
        self.hazard: Hazard | None = None
        self.played: SelfPlayed | None = None  # None: no fault ever was the device's to play
        self.inbox: list[Incoming] | None = None
        self.until: float | None = None  # when the node stops waiting; None: it does not wait
        self.listed = False  # whether the alarms know the node
        self.held: int | None = None  # version of the model that the node holds

    def begin(self, coroutine: Coroutine) -> None:
        """Run `coroutine` up to the first wait."""
        self.coroutine = coroutine
        self._live(None)

    @property
    def works(self) -> bool:
        """Whether a worker runs on the node; the evaluator is none."""
        return self.learner is not None

    @property
    def lie(self) -> Setting | None:
        """Setting of the lie in the iteration that goes on; None: its gradient is true."""
        return self.played.present.get(FALSIFY) if self.played is not None else None

    def die(self) -> None:
        """End the coroutine and the incarnation: messages and events for the latter become void."""
        self.incarnation += 1
        if self.coroutine is not None:
            self.coroutine.close()
        if self.quota is not None:
            self.quota.restart()
        if self.battery is not None:
            self.battery.off()
        if self.standstill is not None:
            self.standstill.forget()
        self.coroutine = self.learner = self.passes = None
        if self.played is not None:
            self.played.die()
        self.working = self.inbox = self.until = self.held = None

    def change(self, verb: str, setting: Setting | None) -> None:
        """Put the `setting` of `verb` into force, in this and later incarnations; None ends it."""
        if self.played is None:
            self.played = SelfPlayed(self.surroundings.seed, self.name, self.incarnation)
        self.played.change(verb, setting)

    def say_goodbye(self) -> None:
        """Tell the server that the node leaves; a node that boots or is paused says nothing."""
        if self.coroutine is None or (self.standstill and self.standstill.paused):
            return
        self._request(Leave(self.name))

    def hear(self, incarnation: int, message: Incoming, size: int = 0) -> None:
        """Take `message` of `size` bytes, meant for `incarnation` of the node."""
        if incarnation != self.incarnation or self.coroutine is None:
            return
        if self.standstill and self.standstill.delays(self.hear, incarnation, message, size):
            return
        if self.battery is not None:
            self.battery.received(size)
        if isinstance(message, _MODELS):
            self._receive(message, size)
        if self.until is not None:
            self.until = None
            self._live(message)
        elif self.inbox is None:
            self.inbox = [message]
        else:
            self.inbox.append(message)

    def ask_again(self, incarnation: int) -> None:
        """Take that a question of `incarnation`, or its answer, had flipped bits."""
        if incarnation != self.incarnation or self.coroutine is None or self.until is None:
            return
        if self.standstill and self.standstill.delays(self.ask_again, incarnation):
            return
        self.until = None
        self._live(None)

    def _receive(self, model: PrefetchedReply | PrefetchedSegment | ModelReply, size: int) -> None:
        """Take a model, or a piece of one, of `size` bytes: it has arrived."""
        now = self.surroundings.clock.now
        if self.quota and self.reception:
            # to receive a model takes processor time, while its bytes come in
            work, over = self.reception
            self.quota.spend(now, work * size, over * size)
        held = not isinstance(model, PrefetchedSegment)
        if self.passes is not None and isinstance(model, PrefetchedSegment):
            held = self.passes.arrived(model, size, now)  # from the last piece on
        if held:
            self.held = model.version

    def joined(self, parts: Sequence[PrefetchedSegment]) -> PrefetchedReply:
        """Hold the model of the `parts`, all of which have arrived from the server's shards."""
        ticket, version, handle = parts[0].ticket, parts[0].version, parts[0].handle
        self.held = version
        return PrefetchedReply(ticket, version, handle)

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
                        size = self._request(message)
                        if self.passes is not None:
                            self.passes.sent(message, size, surroundings.clock.now)
                    case Await(timeout):
                        if not self.inbox:
                            self._wait(timeout)
                            return
                        result = self.inbox.pop(0)
                    case Compute() | Forward() | Backward() | Activate() | ActivationsBack():
                        self._take_up(command)
                        return
                    case LossAt(answer):
                        result = self._apart.loss(answer)
                    case Evaluate(theta):
                        result = surroundings.evaluate(theta)
                    case Begun(zero):
                        if self.passes is not None and self.passes.scheduler is not None:
                            self.passes.scheduler.started(zero)
        except StopIteration:
            self.coroutine = None

    def _request(self, message: Request) -> int:
        """Send `message` to the server; return its size in bytes."""
        size = self.surroundings.request(self, message)
        if self.battery is not None:
            self.battery.sent(size)
        return size

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

    # -- computations ----------------------------------------------------------------------------

    def _take_up(self, work: Work) -> None:
        """Begin `work`; if it begins an iteration, after the wait of a lag if it has one."""
        match work:
            case Backward() | ActivationsBack():
                self._compute(work)
                return
            case Forward(piece) if piece.segment[0] > 1:
                self._compute(work)
                return
        wait = self.played.wait() if self.played else 0.0
        if wait:
            until = self.surroundings.clock.now + wait
            self.surroundings.clock.at(until, self._waited, self.incarnation, work)
        else:
            self._begin_iteration(work)

    def _waited(self, incarnation: int, work: Work) -> None:
        """Go on after a lag. A wait that ends in a pause ends with the pause."""
        if incarnation != self.incarnation:
            return
        if self.standstill and self.standstill.delays(self._waited, incarnation, work):
            return
        self._begin_iteration(work)

    def _begin_iteration(self, work: Work) -> None:
        """Draw the faults of the iteration, and compute unless the device is down by now."""
        if not self.surroundings.draw_fault(self):
            if self.played is not None:
                self.played.begin_iteration()
            self._compute(work)

    def _compute(self, work: Work) -> None:
        self._work(self._pass(work, self.surroundings.clock.now))

    def _pass(self, work: Work, now: float) -> Pass:
        """Return the plan of `work` from the time `now` on.

        An iteration has one draw of the time of a step, which all its passes share.
        """
        match work:
            case Compute(reply):
                reply.handle.begin()
                seconds = self._slowed(self._step_time(reply.handle.steps))
                return WholePass(now, now, seconds, self._finish(now, seconds), reply.handle)
            case Activate(reply):
                self._apart.begin(reply.handle, self._slowed(self._step_time()))
                return self._apart.forward((1, 1), now, self._finish)
            case Forward(piece):
                if piece.segment[0] == 1:
                    self._apart.begin(piece.handle, self._slowed(self._step_time()))
                return self._apart.forward(piece.segment, now, self._finish)
            case Backward(segment):
                return self._apart.backward(segment, now, self._finish)
            case ActivationsBack(answer):
                return self._apart.backward_from(answer, now, self._finish)

    def _slowed(self, step: float) -> float:
        """Return the `step` of an iteration that begins now as faults slow it."""
        if self.played is None:
            return step
        return step * self.played.slowdown(self.surroundings.clock.now)

    def _computed(self, began: float, ended: float) -> None:
        if self.played is not None and self.played.heats:
            still = self.standstill.lost(began) if self.standstill else 0.0
            self.played.computed(began, ended, still)

    @property
    def _apart(self) -> Passes:
        if self.passes is None:
            raise RuntimeError(f"{self.name} computes whole models only")
        return self.passes
