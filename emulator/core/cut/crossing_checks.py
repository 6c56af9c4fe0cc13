"""Checks of messages that cross a cut: untrusted values, before the server computes with them."""

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...errors import WireError
from ...plugins.stateful import Held
from ...vectors import Vector
from ..wire.messages import Activations, LogitGradient
from .activation_values import ActivationCoding, decode_f32, decode_labels


@dataclass(frozen=True)
class ExampleSizes:
    """Numbers of values of one example at the cut of a model and at its end."""

    activations: int
    """Floats that cross the cut."""
    labels: int
    """Labels: 1 for an image, one for each character of a text."""
    classes: int
    """Classes of a label."""

    @property
    def logits(self) -> int:
        """Outputs of the model."""
        return self.labels * self.classes


class SentActivations(Held, msgspec.Struct, frozen=True, eq=False):
    """Activations that are decoded and checked."""

    node: str
    version: int
    """Version of the device's part of the model."""
    ticket: int
    rows: int
    values: Vector
    labels: NDArray[np.int32] | None
    """None: the labels stay on the device."""
    size: int
    """Bytes of the message on the wire."""


class CutChecks:
    """Checks and decodes activations and gradients by logits. All methods raise WireError."""

    def __init__(self, sizes: ExampleSizes, coding: ActivationCoding, *, labels_sent: bool) -> None:
        self._sizes, self._coding, self._labels_sent = sizes, coding, labels_sent

    def activations(self, sent: Activations, rows: int, size: int) -> SentActivations:
        """Return the activations in `sent`, whose sender computes on `rows` examples.

        `size` is the size of the message in bytes.
        """
        if sent.rows != rows:
            raise WireError(f"{sent.node} has mini-batches of {rows} examples, not {sent.rows}")
        expected = rows * self._sizes.activations * self._coding.item
        if len(sent.activations) != expected:
            raise WireError(f"{len(sent.activations)} bytes of activations, expected {expected}")
        labels = None if sent.labels is None else self._labels(sent.labels, rows)
        if (labels is not None) != self._labels_sent:
            raise WireError("labels stay on devices" if labels is not None else "no labels")
        values = self._coding.decode(sent.activations)
        return SentActivations(sent.node, sent.version, sent.ticket, rows, values, labels, size)

    def logit_gradient(self, sent: LogitGradient, rows: int) -> Vector:
        """Return the gradient in `sent`, by the logits of `rows` examples."""
        if len(sent.gradient) != (expected := 4 * rows * self._sizes.logits):
            raise WireError(f"{len(sent.gradient)} bytes by logits, expected {expected}")
        gradient = decode_f32(sent.gradient)
        if not np.isfinite(gradient).all():
            raise WireError("a gradient by logits is not finite")
        return gradient

    def _labels(self, frame: bytes | memoryview, rows: int) -> NDArray[np.int32]:
        if len(frame) != (expected := 4 * rows * self._sizes.labels):
            raise WireError(f"{len(frame)} bytes of labels, expected {expected}")
        labels = decode_labels(frame)
        if labels.min() < 0 or labels.max() >= self._sizes.classes:
            raise WireError(f"a label is not from 0 to {self._sizes.classes - 1}")
        return labels
