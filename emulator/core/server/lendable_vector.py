"""A vector that is lent to readers without a copy, and changes only where nobody reads it.

The server lends its model to ZeroMQ, to the evaluator and to virtual devices, and the next step may
come while they still read. The step then goes to another vector: a spare one, in which the steps
that it missed are made up for, or a copy. So a sparse step of a large model costs O(entries) also
while the model before it is sent.

Safety. A vector may be written again once no array and no buffer refers to its memory as lent. The
lent array is the only door to that memory: its base is a memoryview, and NumPy replaces the base of
a view by the base's base only as far as that is an array. Each view, slice and buffer made from the
lent array therefore holds a reference to the lent array itself, also the frame that libzmq sends
from another thread, which pyzmq lets go once libzmq is done. If a weak reference to the lent array
is dead, nothing reads the memory, and nothing can come to read it again.
"""

import weakref
from collections.abc import Sequence

import numpy as np

from ...vectors import Indices, Vector

_SHARE = 32
"""Part of a vector, one in so many entries, up to which the entries are copied one by one."""
_CACHED = 1 << 22
"""Entries up to which a vector is always copied as a whole: in caches that takes less time. One by
one took 1.2 times as long for 1,200,000 parameters, and half as long for 25,000,000."""


class LendableVector:
    """The present `values`, f32[N], and a spare vector that was lent and may be in use still."""

    def __init__(self, values: Vector) -> None:
        """Take over `values`, which nobody else may keep."""
        self.values = values
        """May be written between `reclaim` and the next `lend`."""
        self._lent: Vector | None = None  # `values` as lent since the last `reclaim`
        self._spare: _Spare | None = None

    def lend(self) -> Vector:
        """Return `values`, read-only, as they are now and stay for as long as the result is held.

        All callers between two changes get the same array.
        """
        if self._lent is None:
            self._lent = np.frombuffer(self.values.data.toreadonly(), np.float32)
        return self._lent

    def reclaim(self) -> None:
        """Let `values` be a vector that may be written, with the same numbers."""
        if self._lent is None:
            return
        readers, self._lent = weakref.ref(self._lent), None
        if readers() is None:
            return  # nobody kept the lent array
        spare, self._spare = self._spare, _Spare(self.values, readers)
        if spare is None or spare.is_read:
            self.values = self.values.copy()
        else:
            self.values = spare.caught_up(self.values)

    def changed(self, indices: Sequence[Indices | None]) -> None:
        """Note that a change of `values` wrote entries at `indices` only; None means all."""
        if self._spare is not None:
            self._spare.miss(indices)


class _Spare:
    """A vector that is no longer the present one, and the entries that have changed since."""

    def __init__(self, vector: Vector, readers: "weakref.ref[Vector]") -> None:
        """`readers` refers to `vector` as it was lent."""
        self._vector, self._readers = vector, readers
        # the entries that changed since, step by step; None: too many
        self._missed: list[Indices] | None = []
        self._room = vector.size // _SHARE if vector.size > _CACHED else 0

    @property
    def is_read(self) -> bool:
        """Whether somebody still holds the vector as it was lent."""
        return self._readers() is not None

    def miss(self, indices: Sequence[Indices | None]) -> None:
        """Note the entries of a change that this vector lacks."""
        sparse = [part for part in indices if part is not None]
        self._room -= sum(part.size for part in sparse)
        if self._room < 0 or len(sparse) < len(indices):
            self._missed = None
        if self._missed is not None:
            self._missed += sparse

    def caught_up(self, values: Vector) -> Vector:
        """Return this vector with the present `values`; nobody may read it."""
        if self._missed is None:
            np.copyto(self._vector, values)
        else:
            # the present values, not the changes: so the result is the same to the last bit
            for indices in self._missed:
                positions = indices.astype(np.intp)
                self._vector[positions] = values.take(positions)
        return self._vector
