"""Frames with their gradient attached, for the process that encoded it and need not decode."""

from ..layout import Layout
from ..vectors import Buffer, Frames, Gradient
from .base import Codec


class DecodedFrames(tuple[Buffer, ...]):
    """Frames together with the gradient to which they decode, bit for bit."""

    gradient: Gradient

    @classmethod
    def pair(cls, frames: Frames, gradient: Gradient) -> "DecodedFrames":
        """Attach `gradient` to `frames`; both must agree, which is not checked."""
        paired = cls(frames)
        paired.gradient = gradient
        return paired


def decode_once(frames: Frames, codec: Codec, layout: Layout) -> Gradient:
    """Return the gradient attached to `frames`, or else decode them with `codec`."""
    return frames.gradient if isinstance(frames, DecodedFrames) else codec.decode(frames, layout)
