"""Bytes that cross the cut of a model for a mini-batch, from the sizes of its tensors.

Heads and framing of the messages come on top: some ten bytes for each.
"""

import math
from dataclasses import dataclass

from ...learning.models import Model
from ..plan import Cut

_WIDTHS = {"f32": 4, "f16": 2}
"""Bytes of an activation, by the coding of values."""
_LABEL = _LOGIT = 4
"""Bytes of a label and of an output, whatever the coding of activations is."""


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


def crossing_bytes(model: Model, cut: Cut, rows: int) -> CrossingBytes:
    """Return the bytes that cross the `cut` of `model` for a mini-batch of `rows` examples."""
    answers = rows * math.prod(model.task.answers)
    local = cut.labels == "local"
    return CrossingBytes(
        activations=rows * model.crossing(cut.layer) * value_width(cut),
        labels=0 if local else _LABEL * answers,
        logits=_LOGIT * answers * model.task.classes if local else 0,
    )


def value_width(cut: Cut) -> int:
    """Return the bytes of an activation."""
    return _WIDTHS[cut.values]
