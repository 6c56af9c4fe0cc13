"""History of updates: how often each parameter was touched since a given version.

A tally counts how often each parameter was touched so far. Updates are logged in segments, as the
indices that they held, and a segment opens with a copy of the tally. A question about a version is
answered by the difference of two tallies, corrected by the segment's log before the version or
after it, whichever is shorter. An update of more than a quarter of the parameters has a segment of
its own: the tallies on either side tell its indices, which are not kept.

Recording costs O(entries), plus a pass over the parameters for every size / 32 entries (the new
tally). A question costs O(entries asked for + entries counted), at most half a segment's log. Where
memory runs out, neighbouring segments are joined: less is kept, more is counted.

A closed segment without a needed version is dropped, so a dead device costs one segment for as long
as the history reaches back. Where the next segment is gone, a question counts the log before the
version, however long it is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..plugins.stateful import Held, Stateful
from ..vectors import Indices

MEMORY = 512 << 20
"""Largest size of a history in bytes; beyond, the oldest segments are forgotten."""

_TALLY = np.dtype(np.uint16)
"""Counts modulo 2^16: differences are exact while a history reaches back less than 2^16 updates."""
_LEAST = 1 << 12
"""Entries that a segment holds at least, however small the model."""
_UPDATES = 1 << 10
"""Updates that a segment holds at most, however small they are."""
_REACH = (1 << 16) - 1 - _UPDATES
"""Largest reach of the closed segments in updates. With the `_UPDATES` of the open segment, a
history spans up to 65,535 updates, the largest count of a 16-bit tally."""
_SPARE = 8
"""Unneeded segments tolerated before a search, beside a quarter of the needed number."""
_NOTHING: Indices = np.empty(0, np.uint32)


def bound(size: int, versions: int) -> int:
    """Return the largest size in bytes of a history of `size` parameters.

    `versions` is the number of different versions about which questions may come.
    """
    per_segment = size * _TALLY.itemsize + 4 * max(size // 4, _LEAST)
    constant = size * (_TALLY.itemsize + 4)  # the newest tally, and the slots of a question
    return min(MEMORY, (_crowd(versions) + 1) * per_segment) + constant


def _crowd(needed: int) -> int:
    """Return the number of segments that starts a search for unneeded ones; `needed` are needed.

    The margin keeps the number small and the search rare: amortized O(1) a segment.
    """
    return needed + needed // 4 + _SPARE


class _Segment(Held, msgspec.Struct):
    """Updates after version `first`: their indices in `log`, and the tally at version `first`.

    `marks[i]` belongs to version `first + i`: the entries in the log, and the number of updates so
    far in the whole history that touched every parameter.
    """

    first: int
    tally: NDArray[np.uint16]
    log: Indices
    marks: list[tuple[int, int]]

    @property
    def now(self) -> int:
        """Newest version in the segment."""
        return self.first + len(self.marks) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the tally and the log."""
        return self.tally.nbytes + self.log.nbytes

    @property
    def entries(self) -> Indices:
        """Written part of the log: parameter indices of one update after another."""
        return self.log[: self.marks[-1][0]]

    def add(self, touched: Indices, everything: int) -> None:
        """Append an update of the indices `touched`; `everything` is 1 for all parameters, else
        0."""
        start, dense = self.marks[-1]
        self.log[start : start + touched.size] = touched
        self.marks.append((start + touched.size, dense + everything))

    def has_room(self, entries: int) -> bool:
        """Return whether an update of `entries` indices fits."""
        return len(self.marks) <= _UPDATES and self.marks[-1][0] + entries <= self.log.size

    def joined(self, after: "_Segment") -> "_Segment":
        """Return this segment joined with its neighbour `after`; both must have logs."""
        start, dense = self.marks[-1]
        # the log of `after` goes on behind this one's: its marks move by this log's length
        marks = [(start + more, everything) for more, everything in after.marks]
        assert marks[0] == (start, dense)
        log = np.concatenate([self.entries, after.entries])
        return _Segment(self.first, self.tally, log, [*self.marks[:-1], *marks])


def _select(tally: NDArray[np.uint16], asked: NDArray[np.intp] | None) -> NDArray[np.uint16]:
    """Return the tally of the parameters `asked`, or the whole tally for None."""
    return tally if asked is None else tally.take(asked)


class History(Stateful):
    """Counts, for every kept version, how often later updates touched each parameter."""

    STATE = ("_tally", "_segments", "_crowd")

    def __init__(self, size: int, version: int = 0) -> None:
        """Begin at `version` for a model of `size` parameters."""
        self._size = size
        self._segment = max(size // 32, _LEAST)
        self._log_limit = max(size // 4, _LEAST)  # entries that are logged for one update
        self._slots = np.zeros(size, np.uint32)  # all zero between two questions
        self._tally = np.zeros(size, _TALLY)
        self._segments = [self._open(version, 0)]
        self._crowd = _crowd(1)  # number of segments above which unneeded ones are searched

    @property
    def oldest(self) -> int:
        """Oldest version for which `since` answers."""
        return self._segments[0].first

    def record(self, indices: Indices | None) -> None:
        """Record the update to the next version; `indices` None means every parameter."""
        if indices is None or indices.size == self._size:
            # counted once for all parameters: O(1), no tally changes
            self._room_for(0).add(_NOTHING, 1)
        elif indices.size <= self._log_limit:
            self._room_for(indices.size).add(indices, 0)
            self._note(indices)
        else:
            self._record_alone(indices)

    def since(self, version: int, indices: Indices | None) -> NDArray[np.integer] | int:
        """Return how often updates after `version` touched the parameters `indices` (None: all).

        The result is an array in the order of `indices`, or one number if it is the same for all.
        Raises ValueError for a version that is not kept.
        """
        last = self._segments[-1]
        if not self.oldest <= version <= last.now:
            raise ValueError(f"version {version} is not in {self.oldest} … {last.now}")
        number = bisect_right(self._segments, version, key=lambda segment: segment.first) - 1
        segment = self._segments[number]
        if version > segment.now:
            raise ValueError(f"version {version} was forgotten: it was not among those needed")
        start, dense = segment.marks[version - segment.first]
        everything = last.marks[-1][1] - dense
        before, after = segment.entries[:start], segment.entries[start:]
        asked = None if indices is None else indices.astype(np.intp)
        if segment is last and after.size <= before.size:
            # in the open segment the log after the version is the whole answer
            return everything + self._count(after, asked) if after.size else everything
        following = None if segment is last else self._segments[number + 1]
        if following is None or following.first != segment.now or before.size <= after.size:
            # All since the segment began, less the log before the version. This is right without
            # the next segment, too, and for an update alone in its segment: its log is empty.
            touched = _select(self._tally, asked) - _select(segment.tally, asked)
            return everything + touched - self._count(before, asked)
        # all since the next segment began, plus the log after the version
        touched = _select(self._tally, asked) - _select(following.tally, asked)
        return everything + touched + self._count(after, asked)

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        """Drop segments before `version`, about which no question will come.

        `needed`, if not empty, gives the later versions about which questions may come, in
        ascending order; the newest version may always be asked about.
        """
        kept = bisect_right(self._segments, version, key=lambda segment: segment.first) - 1
        del self._segments[: max(0, kept)]
        if len(self._segments) > self._crowd:
            self._keep(list(needed))

    def _keep(self, needed: list[int]) -> None:
        """Drop the closed segments in which no needed version lies."""

        def holds(segment: _Segment) -> bool:
            # the version `now` is the next segment's first, so the upper bound is exclusive
            at = bisect_left(needed, segment.first)
            return at < len(needed) and needed[at] < segment.now

        if needed:
            *closed, newest = self._segments
            self._segments = [*filter(holds, closed), newest]
        # searched again once a quarter more has come, also if this search found little
        self._crowd = _crowd(len(self._segments))

    def _count(self, window: Indices, asked: NDArray[np.intp] | None) -> NDArray[np.intp] | int:
        """Return how often each of `asked` occurs in `window`, in O(asked + window)."""
        if not window.size:
            return 0
        if asked is None:
            return np.bincount(window, minlength=self._size)
        # map parameters to their rank in `asked`, from 1; 0 collects the rest, cut off by [1:]
        self._slots[asked] = np.arange(1, asked.size + 1)
        counts = np.bincount(self._slots.take(window), minlength=asked.size + 1)[1:]
        self._slots[asked] = 0  # cheaper than a new array of all parameters
        return counts

    def _note(self, indices: Indices) -> None:
        """Count `indices` in the newest tally."""
        positions = indices.astype(np.intp)
        # within an update every index is distinct, so indexed assignment counts each of them
        self._tally[positions] = self._tally.take(positions) + np.uint16(1)

    def _room_for(self, entries: int) -> _Segment:
        """Return the open segment after making room in it for an update of `entries` indices."""
        if not self._segments[-1].has_room(entries):
            last = self._segments[-1]
            if len(last.marks) > 1:
                self._open_next()
                last = self._segments[-1]
            if not last.has_room(entries):
                last.log = np.zeros(entries, np.uint32)
        return self._segments[-1]

    def _record_alone(self, indices: Indices) -> None:
        """Record a large update as a segment of its own, without a log."""
        if len(self._segments[-1].marks) > 1:
            self._open_next()
        alone = self._segments[-1]
        alone.log = _NOTHING
        alone.add(_NOTHING, 0)
        # closed at once: the next segment's tally less this one's is the update
        self._note(indices)
        self._open_next()

    def _open_next(self) -> None:
        """Close the open segment and open the next one with the present tally."""
        last = self._segments[-1]
        self._segments.append(self._open(last.now, last.marks[-1][1]))
        self._bound()

    def _open(self, first: int, dense: int) -> _Segment:
        """Return a segment from version `first` on, after `dense` updates of every parameter."""
        log = np.zeros(self._segment, np.uint32)  # no stray bytes in a saved state
        return _Segment(first, self._tally.copy(), log, [(0, dense)])

    def _bound(self) -> None:
        """Join old segments if memory runs out, then forget the oldest until memory and reach
        fit."""
        # a joined segment answers as before, only more slowly; a forgotten one does not answer
        if self._excess() > 0:
            self._join()
            while len(self._segments) > 1 and self._excess() > 0:
                del self._segments[0]
        while self._reach() > _REACH:
            del self._segments[0]

    def _excess(self) -> int:
        """Return the bytes of all segments beyond `MEMORY`."""
        return sum(segment.nbytes for segment in self._segments) - MEMORY

    def _reach(self) -> int:
        """Return the number of updates in closed segments."""
        return self._segments[-1].first - self._segments[0].first

    def _join(self) -> None:
        """Join neighbouring closed segments in pairs where that saves memory."""
        *closed, newest = self._segments
        kept: list[_Segment] = []
        for segment in closed:
            if kept and self._may_join(kept[-1], segment):
                kept[-1] = kept[-1].joined(segment)
            else:
                kept.append(segment)
        self._segments = [*kept, newest]

    def _may_join(self, before: _Segment, after: _Segment) -> bool:
        """Return whether two segments may be joined: neighbours with logs that stay short enough.

        Segments double in length at most, up to the log of a quarter of the parameters.
        """
        if before.now != after.first:
            return False
        entries = before.marks[-1][0] + after.marks[-1][0]
        logged = before.log.size and after.log.size
        return bool(logged) and entries <= min(self._log_limit, 2 * after.log.size)
