"""Updates of the size that a codec is expected to make, for runs in which nobody learns."""

import numpy as np

from .. import chance
from ..layout import Layout
from ..vectors import Frames
from .base import Codec, EncoderContext
from .feedback import StatelessEncoder

_STEADY = 10
"""Updates after which the memory of an encoder is full, and its warm-up over."""


def expected_update(codec: Codec, layout: Layout) -> Frames:
    """Return the frames in which `codec` encodes a gradient of normal numbers for `layout`.

    If the encoder has a memory, encode several gradients and return the last frames: the memory is
    full by then.
    """
    draws = chance.stream(chance.expected_gradient(layout.size))
    rng = chance.stream(chance.expected_codec(layout.size))
    encoder = codec.start(EncoderContext(layout, rng))
    for _ in range(1 if isinstance(encoder, StatelessEncoder) else _STEADY):
        gradient = draws.standard_normal(layout.size, np.float32)
        frames: Frames = tuple(map(bytes, encoder.encode(gradient)))
    return frames
