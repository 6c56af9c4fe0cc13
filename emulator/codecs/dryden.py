"""Codec `dryden`: the largest entries of either sign, each side sent as its mean.

Dryden et al. (2016), section III, adaptive quantization.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..errors import WireError
from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from . import frame_checks, packing
from .base import ByteCount, Encoder, EncoderContext
from .feedback import BUILT_IN, ErrorFeedback, StatelessEncoder
from .indices import CODINGS, IndexCoding
from .selection import Keep, check_keep, entries_for, entries_per_variable, largest


@dataclass(frozen=True)
class Dryden:
    """Adaptive quantization: the largest residuals of either sign, each side sent as its mean.

    Dryden et al. (2016), section III. At least one entry is sent of a side that has any. The
    difference between an entry and the mean stays in the residual.

    The frames are the indices, the signs, and two float32 magnitudes for each variable: the means
    of the negative and of the positive entries, zero for a side without entries.
    """

    keep: Keep
    """Share of the positive and of the negative entries of each variable that is sent."""
    indices: IndexCoding = "gap"
    """Coding of the sent entries' indices."""
    kind: Literal["dryden"] = "dryden"
    no_feedback: ClassVar[str] = BUILT_IN

    def __post_init__(self) -> None:
        check_keep(self.keep)
        if self.indices not in CODINGS:
            raise ValueError(f"indices {self.indices!r} is not {' or '.join(CODINGS)}")

    def start(self, context: EncoderContext) -> Encoder:
        return ErrorFeedback(StatelessEncoder(self, context.layout), self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        """Return the frames of `gradient`, to which the residual is already added."""
        frame_checks.check_shape(gradient, layout)
        chosen, means = [], []
        for start, stop in layout.bounds:
            entries = gradient[start:stop]
            # negative entries first: `decode` numbers the two sides in this order
            for side in (np.minimum(entries, 0), np.maximum(entries, 0)):
                (count,) = entries_for(self.keep, [int(np.count_nonzero(side != 0))])
                positions = largest(side, count)
                chosen.append(positions + start)
                means.append(side[positions].mean(dtype=np.float64) if positions.size else 0.0)
        if not np.isfinite(means).all():
            raise frame_checks.not_finite_error(gradient, layout)
        indices = np.sort(np.concatenate(chosen)).astype(np.uint32)
        coded = CODINGS[self.indices].encode(indices, layout)
        packed = packing.pack_terminated(gradient[indices] < 0)
        return coded, packed, np.abs(means).astype("<f4").tobytes()

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        coded, packed, scale_frame = frame_checks.check_count(frames, 3)
        entries = packing.terminated_count(packed)
        if entries > layout.size:
            raise WireError(f"{entries} signs for {layout.size} parameters")
        scales = frame_checks.scales(scale_frame, 2 * len(layout.variables))
        indices = CODINGS[self.indices].decode(coded, entries, layout)
        negative = packing.unpack_terminated(packed)
        stops = np.array([stop for _, stop in layout.bounds])
        # number of the scale: twice the variable's number, plus one on the positive side
        side = 2 * stops.searchsorted(indices, side="right") + ~negative
        sent = np.bincount(side, minlength=scales.size)
        # floor(keep · size) bounds each side, which is no larger than the variable
        if (sent > np.repeat(entries_per_variable(self.keep, layout), 2)).any():
            raise WireError(f"more than {self.keep} of a variable's positive or negative entries")
        if ((scales > 0) != (sent > 0)).any():
            raise WireError("a scale without entries, or entries without a scale")
        values = scales[side]
        packing.negate_where(values, negative)
        return Gradient(values, indices)

    def count(self, frames: Frames) -> ByteCount:
        coded, packed, scales = frames
        header_bytes = CODINGS[self.indices].header(coded)
        return ByteCount(
            values=len(packed),
            indices=len(coded) - header_bytes,
            headers=header_bytes + len(scales),
        )
