"""Lies in place of gradients: what a device under the fault `byzantine` encodes and sends."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import chance
from ...layout import Segment
from ...vectors import Frames, Vector
from ...world.verbs import Setting
from .worker import GradientEncoder

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
    """A GradientEncoder that encodes lies while its device lies."""

    def __init__(
        self,
        encoder: GradientEncoder[Vector],
        falsifier: Falsifier,
        settings: Callable[[], Mapping[str, Setting]],
    ) -> None:
        """`settings` returns the settings in force, by verb."""
        self._encoder, self._falsifier, self._settings = encoder, falsifier, settings

    def encode(self, gradient: Vector, /) -> Frames:
        setting = self._settings().get(VERB)
        return self._encoder.encode(self._falsifier.falsify(gradient, setting))


class FalsifyingSegmentEncoder:
    """An encoder of segments that encodes lies while its device lies."""

    def __init__(
        self,
        encoder: Any,
        falsifier: Falsifier,
        settings: Callable[[], Mapping[str, Setting]],
    ) -> None:
        """`encoder` is a SegmentEncoder; `settings` returns the settings in force, by verb."""
        self._encoder, self._falsifier, self._settings = encoder, falsifier, settings

    def encode(self, segment: Segment, gradient: Vector, /) -> Frames:
        setting = self._settings().get(VERB)
        lie = self._falsifier.falsify(gradient, setting, segment)
        frames: Frames = self._encoder.encode(segment, lie)
        return frames
