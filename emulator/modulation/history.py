"""Which parameters the latest updates touched, and how often since any of them.

A tally says how often each parameter was touched so far. Updates are logged, as the indices they
held, in segments, and a segment opens with a copy of the tally: a question is answered by the
difference of two tallies and what the segment logged before the version asked about, or after it,
whichever is less. An update of more than a quarter of the parameters has a segment to itself: the
tallies on its either side tell it, and its indices need not be kept.

Recording costs O(entries), and a pass over the parameters for each 1/32 as many entries; asking
O(entries asked for + entries logged since), at most half a segment of them. Where memory runs
out neighbouring segments become one, so that more is counted and less is kept.

A segment in which no needed version lies is dropped, so a device that died costs one segment for
as long as the history reaches back. Where the segment behind it is gone, a question counts what
was logged before the version, however much that is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..vectors import Indices

MEMORY = 512 << 20
"""Bytes that a history takes at most; beyond them it forgets the oldest segments."""

_TALLY = np.dtype(np.uint16)
_LEAST = 1 << 12
"""Entries that a segment holds at least, however small the model."""
_UPDATES = 1 << 10
"""Updates that a segment holds at most, however small they are."""
_REACH = (1 << 16) - 1 - _UPDATES
"""Updates that the closed segments reach back at most. Tallies are 16 bits wide, and wrap: with the
`_UPDATES` of the open segment a history answers for 65,535 updates at most."""
_SPARE = 8
"""Segments beyond a quarter more than are needed that a history keeps before it drops any."""
_NOTHING: Indices = np.empty(0, np.uint32)


def bound(size: int, versions: int) -> int:
    """Return the bytes that a history of `size` parameters takes at most.

    `versions`: how many different versions are asked about at any moment.
    """
    each = size * _TALLY.itemsize + 4 * max(size // 4, _LEAST)
    constant = size * (_TALLY.itemsize + 4)  # the newest tally, and the slots of a question
    return min(MEMORY, (_crowd(versions) + 1) * each) + constant


def _crowd(needed: int) -> int:
    """Return how many segments may pile up where `needed` are: few, yet looked for seldom."""
    return needed + needed // 4 + _SPARE


@dataclass
class _Segment:
    """`marks[i]` is what stood when version `first + i` was the newest.

    That is, the entries of the log, and the number of updates that touched every parameter.
    """

    first: int
    tally: NDArray[np.uint16]
    log: Indices
    marks: list[tuple[int, int]]

    @property
    def now(self) -> int:
        """The newest version it knows."""
        return self.first + len(self.marks) - 1

    @property
    def nbytes(self) -> int:
        return self.tally.nbytes + self.log.nbytes

    @property
    def entries(self) -> Indices:
        """The part of the log that has been written, as indices of parameters."""
        return self.log[: self.marks[-1][0]]

    def add(self, touched: Indices, everything: int) -> None:
        start, dense = self.marks[-1]
        self.log[start : start + touched.size] = touched
        self.marks.append((start + touched.size, dense + everything))

    def has_room(self, entries: int) -> bool:
        return len(self.marks) <= _UPDATES and self.marks[-1][0] + entries <= self.log.size

    def joined(self, after: "_Segment") -> "_Segment":
        """This one and the one behind it as one; both must have logged what they hold."""
        start, dense = self.marks[-1]
        marks = [(start + more, everything) for more, everything in after.marks]
        assert marks[0] == (start, dense)
        log = np.concatenate([self.entries, after.entries])
        return _Segment(self.first, self.tally, log, [*self.marks[:-1], *marks])


def _select(tally: NDArray[np.uint16], asked: NDArray[np.intp] | None) -> NDArray[np.uint16]:
    return tally if asked is None else tally.take(asked)


class History:
    """Knows, for each version from `oldest` on, what the updates since then touched."""

    def __init__(self, size: int, version: int = 0) -> None:
        self._size = size
        self._segment = max(size // 32, _LEAST)
        self._most = max(size // 4, _LEAST)  # entries that are logged for one update
        self._slots = np.zeros(size, np.uint32)  # all zero between two questions
        self._tally = np.zeros(size, _TALLY)
        self._segments = [self._open(version, 0)]
        self._crowd = _crowd(1)  # segments beyond which some are looked for that nobody needs

    @property
    def oldest(self) -> int:
        return self._segments[0].first

    def record(self, indices: Indices | None) -> None:
        """The next version came of an update that held these indices; None: all of them."""
        if indices is None or indices.size == self._size:
            self._room_for(0).add(_NOTHING, 1)
        elif indices.size <= self._most:
            self._room_for(indices.size).add(indices, 0)
            self._note(indices)
        else:
            self._record_alone(indices)

    def since(self, version: int, indices: Indices | None) -> NDArray[np.integer] | int:
        """How many updates since `version` touched each of the parameters; None: of all.

        One number where it is the same for all of them. ValueError for a version not known.
        """
        last = self._segments[-1]
        if not self.oldest <= version <= last.now:
            raise ValueError(f"version {version} is not in {self.oldest} … {last.now}")
        at = bisect_right(self._segments, version, key=lambda segment: segment.first) - 1
        then = self._segments[at]
        if version > then.now:
            raise ValueError(f"version {version} was forgotten: nobody was to ask about it")
        start, dense = then.marks[version - then.first]
        everything = last.marks[-1][1] - dense
        before, after = then.entries[:start], then.entries[start:]
        asked = None if indices is None else indices.astype(np.intp)
        if then is last and after.size <= before.size:
            return everything + self._count(after, asked) if after.size else everything
        following = None if then is last else self._segments[at + 1]
        if following is None or following.first != then.now or before.size <= after.size:
            # of what is too large for the log, nothing is on either side
            touched = _select(self._tally, asked) - _select(then.tally, asked)
            return everything + touched - self._count(before, asked)
        touched = _select(self._tally, asked) - _select(following.tally, asked)
        return everything + touched + self._count(after, asked)

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        """Nobody will ask about a version before this one.

        `needed`, if not empty: the versions that somebody will ask about, in order; and the newest.
        """
        kept = bisect_right(self._segments, version, key=lambda segment: segment.first) - 1
        del self._segments[: max(0, kept)]
        if len(self._segments) > self._crowd:
            self._keep(list(needed))

    def _keep(self, needed: list[int]) -> None:
        """Drop the closed segments in which no needed version lies."""

        def holds(segment: _Segment) -> bool:
            at = bisect_left(needed, segment.first)
            return at < len(needed) and needed[at] < segment.now

        if needed:
            *closed, newest = self._segments
            self._segments = [*filter(holds, closed), newest]
        self._crowd = _crowd(len(self._segments))

    def _count(self, window: Indices, asked: NDArray[np.intp] | None) -> NDArray[np.intp] | int:
        """How often each of those asked for occurs in the window."""
        if not window.size:
            return 0
        if asked is None:
            return np.bincount(window, minlength=self._size)
        self._slots[asked] = np.arange(1, asked.size + 1)
        counts = np.bincount(self._slots.take(window), minlength=asked.size + 1)[1:]
        self._slots[asked] = 0
        return counts

    def _note(self, indices: Indices) -> None:
        where = indices.astype(np.intp)
        # within one update no index occurs twice, so all of them count
        self._tally[where] = self._tally.take(where) + np.uint16(1)

    def _room_for(self, entries: int) -> _Segment:
        if not self._segments[-1].has_room(entries):
            last = self._segments[-1]
            if len(last.marks) > 1:
                self._turn()
                last = self._segments[-1]
            if not last.has_room(entries):
                last.log = np.empty(entries, np.uint32)
        return self._segments[-1]

    def _record_alone(self, indices: Indices) -> None:
        if len(self._segments[-1].marks) > 1:
            self._turn()
        alone = self._segments[-1]
        alone.log = _NOTHING
        alone.add(_NOTHING, 0)
        self._note(indices)
        self._turn()

    def _turn(self) -> None:
        last = self._segments[-1]
        self._segments.append(self._open(last.now, last.marks[-1][1]))
        self._bound()

    def _open(self, first: int, dense: int) -> _Segment:
        log = np.empty(self._segment, np.uint32)
        return _Segment(first, self._tally.copy(), log, [(0, dense)])

    def _bound(self) -> None:
        """Join old segments until all fit, then forget the oldest."""
        if self._excess() > 0:
            self._join()
            while len(self._segments) > 1 and self._excess() > 0:
                del self._segments[0]
        while self._reach() > _REACH:
            del self._segments[0]

    def _excess(self) -> int:
        return sum(segment.nbytes for segment in self._segments) - MEMORY

    def _reach(self) -> int:
        return self._segments[-1].first - self._segments[0].first

    def _join(self) -> None:
        """Make one of each two neighbours where that saves memory; the newest stays open."""
        *closed, newest = self._segments
        kept: list[_Segment] = []
        for segment in closed:
            if kept and self._may_join(kept[-1], segment):
                kept[-1] = kept[-1].joined(segment)
            else:
                kept.append(segment)
        self._segments = [*kept, newest]

    def _may_join(self, before: _Segment, after: _Segment) -> bool:
        """Each only with one: segments double in length, and then no further than `_most`."""
        if before.now != after.first:
            return False
        entries = before.marks[-1][0] + after.marks[-1][0]
        logged = before.log.size and after.log.size
        return bool(logged) and entries <= min(self._most, 2 * after.log.size)
