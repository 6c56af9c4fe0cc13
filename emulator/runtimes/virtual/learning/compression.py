"""Compression by layer, as `measure.compression` asks: entries sent, and the residues they leave.

The threads that encode the updates measure; the records are written as the updates leave.
"""

import math
from collections.abc import Callable

import numpy as np

from ....codecs.base import DecodedFrames, Encoder, RememberingEncoder
from ....codecs.segment_encoder import SegmentEncoder
from ....layout import Layout
from ....log.records import CompressionRecord
from ....vectors import Frames, Gradient, Vector
from .gradient_handle import CutHandle, GradientHandle


class MeasuredFrames(DecodedFrames):
    """Frames with the measure of the update in them."""

    compression: CompressionRecord | None = None
    """The record, without time and device; None: this update is not measured."""


class CompressionMeter:
    """Measures every `every`-th update of one incarnation of a device."""

    def __init__(self, layout: Layout, every: int) -> None:
        self._layout, self._every, self._updates = layout, every, 0

    def measured(
        self, frames: Frames, gradient: Gradient, encoder: Encoder | SegmentEncoder
    ) -> MeasuredFrames:
        """Return `frames` of the next update; `gradient` is the update, decoded.

        `encoder` has just encoded it.
        """
        self._updates += 1
        paired = MeasuredFrames.pair(frames, gradient)
        assert isinstance(paired, MeasuredFrames)
        if self._updates % self._every == 0:
            memory = (
                encoder.memory(slice(None)) if isinstance(encoder, RememberingEncoder) else None
            )
            residue = memory.vectors[-1] if memory else None  # behind a velocity, if there is one
            paired.compression = CompressionRecord(
                0.0, "", self._updates, self._entries(gradient), self._residue(residue)
            )
        return paired

    def _entries(self, gradient: Gradient) -> dict[str, int]:
        """Return the number of entries of `gradient` in each variable."""
        if gradient.indices is None:
            counts = [stop - start for start, stop in self._layout.bounds]
        else:
            stops = gradient.indices.searchsorted(np.array([e for _, e in self._layout.bounds]))
            counts = np.diff(stops, prepend=0).tolist()
        return dict(zip(self._names, counts, strict=True))

    def _residue(self, residue: Vector | None) -> dict[str, float]:
        """Return the root mean square of `residue` in each variable; {} without a memory."""
        if residue is None:
            return {}
        parts = (residue[start:stop] for start, stop in self._layout.bounds)
        squares = (float(np.mean(np.square(part, dtype=np.float64))) for part in parts)
        return dict(zip(self._names, map(math.sqrt, squares), strict=True))

    @property
    def _names(self) -> list[str]:
        return [variable.name for variable in self._layout.variables]


class MeteredHandleEncoder:
    """A HandleEncoder that passes the measures of a device's updates on."""

    def __init__(self, report: Callable[[CompressionRecord], None]) -> None:
        self._report = report

    def encode(self, gradient: GradientHandle | CutHandle, /) -> Frames:
        """Return the frames of the gradient; raise NotFinite if the gradient is not finite."""
        frames = gradient.frames()
        if isinstance(frames, MeasuredFrames) and frames.compression is not None:
            self._report(frames.compression)
        return frames
