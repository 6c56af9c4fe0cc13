"""Pull `delta`: only the parameters that changed since the worker's version.

They are found from the indices that the later updates held.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np

from ..codecs.indices import CODINGS
from ..layout import Layout, Segment
from ..plugins.stateful import Stateful
from ..vectors import Gradient, Indices, Vector
from . import floats
from .base import EncodedModel, Pulls
from .floats import Values
from .whole_model import WholeModelPulls

INDICES = CODINGS["auto"]
_ROOM = 16
"""Most bytes of answers kept for the present version, in multiples of the model as float32."""
_ENTRY = 256
"""Bytes that an answer takes besides its content, about."""


@dataclass(frozen=True)
class Delta:
    """Delta pull: the parameters that changed and their indices, or the whole model if smaller.

    With `values: f32` the worker's model equals the server's bit for bit. With `f16` it equals the
    server's in half precision, as with dense pulls: unchanged parameters were sent in that
    precision before.
    """

    values: Values = "f32"
    """Precision of the parameters that travel to a worker: `f32` or `f16`."""
    kind: Literal["delta"] = "delta"

    def __post_init__(self) -> None:
        floats.check(self.values)

    def start(self, layout: Layout, version: int = 0) -> Pulls:
        return DeltaPulls(self.values, layout, version)


class _Patch(NamedTuple):
    """The patch of the whole model from one version to the present version."""

    changed: Indices
    coded: EncodedModel

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return self.changed.nbytes + _size(self.coded)


class DeltaPulls(Stateful):
    """State of delta pulls: the latest changes, and the answers for the present version."""

    STATE = ("_whole", "_changes")

    def __init__(self, values: Values, layout: Layout, version: int) -> None:
        self._values: Values = values
        self._whole = WholeModelPulls(values, layout)
        self._layout, self._size = layout, layout.size
        self._changes = Changes(layout.size, version)
        # patches to the present version, by the version that a worker holds; None: all is sent
        self._patches: dict[int, _Patch | None] = {}
        self._pieces: dict[tuple[int, Segment], EncodedModel] = {}  # and by segment
        self._kept = 0  # bytes of both

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._clear()  # answers are made again

    def changed(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        self._whole.changed(gradients, everywhere)
        self._changes.note(gradients, everywhere)
        self._clear()

    def answer(
        self, theta: Vector, held: int | None, segment: Segment | None = None
    ) -> EncodedModel | None:
        if held is None:
            return self._whole.answer(theta, None, segment)
        if held not in self._patches:
            made = self._patch(theta, held)
            self._make_room(made.size if made else 0)
            self._patches[held] = made
        patch = self._patches[held]
        if patch is None:
            return self._whole.answer(theta, None, segment)
        if segment is None:
            return patch.coded
        if (held, segment) not in self._pieces:
            piece = self._piece(patch, segment)
            self._make_room(_size(piece))
            self._pieces[held, segment] = piece
        return self._pieces[held, segment]

    def rounded(self, theta: Vector) -> Vector | None:
        return self._whole.rounded(theta)

    def _make_room(self, size: int) -> None:
        """Make room for an answer of `size` bytes; if there is none, drop all answers kept.

        A member may claim to hold any version, and ask for any segments. Answers are made again.
        """
        self._kept += size + _ENTRY
        if self._kept > _ROOM * 4 * self._size:
            self._clear()
            self._kept = size + _ENTRY

    def _clear(self) -> None:
        self._patches.clear()
        self._pieces.clear()
        self._kept = 0

    def _patch(self, theta: Vector, held: int) -> _Patch | None:
        """Return the patch from version `held`; None if unknown or as large as the whole model."""
        changed = self._changes.since(held)
        if changed is None or changed.size >= self._size:
            return None
        frames = (
            INDICES.encode(changed, self._layout),
            floats.encode(theta[changed], self._values),
        )
        smaller = sum(map(len, frames)) < self._size * floats.width(self._values)
        return _Patch(changed, EncodedModel(frames, held)) if smaller else None

    def _piece(self, patch: _Patch, segment: Segment) -> EncodedModel:
        """Return the piece of `patch` for the layers of `segment`, without a look at the model."""
        place = self._layout.place(segment)
        first, last = patch.changed.searchsorted([place.start, place.stop]).tolist()
        indices = patch.changed[first:last] - np.uint32(place.start)
        _, values = patch.coded.frames
        part = floats.bytes_of(slice(first, last), self._values)
        frames = INDICES.encode(indices, self._layout.part(segment)), bytes(values[part])
        return EncodedModel(frames, patch.coded.base)


def _size(coded: EncodedModel) -> int:
    """Return the bytes of the frames."""
    return sum(map(len, coded.frames))


_LOG_ROOM = 4
"""Log size in multiples of the parameters: a worker further behind needs the whole model anyway."""
_MANY = 8
"""From one changed parameter in this many on, a table of all is faster than merging indices."""


class Changes(Stateful):
    """Log of changed parameters. Recording costs O(1) an update, a question O(entries since)."""

    STATE = ("_log", "_entries", "_newest")

    def __init__(self, size: int, version: int) -> None:
        """Begin at `version` of a model of `size` parameters."""
        self._size = size
        self._log: deque[Indices] = deque()
        self._entries = 0
        self._newest = version

    def note(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        """Record a version for each gradient: it changed the gradient's indices, or
        `everywhere`."""
        self._newest += len(gradients)
        touched = [gradient.indices for gradient in gradients if gradient.indices is not None]
        if everywhere or len(touched) < len(gradients):
            # everything changed: older versions cannot be patched, so the log begins anew
            self._log.clear()
            self._entries = 0
            return
        self._log.extend(touched)
        self._entries += sum(indices.size for indices in touched)
        while self._entries > _LOG_ROOM * self._size:
            self._entries -= self._log.popleft().size

    def since(self, version: int) -> Indices | None:
        """Return the parameters changed after `version`, ascending; None if unknown or
        everything."""
        behind = self._newest - version
        if not 0 <= behind <= len(self._log):
            return None
        touched = list(islice(reversed(self._log), behind))
        if not touched:
            return np.empty(0, np.uint32)
        if sum(indices.size for indices in touched) * _MANY < self._size:
            return _merged(touched)
        table = np.zeros(self._size, np.bool_)
        for indices in touched:
            table[indices] = True
        return np.flatnonzero(table).astype(np.uint32)


def _merged(touched: list[Indices]) -> Indices:
    """Return the union of ascending index arrays, ascending."""
    # the stable sort merges ascending runs: six times faster here than the default sort
    indices = np.concatenate(touched)
    indices.sort(kind="stable")
    first = np.ones(indices.size, np.bool_)
    np.not_equal(indices[1:], indices[:-1], out=first[1:])
    return indices[first]
