"""The state that a device keeps over a loss of power: the encoder's memory, its place in the data.

It is the state after a push. A device that goes on from it draws the next mini-batch, and encodes
its gradient, as it would have without the loss.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...codecs.base import Encoder, Memory, RememberingEncoder
from ...learning.learners.batches import Batches, Position
from ...vectors import Vector


class KeptState(NamedTuple):
    """A copy of the state of a device that encodes whole models."""

    vectors: tuple[Vector, ...]
    """The encoder's memory, an entry for each parameter."""
    updates: int
    """Updates encoded so far, if the encoder counts them."""
    draws: Mapping[str, Any] | None
    """State of the random stream of the encoder, as NumPy gives it; None: it draws nothing."""
    position: Position


class Keeper:
    """Holder of a device's kept state, shared by all incarnations of the device."""

    def __init__(self) -> None:
        self.state: KeptState | None = None
        """State after the last push; None: nothing is kept."""


def kept(encoder: Encoder, position: Position) -> KeptState:
    """Return a copy of the state of `encoder`, with the `position` of its mini-batches."""
    memory = Memory(())
    if isinstance(encoder, RememberingEncoder):
        memory = encoder.memory(slice(None))
    stream = _stream(encoder)
    draws = None if stream is None else stream.bit_generator.state
    return KeptState(tuple(v.copy() for v in memory.vectors), memory.updates, draws, position)


def go_on(encoder: Encoder, batches: Batches, state: KeptState) -> None:
    """Bring a new `encoder` and new `batches` to `state`.

    Raises ValueError if the state is of another encoder or of other data.
    """
    stream = _stream(encoder)
    if (stream is None) != (state.draws is None):
        raise ValueError("the kept state is that of another encoder")
    batches.seek(state.position)
    if isinstance(encoder, RememberingEncoder):
        encoder.recall(slice(None), Memory(state.vectors, state.updates))
    if stream is not None and state.draws is not None:
        stream.bit_generator.state = dict(state.draws)


def _stream(encoder: Encoder) -> np.random.Generator | None:
    """Return the random stream of `encoder`, or None if the encoder draws nothing."""
    inner = getattr(encoder, "inner", encoder)
    stream = getattr(inner, "rng", None)
    return stream if isinstance(stream, np.random.Generator) else None
