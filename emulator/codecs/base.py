"""A codec trades fidelity for bytes: a gradient in, a few frames out, and back."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..layout import Layout
from ..vectors import Frames, Gradient, Vector


class ByteCount(NamedTuple):
    """Bytes of an encoded gradient by what they hold; their sum is the length of its frames."""

    values: int
    indices: int
    headers: int


@dataclass(frozen=True)
class EncoderContext:
    """Where an encoder works: one incarnation of one device's worker."""

    layout: Layout
    rng: np.random.Generator
    """The device's own, for codecs that draw."""
    workers: int = 1
    """Devices in the whole fleet."""
    epoch: int = 1
    """Updates that the device makes while it goes once through its data, at least one."""


class Codec(Protocol):
    """Frozen, shared by all devices; what a device must remember lives in its encoder."""

    def start(self, context: EncoderContext) -> "Encoder":
        """A new encoder for one worker."""

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        """What the frames say; a WireError if they are not what `encode` could have made."""

    def count(self, frames: Frames) -> ByteCount:
        """What the bytes of well-formed frames hold."""


class Encoder(Protocol):
    """What a device's worker holds: a codec bound to a layout, with its memory if it has one."""

    def encode(self, gradient: Vector) -> Frames:
        """The frames that travel; they share no memory with the gradient.

        Raises NotFinite if an entry is not, ValueError if the gradient does not fit the layout;
        after either the memory is as it was before.
        """


class StatelessCodec(Protocol):
    """A codec that needs neither memory nor rng: each gradient is encoded for itself."""

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        """As `Encoder.encode`."""
