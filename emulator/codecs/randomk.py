"""Codec `randomk`: entries at random positions, a baseline for every choice by magnitude."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .. import chance
from ..errors import WireError
from ..layout import Layout
from ..vectors import Frames, Gradient, Indices, NotFinite, Vector
from . import frame_checks
from .base import ByteCount, Draws, Encoder, EncoderContext
from .feedback import RandomEncoder
from .selection import Keep, check_keep, entries_per_variable

_SEED = 8
"""Bytes of the seed that travels in place of the indices."""


@dataclass(frozen=True)
class RandomK:
    """Random-k: max(1, floor(keep · size)) entries of each variable, every set equally likely.

    The indices do not travel: the server draws them from a seed of eight bytes (the random mask of
    Konečný et al., 2016).
    """

    keep: Keep
    """Share of each variable's entries that is sent."""
    unbiased: bool = True
    """Whether entries are multiplied by size / entries sent. Scaled, the update is right on average
    (Wangni et al., 2018) but has a higher variance. Unscaled, entries go well with error feedback
    (Stich et al., 2018); without it they make a smaller step."""
    kind: Literal["randomk"] = "randomk"

    def __post_init__(self) -> None:
        check_keep(self.keep)

    @property
    def no_feedback(self) -> str:
        """Reason against error feedback: a scaled entry leaves a residual many times its size."""
        return "it would scale what is fed back: write unbiased: false" if self.unbiased else ""

    def start(self, context: EncoderContext) -> Encoder:
        return RandomEncoder(self, context.layout, context.rng)

    def encode(self, gradient: Vector, layout: Layout, rng: Draws) -> Frames:
        frame_checks.check_finite(gradient, layout)
        seed = rng.bytes(_SEED)
        values = gradient[self._drawn(seed, layout)]
        if self.unbiased:
            values = self._scaled(values, layout)
        return seed, values.astype("<f4", copy=False).tobytes()

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        seed, value_frame = frame_checks.check_count(frames, 2)
        if len(seed) != _SEED:
            raise WireError(f"a seed of {len(seed)} bytes, expected {_SEED}")
        expected = sum(entries_per_variable(self.keep, layout))
        values = frame_checks.floats(value_frame, expected)
        if values.size != expected:
            raise WireError(f"{values.size} values, expected {expected}")
        return Gradient(values, self._drawn(bytes(seed), layout))

    def count(self, frames: Frames) -> ByteCount:
        seed, values = frames
        return ByteCount(values=len(values), indices=len(seed), headers=0)

    def _drawn(self, seed: bytes, layout: Layout) -> Indices:
        """Return the ascending indices that `seed` stands for."""
        rng = chance.stream(chance.random_k(seed))
        counts = entries_per_variable(self.keep, layout)
        drawn = [
            np.sort(rng.choice(stop - start, entries, replace=False, shuffle=False)) + start
            for (start, stop), entries in zip(layout.bounds, counts, strict=True)
        ]
        return np.concatenate(drawn).astype(np.uint32)

    def _scaled(self, values: Vector, layout: Layout) -> Vector:
        """Return `values`, each times its variable's size over the number of entries sent.

        Raises NotFinite if a product exceeds float32.
        """
        counts = entries_per_variable(self.keep, layout)
        sizes = [variable.size for variable in layout.variables]
        factors = np.repeat(np.divide(sizes, counts).astype(np.float32), counts)
        with np.errstate(over="ignore"):
            values = values * factors
        if not np.isfinite(values).all():
            raise NotFinite("an entry of the gradient, scaled, is too large for a float32")
        return values
