"""Snapshots of the model, queued for the evaluator.

Training does not wait for the evaluator, and a measurement may take longer than `every` updates.
Each version that is due is therefore kept as a snapshot. Its score is recorded with the time and
the pushed bytes of the version, not of the moment at which the score arrives.
"""

from collections.abc import Callable

import msgspec

from ...plugins.stateful import Held, Stateful
from ...vectors import Vector

HELD = 64 << 20
"""Bytes of snapshots that may wait for the evaluator. One may wait, however large it is."""


class Snapshot(Held, msgspec.Struct, frozen=True, eq=False):
    """The model at a version that is due to be measured."""

    version: int
    theta: Vector
    at: float
    """A reading of the driver's clock: the model was at `version` then."""
    push_bytes: int
    """Bytes that had been pushed by then."""


class Evaluations(Stateful):
    """A queue of snapshots, the oldest first, and the versions that were left out of it."""

    STATE = ("_due", "_waiting", "_scored", "_final", "_left_out")

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
    def scored(self) -> int | None:
        """The version of the last score; None before one."""
        return self._scored

    @property
    def unmeasured(self) -> list[int]:
        """The versions that were due and have no score, the oldest first."""
        return sorted({*self._left_out, *(snapshot.version for snapshot in self._waiting)})

    def reach(self, version: int, take: Callable[[], Snapshot]) -> None:
        """Keep the snapshot that `take` makes if `version` is due; leave it out if room is short.

        Leaving out the newest snapshot keeps the measured versions evenly apart.
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
        """Keep the run's last model, due or not, and give the last model precedence in `next`."""
        self._final = version
        if version == self._scored or (self._waiting and self._waiting[-1].version == version):
            return
        self._waiting.append(take())
        self._left_out = [left_out for left_out in self._left_out if left_out != version]

    def next(self, after: int) -> Snapshot | None:
        """Return the oldest snapshot with a version of at least `after`, or None.

        If `after` does not follow the last score, return the oldest snapshot of any version: the
        evaluator has measured a version that a crash of the server lost. After `finish`, return the
        last model first, then the oldest snapshot of any version.
        """
        if self._final is None:
            follows = after == (0 if self._scored is None else self._scored + 1)
            least = after if follows else 0
            return next((snapshot for snapshot in self._waiting if snapshot.version >= least), None)
        if self._waiting and self._waiting[-1].version == self._final:
            return self._waiting[-1]
        return self._waiting[0] if self._waiting else None

    def score(self, version: int) -> None:
        """Drop the snapshot of `version`, which has been measured."""
        self._scored = version
        self._waiting = [snapshot for snapshot in self._waiting if snapshot.version != version]
