"""Frames whose writer knows what a decoder makes of them."""

from ..layout import Layout
from ..vectors import Buffer, Frames, Gradient
from .base import Codec


class DecodedFrames(tuple[Buffer, ...]):
    """Frames, and bit for bit the gradient that they are decoded to."""

    gradient: Gradient

    @classmethod
    def pair(cls, frames: Frames, gradient: Gradient) -> "DecodedFrames":
        told = cls(frames)
        told.gradient = gradient
        return told


def decode_once(frames: Frames, codec: Codec, layout: Layout) -> Gradient:
    """What the frames say, decoded only if that is not known yet."""
    return frames.gradient if isinstance(frames, DecodedFrames) else codec.decode(frames, layout)
