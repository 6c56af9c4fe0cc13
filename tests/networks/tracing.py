"""A tracer of networks: adds up each layer's parameters, activations and multiply-adds.

Counts hold for the forward pass of one example. Multiply-adds are those of convolutions and dense
layers; additions of biases, batch norm, ReLU and pooling count as none. A layer's activations are
the outputs of its convolution or dense product, before any pooling (Radosavovic et al., 2020,
"Designing Network Design Spaces").
"""

import math
from dataclasses import dataclass, field
from typing import Literal

Padding = Literal["same", "valid"]


@dataclass(frozen=True)
class Feature:
    """The shape of a feature map: `side` × `side` pixels with `channels` values each."""

    channels: int
    side: int


@dataclass(frozen=True)
class TracedLayer:
    """The counts of a layer, named as in the layer table."""

    name: str
    kind: Literal["conv", "dense"]
    parameters: int
    activations: int
    multiply_adds: int


@dataclass
class Tracer:
    """Collects the layers of a network in the order of the calls."""

    normed: bool = False
    """Whether each convolution is followed by batch norm, a scale and a shift for each channel, in
    place of a bias."""
    layers: list[TracedLayer] = field(default_factory=list)

    def conv(
        self,
        name: str,
        before: Feature,
        filters: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        padding: Padding = "same",
    ) -> Feature:
        """Add a convolution with `filters` windows of `kernel` pixels; return its output."""
        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        after = Feature(filters, _side(before.side, max(height, width), stride, padding))
        window = height * width * before.channels
        outputs = filters * after.side**2
        parameters = window * filters + filters * (2 if self.normed else 1)
        row = TracedLayer(name, "conv", parameters, outputs, outputs * window)
        self.layers.append(row)
        return after

    def dense(self, name: str, inputs: int, outputs: int) -> int:
        """Add a dense layer with a bias; return its number of `outputs`."""
        products = inputs * outputs
        self.layers.append(TracedLayer(name, "dense", products + outputs, outputs, products))
        return outputs


def pool(before: Feature, kernel: int, stride: int, padding: Padding = "same") -> Feature:
    """Return the output of a pooling layer, which has no parameters."""
    return Feature(before.channels, _side(before.side, kernel, stride, padding))


def join(*branches: Feature) -> Feature:
    """Return the concatenation of `branches`, which have the same side, along the channels."""
    (side,) = {branch.side for branch in branches}
    return Feature(sum(branch.channels for branch in branches), side)


def _side(side: int, kernel: int, stride: int, padding: Padding) -> int:
    """Return the side of the output of a window of `kernel` pixels over `side` pixels.

    `same` pads so that only the stride makes the output smaller; `valid` does not pad.
    """
    covered = side if padding == "same" else side - kernel + 1
    return math.ceil(covered / stride)
