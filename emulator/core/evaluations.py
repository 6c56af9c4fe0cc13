"""The versions of the model that are to be measured, each kept until the evaluator comes to it.

Training does not wait for the evaluator, and a measurement may take longer than `every` updates
do. So each version that is due is kept as a snapshot, and booked at the moment and at the bytes
of its own, not at those of the moment at which its score comes in.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..vectors import Vector

HELD = 64 << 20
"""Bytes of snapshots that may wait for the evaluator. One may wait, however large it is."""


@dataclass(frozen=True, eq=False, slots=True)
class Snapshot:
    """The model at one version, as it was when it became due."""

    version: int
    theta: Vector
    at: float
    """A reading of the driver's clock: the model was at `version` then."""
    push_bytes: int
    """Bytes that had been pushed by then."""


class Evaluations:
    """The snapshots that wait, the oldest first, and the versions that found no room."""

    def __init__(self, every: int, size: int) -> None:
        """A version is due at each multiple of `every` updates; a snapshot takes `size` bytes."""
        self._every, self._most = every, max(1, HELD // size)
        self._due = 0
        self._waiting: list[Snapshot] = []
        self._scored: int | None = None
        self._final: int | None = None
        self._left_out: list[int] = []

    @property
    def waiting(self) -> bool:
        """Whether a snapshot still has to be measured."""
        return bool(self._waiting)

    @property
    def unmeasured(self) -> list[int]:
        """The versions that were due and have no score, the oldest first."""
        return sorted({*self._left_out, *(one.version for one in self._waiting)})

    def reach(self, version: int, take: Callable[[], Snapshot]) -> None:
        """Keep the snapshot that `take` makes if `version` is due; leave it out if room is short.

        The newest is left out, not the oldest: so those that are measured are evenly apart.
        """
        if version < self._due:
            return
        # a step may raise the version by several, and then passes over a multiple
        self._due = (version // self._every + 1) * self._every
        if len(self._waiting) < self._most:
            self._waiting.append(take())
        else:
            self._left_out.append(version)

    def finish(self, version: int, take: Callable[[], Snapshot]) -> None:
        """Keep the run's last model, due or not; from now on it comes before all that wait."""
        self._final = version
        if version == self._scored or (self._waiting and self._waiting[-1].version == version):
            return
        self._waiting.append(take())
        self._left_out = [one for one in self._left_out if one != version]

    def next(self, after: int) -> Snapshot | None:
        """Return the oldest snapshot of version `after` or later; None if there is none.

        Once the run has its last model, return that one first, then the oldest of any version.
        """
        if self._final is None:
            return next((one for one in self._waiting if one.version >= after), None)
        if self._waiting and self._waiting[-1].version == self._final:
            return self._waiting[-1]
        return self._waiting[0] if self._waiting else None

    def score(self, version: int) -> None:
        """Let go of the snapshot of `version`, which has been measured."""
        self._scored = version
        self._waiting = [one for one in self._waiting if one.version != version]
