"""A device's processor in virtual time: computations under a CPU quota, pauses, and receiving."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from .... import chance
from ....core.wire.messages import Request
from ....learning.learners.base import Evaluation
from ....scenario.sections.virtual_section import BatchTime
from ....shaping.backend import Backend
from ....shaping.tc import SUPERPACKET, burst, framed, segments
from ....vectors import Vector
from ....world.cpu_quota import Quota, throttled
from ....world.laws import Fixed, Law
from ....world.links.link import ETHERNET, FRAME, Side
from ..clock import Alarms, Heap
from .device_battery import DeviceBattery
from .passes import Boot, Pass, WorkPiece, planned

Call: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]


class Standstill:
    """Keeps the calls to a paused device, and the times of the pauses.

    During a pause, messages and finished work wait.
    """

    __slots__ = ("_clock", "_since", "_spans", "_waiting")

    def __init__(self, clock: Heap) -> None:
        self._clock = clock
        self._since: float | None = None  # when the present pause began; None: the device runs
        self._spans: list[tuple[float, float]] = []  # begin and end of each past pause
        self._waiting: list[Call] = []

    @property
    def paused(self) -> bool:
        """Whether the device is paused now."""
        return self._since is not None

    def begin(self) -> None:
        """Begin a pause."""
        self._since = self._clock.now

    def end(self) -> list[Call]:
        """End the pause; return the kept calls, in the order of their arrival."""
        if self._since is not None:
            self._spans.append((self._since, self._clock.now))
            self._since = None
        waiting, self._waiting = self._waiting, []
        return waiting

    def forget(self) -> None:
        """Drop the kept calls, as after the death of the device."""
        self._waiting.clear()

    def delays(self, call: Callable[..., None], *arguments: Any) -> bool:
        """Keep `call` until the pause ends, and return True; return False if there is no pause."""
        if self._since is None:
            return False
        self._waiting.append((call, arguments))
        return True

    def delays_work(
        self, began: float, end: float, call: Callable[..., None], *arguments: Any
    ) -> bool:
        """Return whether pauses delay work, planned from `began` to `end`.

        Call this at `end` or later. If delayed, `call` is called again once the device has worked
        for as long as it stood still.
        """
        if self.delays(call, *arguments):
            return True
        due = end + self._lost(began)
        if due <= self._clock.now:
            return False
        self._clock.at(due, call, *arguments)
        return True

    def lost(self, began: float) -> float:
        """Return the seconds of standstill since `began`, with those of a pause that lasts."""
        present = 0.0 if self._since is None else self._clock.now - max(self._since, began)
        return self._lost(began) + present

    def _lost(self, began: float) -> float:
        """Return the seconds of past pauses since `began`."""
        lost = 0.0
        for begin, end in reversed(self._spans):
            if end <= began:
                break
            lost += end - max(begin, began)
        return lost


NodeT = TypeVar("NodeT")


@dataclass(frozen=True, slots=True)
class Surroundings(Generic[NodeT]):
    """The parts of a run used by nodes."""

    clock: Heap
    alarms: Alarms
    seed: int
    step: Law
    """Seconds of a whole core for one mini-batch."""
    request: Callable[[NodeT, Request], int]
    """Send a message to the server, over the node's own links; return its size in bytes."""
    out_of_reach: Callable[[NodeT], bool]
    """Return whether the node's connection has been given up."""
    draw_fault: Callable[[NodeT], bool]
    """Draw whether a fault strikes in this iteration; return whether the node is down now."""
    evaluate: Callable[[Vector], Evaluation]
    """Return the result of a model on the test set."""


class Processor(ABC):
    """The computing part of a device.

    It is a base class: as an object, it would cost each of a million devices 40 bytes more.
    """

    __slots__ = (
        *("_dice", "battery", "cores", "incarnation", "name", "quota", "standstill", "step"),
        *("surroundings", "working"),
    )

    def __init__(self, surroundings: Surroundings[Any], name: str) -> None:
        self.surroundings, self.name = surroundings, name
        self.step: BatchTime | None = None  # None: a draw of the surroundings' step
        self.battery: DeviceBattery | None = None  # None: the node is on the mains
        self.incarnation = 0  # the number of crashes
        self.cores: float | None = None  # the node's own CPU quota; None: it has none
        self.quota: Quota | None = None  # in force; None: the node has a whole core
        self.working: Pass | None = None  # the computation under way
        self.standstill: Standstill | None = None  # None: the node was never paused
        self._dice: chance.CompactRandom | None = None

    @abstractmethod
    def _live(self, result: Any) -> None:
        """Go on with the `result` of a computation."""

    @abstractmethod
    def _computed(self, began: float, ended: float) -> None:
        """Take note of a pass that is over now, from its beginning on, pauses included."""

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
            self._dice = chance.CompactRandom(chance.work(self.surroundings.seed, self.name))
        if times == 1:
            return law.draw(self._dice)
        return sum([law.draw(self._dice) for _ in range(times)])

    def _step_time(self, batches: int = 1) -> float:
        """Return seconds of a whole core, drawn for `batches` of the device's mini-batches."""
        if self.step is None:
            return self._drawn(self.surroundings.step, batches)
        return self._drawn(self.step.law, batches) * self.step.share

    def _finish(self, began: float, work: float) -> float:
        """Return the end of `work`, in seconds of a whole core, from the time `began` on."""
        return began + work if self.quota is None else self.quota.finish(began, work)

    # -- computations ----------------------------------------------------------------------------

    def _work(self, work: Pass) -> None:
        self.working = work
        if self.battery is not None:
            now = self.surroundings.clock.now
            self.battery.works(sum(each.work for each in work.pieces if each.end > now), work.end)
        self.surroundings.clock.at(work.end, Processor._worked, self, self.incarnation, work)

    def _worked(self, incarnation: int, work: Pass) -> None:
        if incarnation != self.incarnation or work is not self.working:
            return  # the device has died, or has planned the work anew
        delayed = work.began, work.end, self._worked, incarnation, work
        if self.standstill and self.standstill.delays_work(*delayed):
            return
        self.working = None
        now = self.surroundings.clock.now
        result = work.over(now)
        if not isinstance(work, Boot):  # at the end of which the worker has begun
            self._computed(work.since, now)
            self._live(result)


WAKE = 33e-6
"""Seconds of a core for each packet that comes in, plus `EACH` for each frame in the packet.

Fitted to the CPU time that the cgroups of containers counted (docs/calibration.md). On a link that
nothing shapes, the calibrated step includes this work."""

EACH = 2.5e-6


class Reception(NamedTuple):
    """The cost of a byte of a message, on an idle link."""

    work: float
    """Seconds of a whole core."""
    over: float
    """Seconds during which the byte comes in, over which `work` is spread."""


def packet_size(sender: Side, receivers: Iterable[Side]) -> int:
    """Return the size in bytes of packets from `sender` to `receivers`."""
    return min(SUPERPACKET, ETHERNET * segments(sender, receivers, Backend(rate="tbf")))


def reception(side: Side, packet: int) -> Reception | None:
    """Return the cost of receiving packets of `packet` bytes on `side`; None without a rate.

    A link delivers a few frames at a time, and a process wakes up for each handful of them. The
    work comes out of a CPU quota, so the step that follows may find little of its budget left.
    """
    if side.rate is None:
        return None
    # tbf cuts a packet longer than its burst, and on a side that is lossy or has an overhead every
    # packet, into single frames: then each frame wakes the process
    whole = packet <= burst(side.rate) and not framed(side)
    frames = FRAME / ETHERNET  # for each byte of a message
    work = frames * (EACH + WAKE * (ETHERNET / packet if whole else 1))
    return Reception(work, 8 * FRAME / side.net_rate)
