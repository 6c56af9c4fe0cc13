"""Protocols of codecs: a gradient becomes a few frames, and frames become a gradient again.

A codec trades fidelity for bytes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from ..layout import Kind, Layout
from ..vectors import Buffer, Frames, Gradient, Vector


class ByteCount(NamedTuple):
    """Bytes of an encoded gradient by content; the sum is the length of the frames."""

    values: int
    indices: int
    headers: int


class Draws(Protocol):
    """Source of a codec's random numbers: a NumPy generator, or the share of one segment."""

    def random(self, size: int, dtype: type[np.float32]) -> Vector:
        """Return `size` float32, uniform from 0 up to, but not including, 1."""

    def bytes(self, length: int, /) -> bytes:
        """Return `length` random bytes."""


@dataclass(frozen=True)
class EncoderContext:
    """Surroundings of an encoder, for a single boot of one device's worker."""

    layout: Layout
    rng: Draws
    """Generator for codecs that draw, with its own stream for every boot of every device."""
    workers: int = 1
    """Number of devices in the fleet."""
    epoch: int = 1
    """Updates that the device sends during one pass over its data; at least 1."""


class Codec(Protocol):
    """Frozen configuration that all devices share; a device's memory lives in an `Encoder`."""

    def start(self, context: EncoderContext) -> "Encoder":
        """Return a new encoder for one worker."""

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        """Return the gradient that `frames` hold, for a model of `layout`.

        Raises WireError unless `encode` could have written the frames. Nothing is allocated before
        the frames' sizes are checked against the layout.
        """

    def count(self, frames: Frames) -> ByteCount:
        """Return the bytes of well-formed `frames` by content."""


class Encoder(Protocol):
    """A codec bound to a worker's layout, with the worker's memory if the codec keeps any."""

    def encode(self, gradient: Vector) -> Frames:
        """Return the frames to send, which share no memory with `gradient`.

        `gradient` is float32 of shape (layout.size,). Raises NotFinite for a NaN or an infinity,
        ValueError for a gradient that does not fit the layout; both leave the encoder's memory
        unchanged.
        """


class Memory(NamedTuple):
    """The memory of an encoder for some parameters."""

    vectors: tuple[Vector, ...]
    """The encoder's vectors, in an order of its own: views, an entry for each parameter."""
    updates: int = 0
    """Number of updates encoded so far; 0 if the encoder does not count them."""


@runtime_checkable
class RememberingEncoder(Encoder, Protocol):
    """An encoder with a memory for each parameter, which another encoder can take over.

    So the memory outlives a change of the segments that a `SegmentEncoder` encodes.
    """

    def memory(self, part: slice) -> Memory:
        """Return the memory of the parameters in `part`; the next `encode` may change it."""

    def recall(self, part: slice, memory: Memory) -> None:
        """Copy `memory`, another encoder's, into the memory of the parameters in `part`."""


class StatelessCodec(Protocol):
    """A codec without memory and without randomness."""

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        """Return the frames of `gradient`, as `Encoder.encode` does."""


Accounting: TypeAlias = Callable[[Gradient, Layout], Mapping[Kind, float]]
"""Function from a gradient and a layout to the bytes for each kind of layer."""


def accounting(codec: Codec) -> Accounting | None:
    """Return the byte accounting of the codec's paper, or None if the paper defines none.

    Papers may leave out bytes that a decoder needs. A codec with such an accounting has a method
    `paper`, and the log holds the result beside the bytes on the wire.
    """
    paper: Accounting | None = getattr(codec, "paper", None)
    return paper


class DecodedFrames(tuple[Buffer, ...]):
    """Frames together with the gradient to which they decode, bit for bit.

    The process that has encoded them need not decode them.
    """

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
