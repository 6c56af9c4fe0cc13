"""Protocols of codecs: a gradient becomes a few frames, and frames become a gradient again.

A codec trades fidelity for bytes.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from .update_draws import Draws


class ByteCount(NamedTuple):
    """Bytes of an encoded gradient by content; the sum is the length of the frames."""

    values: int
    indices: int
    headers: int


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
