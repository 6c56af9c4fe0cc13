"""A node in virtual time: a coroutine, run on the event heap.

A command that takes time is planned as an event, at which the coroutine goes on. A node that waits
for a message holds little more than its coroutine: a fleet may have a million such nodes.
"""

import math
from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias, TypeVar

from .... import chance
from ....core.cut_commands import Activate, ActivationsBack, LossAt
from ....core.fault_draws import FaultDraws
from ....core.kept_state import Keeper
from ....core.messages import Leave, ModelReply, Reply, Request
from ....core.worker import (
    Await,
    Backward,
    Begun,
    Compute,
    Evaluate,
    Forward,
    NodeCoroutine,
    Tell,
)
from ....layout import Segment
from ....scenario.dealt_steps import BatchTime
from ....world.cpu_quota import Quota, throttled
from ....world.laws import Fixed, Law
from ....world.verbs import Setting
from ..learning.gradient_handle import (
    CutHandle,
    GradientHandle,
    PrefetchedReply,
    PrefetchedSegment,
    VirtualLearner,
)
from ..links.network import GroupLinks
from .cut_passes import CutPasses
from .device_battery import DeviceBattery
from .layered_work import LayeredWork
from .passes import Boot, Pass, WholePass, WorkPiece, planned
from .receive_cost import Reception
from .self_played import SelfPlayed
from .standstill import Standstill
from .surroundings import Surroundings

Coroutine: TypeAlias = NodeCoroutine[PrefetchedReply] | NodeCoroutine[PrefetchedSegment]
T = TypeVar("T")

Incoming: TypeAlias = Reply | PrefetchedReply | PrefetchedSegment
"""A worker is sent PrefetchedReplies and PrefetchedSegments in place of models and their segments;
the evaluator is sent models."""


class VirtualDevice:
    """A device, or the evaluator. A crash ends the coroutine, a boot begins another."""

    __slots__ = (
        *("_dice", "battery", "coroutine", "cores", "cut", "fault_draws", "hazards", "held"),
        *("inbox", "incarnation", "keeper", "layered", "learner", "links", "listed", "name"),
        *("number", "played", "quota", "reception", "standstill", "step", "surroundings"),
        *("timeout", "until", "working"),
    )

    def __init__(
        self, surroundings: "Surroundings[VirtualDevice]", name: str, links: GroupLinks, number: int
    ) -> None:
        """`links` belong to the node's group, `number` is the node's index in the group."""
        self.surroundings = surroundings
        self.name, self.links, self.number = name, links, number
        self.timeout = math.inf  # seconds that the server has to answer
        self.step: BatchTime | None = None  # None: a draw of the surroundings' step
        self.hazards: tuple[dict[str, Any], ...] = ()
        self.keeper: Keeper | None = None  # None: no fault lets the node keep its state
        self.battery: DeviceBattery | None = None  # None: the node is on the mains
        self.incarnation = 0  # the number of crashes
        self.coroutine: Coroutine | None = None  # None while the node is down or boots
        # of a worker that computes whole models, or layer by layer; the evaluator has neither
        self.learner: VirtualLearner | None = None
        self.layered: LayeredWork | None = None
        self.cut: CutPasses | None = None  # of a worker that holds the layers before a cut
        self.cores: float | None = None  # the node's own CPU quota; None: it has none
        self.quota: Quota | None = None  # in force; None: the node has a whole core
        self.working: Pass | None = None  # the computation under way
        self.reception: Reception | None = None
        self.fault_draws: FaultDraws | None = None
        self.played: SelfPlayed | None = None  # None: no fault ever was the device's to play
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

    @property
    def works(self) -> bool:
        """Whether a worker runs on the node; the evaluator is none."""
        return not (self.learner is None and self.layered is None and self.cut is None)

    @property
    def lie(self) -> Setting | None:
        """Setting of the lie in the iteration that goes on; None: its gradient is true."""
        return self.played.lie if self.played is not None else None

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
        self.coroutine = self.learner = self.layered = self.cut = None
        if self.played is not None:
            self.played.die()
        self.working = self.inbox = self.until = self.held = None

    def change(self, verb: str, setting: Setting | None) -> None:
        """Put the `setting` of `verb` into force, in this and later incarnations; None ends it."""
        if self.played is None:
            self.played = SelfPlayed()
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
        if isinstance(message, PrefetchedReply | PrefetchedSegment | ModelReply):
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
        held = True
        if self.layered is not None and isinstance(model, PrefetchedSegment):
            held = self.layered.arrived(model, size, now)  # from the last piece on
        if held:
            self.held = model.version

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

    def boot(self, law: Law, then: Callable[[], None]) -> None:
        """Begin to boot; `law` gives the seconds of a whole core. Call `then` at the end."""
        now, work = self.surroundings.clock.now, self._drawn(law)
        if self.battery is not None:
            self.battery.on()
        self._work(Boot(now, work, self._finish(now, work), then))

    def throttle(self, factor: float | None) -> None:
        """Multiply the node's own CPU quota by `factor`, from now on; None: have it back.

        Work under way goes on with the new quota.
        """
        now, work = self.surroundings.clock.now, self.working
        pieces = () if work is None else work.pieces
        # the work has reached this time, counted without pauses
        own = now - self.standstill.lost(work.began) if work and self.standstill else now
        done = [piece for piece in pieces if piece.end <= own]
        left = [piece.work for piece in pieces[len(done) :]]
        if left:
            left[0] = self._remaining(pieces[len(done)], own)
        self._set_quota(now, self.cores if factor is None else throttled(self.cores, factor))
        if work is not None and left:
            self._work(work.replanned([*done, *planned(now, left, self._finish)], now))

    def _remaining(self, piece: WorkPiece, own: float) -> float:
        if self.quota is None:
            return min(piece.work, piece.end - own)
        return self.quota.remaining(*piece, own)

    def _set_quota(self, now: float, share: float | None) -> None:
        """Have `share` of a core from `now` on; None, or a whole core, is no quota."""
        if share is None or share >= 1:
            self.quota = None
        elif self.quota is None:
            self.quota = Quota(share)
        else:
            self.quota.change(now, share)

    def _drawn(self, law: Law, times: int = 1) -> float:
        """Return seconds of a whole core, drawn from `law` for `times` pieces of work."""
        if isinstance(law, Fixed):
            return float(law.fixed) * times
        if self._dice is None:
            self._dice = Random(chance.work(self.surroundings.seed, self.name))
        return sum([law.draw(self._dice) for _ in range(times)])

    def _step_time(self, batches: int = 1) -> float:
        """Return seconds of a whole core, drawn for `batches` of the device's mini-batches."""
        if self.step is None:
            return self._drawn(self.surroundings.step, batches)
        return self._drawn(self.step.law, batches) * self.step.share

    def _finish(self, began: float, work: float) -> float:
        """Return the end of `work`, in seconds of a whole core, from the time `began` on."""
        return began + work if self.quota is None else self.quota.finish(began, work)

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
                        if self.layered is not None:
                            self.layered.sent(message, size, surroundings.clock.now)
                    case Await(timeout):
                        if not self.inbox:
                            self._wait(timeout)
                            return
                        result = self.inbox.pop(0)
                    case Compute(reply):
                        self._begin_iteration(self._compute, reply.handle)
                        return
                    case Forward(piece):
                        if piece.segment[0] > 1:
                            self._forward(piece)
                        else:  # the piece with layer 1 begins an iteration
                            self._begin_iteration(self._forward, piece)
                        return
                    case Backward(segment):
                        self._backward(segment)
                        return
                    case Activate(reply):
                        self._begin_iteration(self._activate, reply.handle)
                        return
                    case LossAt(answer):
                        result = self._before_cut.loss(answer)
                    case ActivationsBack(answer):
                        now = surroundings.clock.now
                        self._work(self._before_cut.backward(answer, now, self._finish))
                        return
                    case Evaluate(theta):
                        result = surroundings.evaluate(theta)
                    case Begun(zero):
                        if self.layered is not None:
                            self.layered.scheduler.started(zero)
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

    # -- the beginning of an iteration -----------------------------------------------------------

    def _begin_iteration(self, compute: Callable[[T], None], argument: T) -> None:
        """Begin an iteration with `compute(argument)`, after the wait of a lag if it has one."""
        who = self.surroundings.seed, self.name, self.incarnation
        wait = self.played.wait(*who) if self.played else 0.0
        if wait:
            until = self.surroundings.clock.now + wait
            self.surroundings.clock.at(until, self._waited, self.incarnation, compute, argument)
        else:
            self._begin_computing(compute, argument)

    def _waited(self, incarnation: int, compute: Callable[[T], None], argument: T) -> None:
        """Go on after a lag. A wait that ends in a pause ends with the pause."""
        if incarnation != self.incarnation:
            return
        if self.standstill and self.standstill.delays(self._waited, incarnation, compute, argument):
            return
        self._begin_computing(compute, argument)

    def _begin_computing(self, compute: Callable[[T], None], argument: T) -> None:
        """Draw the faults of the iteration, and compute unless the device is down by now."""
        if not self.surroundings.draw_fault(self):
            if self.played is not None:
                self.played.begin_iteration()
            compute(argument)

    # -- computations ----------------------------------------------------------------------------

    def _compute(self, handle: GradientHandle) -> None:
        handle.begin()
        now, work = self.surroundings.clock.now, self._step_time(handle.steps)
        self._work(WholePass(now, now, work, self._finish(now, work), handle))

    def _forward(self, piece: PrefetchedSegment) -> None:
        layered, now = self._layer_by_layer, self.surroundings.clock.now
        if piece.segment[0] == 1:
            # one draw for each iteration, as for a whole model: its layers share it
            layered.begin(piece.handle, self._step_time())
        self._work(layered.forward(piece.segment, now, self._finish))

    def _backward(self, segment: Segment) -> None:
        now = self.surroundings.clock.now
        self._work(self._layer_by_layer.backward(segment, now, self._finish))

    def _activate(self, handle: CutHandle) -> None:
        step, now = self._step_time(), self.surroundings.clock.now
        self._work(self._before_cut.forward(handle, step, now, self._finish))

    @property
    def _before_cut(self) -> CutPasses:
        if self.cut is None:
            raise RuntimeError(f"{self.name} holds no part of a cut model")
        return self.cut

    @property
    def _layer_by_layer(self) -> LayeredWork:
        if self.layered is None:
            raise RuntimeError(f"{self.name} computes whole models only")
        return self.layered

    def _work(self, work: Pass) -> None:
        self.working = work
        if self.battery is not None:
            now = self.surroundings.clock.now
            self.battery.works(sum(each.work for each in work.pieces if each.end > now), work.end)
        self.surroundings.clock.at(work.end, self._worked, self.incarnation, work)

    def _worked(self, incarnation: int, work: Pass) -> None:
        if incarnation != self.incarnation or work is not self.working:
            return  # the device has died, or has planned the work anew
        delayed = work.began, work.end, self._worked, incarnation, work
        if self.standstill and self.standstill.delays_work(*delayed):
            return
        self.working = None
        result = work.over(self.surroundings.clock.now)
        if not isinstance(work, Boot):  # at the end of which the worker has begun
            self._live(result)
