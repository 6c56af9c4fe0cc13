"""A device in virtual time: its story, told on the heap.

Whatever a wish takes is planned as an event, at which the story goes on. A node that waits for a
message holds nothing but its story.
"""

import math
from random import Random
from typing import Any, Protocol

from .... import chance
from ....core.messages import Message, ModelReply, Request
from ....core.worker import Await, Begun, Compute, Computed, Evaluate, Story, Tell
from ....faults import Hazard
from ....world.laws import Fixed, Law
from ..clock.alarms import Alarms
from ..clock.heap import Heap
from ..learning.prefetching import Pupil
from ..links.network import Ways
from .cpu_quota import Quota
from .receive_cost import Reception


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

    def evaluate(self, theta: Any) -> tuple[float, float]: ...


class VirtualDevice:
    """One device, or the evaluator. A crash ends its story, a boot begins another."""

    __slots__ = (
        *("_dice", "_world", "hazard", "hazards", "held", "inbox", "incarnation", "listed", "name"),
        *("number", "patience", "pupil", "quota", "reception", "story", "until", "ways"),
    )

    def __init__(self, world: Surroundings, name: str, ways: Ways | None, number: int) -> None:
        """`number` is the device's own on its group's ways; who has none is beside the server."""
        self._world = world
        self.name, self.ways, self.number = name, ways, number
        self.patience = math.inf
        self.hazards: tuple[dict[str, Any], ...] = ()
        self.incarnation = 0
        self.story: Story[None] | None = None
        self.pupil: Pupil | None = None
        self.quota: Quota | None = None
        self.reception: Reception | None = None
        self.hazard: Hazard | None = None
        self.inbox: list[Message] | None = None
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

    def begin(self, story: Story[None]) -> None:
        self.story = story
        self._live(None)

    def die(self) -> None:
        """Nothing of it is left; what still comes for this incarnation comes to nobody."""
        self.incarnation += 1
        if self.story is not None:
            self.story.close()
        if self.quota is not None:
            self.quota.restart()
        self.story = self.pupil = self.inbox = self.until = self.held = None

    def hear(self, incarnation: int, message: Message, size: int = 0) -> None:
        """A message of so many bytes has arrived, on a connection of that incarnation."""
        if incarnation != self.incarnation or self.story is None:
            return
        if isinstance(message, ModelReply):
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
        story, world = self.story, self._world
        if story is None:
            return
        try:
            while True:
                wish = story.send(outcome)
                outcome = None
                match wish:
                    case Tell(message):
                        world.carry(self, message)  # type: ignore[arg-type]
                    case Await(patience):
                        if not self.inbox:
                            self._wait(patience)
                            return
                        outcome = self.inbox.pop(0)
                    case Compute(theta):
                        if not world.strike(self):
                            self._compute(theta)
                        return
                    case Evaluate(theta):
                        outcome = world.evaluate(theta)
                    case Begun():
                        pass
        except StopIteration:
            self.story = None

    def _wait(self, patience: float) -> None:
        world = self._world
        if patience < math.inf:
            world.alarms.set(self, world.heap.now + patience)
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

    def _compute(self, foreseen: Any) -> None:
        foreseen.begin()
        heap, end = self._world.heap, self.done(self._world.step, foreseen.steps)
        heap.at(end, self._computed, self.incarnation, foreseen, end - heap.now)

    def _computed(self, incarnation: int, foreseen: Any, seconds: float) -> None:
        if incarnation == self.incarnation:
            self._live(Computed(foreseen, foreseen.loss(), seconds))
