"""Lies in place of gradients: what a device under the fault `byzantine` encodes and sends."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import chance
from ...codecs.base import Encoder
from ...codecs.segment_encoder import SegmentEncoder
from ...layout import Segment
from ...vectors import Frames, Vector
from ...world.verbs import Setting

VERB = "falsify"
"""The verb whose setting says how a device lies."""


class Falsifier:
    """The lies of one incarnation of a device; keeps the gradient that `replay` repeats."""

    def __init__(self, seed: int, device: str, incarnation: int) -> None:
        """`seed` is the run's."""
        self._dice = chance.stream(chance.lies(seed, device, incarnation))
        self._first: dict[Segment | None, Vector] = {}

    def falsify(
        self, gradient: Vector, setting: Setting | None, segment: Segment | None = None
    ) -> Vector:
        """Return the lie in place of `gradient`, f32[n], or `gradient` itself without a `setting`.

        `segment` names the layers of a gradient that travels in pieces.
        """
        if setting is None:
            self._first.clear()
            return gradient
        by, lie = np.float32(setting["by"]), setting["lie"]
        with np.errstate(over="ignore"):  # the encoder refuses what is not finite
            match lie:
                case "sign-flip":
                    return -by * gradient
                case "scale":
                    return by * gradient
                case "noise":
                    return gradient + by * self._noise(gradient)
                case "replay":
                    return by * self._first.setdefault(segment, gradient.copy())
                case "same-value":
                    return np.full_like(gradient, by)
        raise ValueError(f"no such lie: {lie!r}")

    def _noise(self, gradient: Vector) -> Vector:
        """Return normal noise with the root mean square of `gradient`."""
        scale = np.sqrt(np.mean(np.square(gradient, dtype=np.float64)))
        return np.float32(scale) * self._dice.standard_normal(gradient.size, np.float32)


class FalsifyingEncoder:
    """An encoder of whole gradients or of segments that encodes lies while its device lies."""

    def __init__(
        self,
        encoder: Encoder | SegmentEncoder,
        falsifier: Falsifier,
        settings: Callable[[], Mapping[str, Setting]],
    ) -> None:
        """`settings` returns the settings in force, by verb."""
        self._encoder: Any = encoder
        self._falsifier, self._settings = falsifier, settings

    def encode(self, *piece: Any) -> Frames:
        """Encode a gradient, with the segment of layers before it if the encoder takes one."""
        *segment, gradient = piece
        lie = self._falsifier.falsify(gradient, self._settings().get(VERB), *segment)
        frames: Frames = self._encoder.encode(*segment, lie)
        return frames
