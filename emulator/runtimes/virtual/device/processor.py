"""A device's processor in virtual time: computations under a CPU quota, which pauses delay."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from random import Random
from typing import Any

from .... import chance
from ....scenario.sections.virtual_section import BatchTime
from ....world.cpu_quota import Quota, throttled
from ....world.laws import Fixed, Law
from .device_battery import DeviceBattery
from .passes import Boot, Pass, WorkPiece, planned
from .standstill import Standstill
from .surroundings import Surroundings


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
        self._dice: Random | None = None

    @abstractmethod
    def _live(self, result: Any) -> None:
        """Go on with the `result` of a computation."""

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

    # -- computations ----------------------------------------------------------------------------

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
