"""Values that cross the cut of a model: their codings, their checks, and the bytes of a mini-batch.

A coding is `f32`, or `f16` for half the bytes. `f16` clips values to ±65,504, its largest number.
The gradient of a mean loss has many values below 6e-8, the smallest number of `f16`. So gradients
travel multiplied by 1024 times the number of examples, rounded up to a power of two (static loss
scaling: Micikevicius et al., 2018, section 3.2); the power of two makes the scaling itself exact.

Activations that are not finite are never sent: the device has diverged. A gradient that is not
finite travels as NaN alone, so that the device finds its own gradient not finite, and says so.

Values of devices are untrusted: `CutChecks` looks at them before the server computes with them.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...errors import WireError
from ...learning.learners.base import Activated
from ...learning.models import Model
from ...plugins.stateful import Held
from ...vectors import LARGEST_F16, Buffer, NotFinite, Vector
from ..plan import Cut
from ..wire.messages import ActivationGradient, Activations, LogitGradient, Logits

_F32, _F16, _LABEL = np.dtype("<f4"), np.dtype("<f2"), np.dtype("<i4")
_SCALE = 1024
"""Factor on each example's gradient in float16: values up to 64 are not clipped."""


class ActivationCoding:
    """A coding of activations and of their gradients, as both ends of a cut use it."""

    def __init__(self, values: str) -> None:
        """`values` is `f32` or `f16`."""
        self._half = {"f32": False, "f16": True}[values]
        self.item = (_F16 if self._half else _F32).itemsize
        """Bytes of a value."""

    def encode(self, activations: Vector) -> Buffer:
        """Return the frame of `activations`; raise NotFinite if a value is not finite."""
        if not np.isfinite(activations).all():
            raise NotFinite("an activation is not finite")
        return self._bytes(activations)

    def decode(self, frame: Buffer) -> Vector:
        """Return the activations in `frame`; raise WireError if a value is not finite."""
        values = np.frombuffer(frame, _F16 if self._half else _F32)
        if not np.isfinite(values).all():
            raise WireError("an activation is not finite")
        return values.astype(np.float32, copy=False)

    def encode_gradient(self, gradient: Vector, rows: int) -> Buffer:
        """Return the frame of the gradient of a mean loss over `rows` examples by the activations.

        If a value is not finite, all values of the frame are NaN.
        """
        if not np.isfinite(gradient).all():
            return self._bytes(np.full(gradient.shape, np.nan, np.float32))
        return self._bytes(gradient * _scale(rows) if self._half else gradient)

    def decode_gradient(self, frame: Buffer, rows: int) -> Vector:
        """Return the gradient in `frame`, of a mean loss over `rows` examples."""
        if not self._half:
            return np.frombuffer(frame, _F32).astype(np.float32, copy=False)
        return np.frombuffer(frame, _F16).astype(np.float32) / _scale(rows)

    def _bytes(self, values: Vector) -> bytes:
        if not self._half:
            return values.astype(_F32, copy=False).tobytes()
        return values.clip(-LARGEST_F16, LARGEST_F16).astype(_F16).tobytes()


def _scale(rows: int) -> np.float32:
    """Return the power of two by which gradients of a mean over `rows` examples are multiplied."""
    return np.float32(_SCALE << (rows - 1).bit_length())


class CodedActivations(NamedTuple):
    """The activations of a mini-batch, as the frames of a message."""

    rows: int
    activations: Buffer
    labels: Buffer | None
    """None: the labels stay on the device."""


class DeviceCoder:
    """Codes activations, logits and gradients at the device's end of a cut."""

    def __init__(self, cut: Cut) -> None:
        self._coding = ActivationCoding(cut.values)
        self._labels_sent = cut.labels == "sent"

    def activations(self, activated: Activated) -> CodedActivations:
        """Return the frames of `activated`; raise NotFinite if an activation is not finite."""
        labels = encode_labels(activated.labels) if self._labels_sent else None
        return CodedActivations(activated.rows, self._coding.encode(activated.activations), labels)

    def slopes(self, answer: ActivationGradient, rows: int) -> Vector:
        """Return the gradient by the activations of `rows` examples that `answer` holds."""
        return self._coding.decode_gradient(answer.gradient, rows)

    def logits(self, answer: Logits) -> Vector:
        """Return the values of `answer`, row by row."""
        return decode_f32(answer.logits)

    def logit_gradient(self, gradient: Vector) -> Buffer:
        """Return the frame of the `gradient` by the logits; raise NotFinite if it is not finite."""
        if not np.isfinite(gradient).all():
            raise NotFinite("a gradient by the logits is not finite")
        return encode_f32(gradient)


def encode_f32(values: Vector) -> Buffer:
    """Return the frame of `values` as float32."""
    return values.astype(_F32, copy=False).tobytes()


def decode_f32(frame: Buffer) -> Vector:
    """Return the float32 values in `frame`."""
    return np.frombuffer(frame, _F32).astype(np.float32, copy=False)


def encode_labels(labels: NDArray[Any]) -> Buffer:
    """Return the frame of `labels` as int32."""
    return labels.astype(_LABEL, copy=False).tobytes()


def decode_labels(frame: Buffer) -> NDArray[np.int32]:
    """Return the labels in `frame`, flat int32."""
    return np.frombuffer(frame, _LABEL).astype(np.int32, copy=False)


@dataclass(frozen=True)
class CrossingBytes:
    """Bytes that one device sends and receives at the cut for an update."""

    activations: int
    """Activations up, and as many bytes of their gradient down."""
    labels: int
    """Labels up; 0: they stay on the device."""
    logits: int
    """Outputs down, and as many bytes of their gradient up; 0 unless labels stay on the device."""

    @property
    def up(self) -> int:
        """Bytes from the device to the server."""
        return self.activations + self.labels + self.logits

    @property
    def down(self) -> int:
        """Bytes from the server to the device."""
        return self.activations + self.logits

    @property
    def largest(self) -> int:
        """Bytes of the largest frame."""
        return max(self.activations, self.labels, self.logits)

    @property
    def messages(self) -> int:
        """Number of messages up, and as many down."""
        return 2 if self.logits else 1


def crossing_bytes(model: Model, cut: Cut | None, rows: int) -> CrossingBytes:
    """Return the bytes that cross the `cut` of `model` for a mini-batch of `rows` examples.

    Nothing crosses without a cut. Heads and framing of the messages come on top: some ten bytes
    for each.
    """
    if cut is None:
        return CrossingBytes(0, 0, 0)
    answers = rows * math.prod(model.task.answers)
    local = cut.labels == "local"
    return CrossingBytes(
        activations=rows * model.crossing(cut.layer) * ActivationCoding(cut.values).item,
        labels=0 if local else _LABEL.itemsize * answers,
        logits=_F32.itemsize * answers * model.task.classes if local else 0,
    )


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
