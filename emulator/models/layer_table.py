"""Layer tables: networks known only by the counts of their layers, too large to train here.

A table serves the planning of pulls and pushes, and runs in virtual time that play only traffic
(`virtual.learner: none`). `scenarios/profiles/networks` holds tables of published networks.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..layout import Layout, Variable

_LEAST = {"parameters": 1, "activations": 1, "multiply_adds": 0}


@dataclass(frozen=True)
class TableLayer:
    """A layer with parameters. Pooling, activation functions and batch norm belong to the layer
    before them."""

    name: str
    """Name of the layer, for example `conv1_1`."""
    kind: Literal["conv", "dense", "recurrent"]
    """Kind of layer, which codecs may treat differently."""
    parameters: int
    """Number of parameters: weights, biases, and the scales and shifts of batch norm."""
    activations: int
    """Number of outputs for one example."""
    multiply_adds: int
    """Number of multiplications with addition in the forward pass of one example. A layer's share
    of the computing time is its share of this number."""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            count = getattr(self, name)
            if count < least:
                raise ValueError(f"{name} is {count}: write a whole number from {least} up")


@dataclass(frozen=True, kw_only=True)
class LayerTable:
    """A network as a table of its layers, the layer nearest to the input first."""

    name: str = "network"
    """Name of the network. A table read from a file bears the file's name."""
    layers: tuple[TableLayer, ...]
    """Layers with parameters, the layer nearest to the input first. Layers of parallel branches
    follow each other."""
    input: tuple[int, ...] = ()
    """Shape of one example, for example `[224, 224, 3]`; not used in the calculation."""

    def __post_init__(self) -> None:
        if not self.layers:
            raise ValueError("layers is empty: name at least one layer")
        names = [layer.name for layer in self.layers]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"two layers are named {twice!r}")
        if not sum(layer.multiply_adds for layer in self.layers):
            raise ValueError("no layer has multiply_adds, so no layer would take time")

    @cached_property
    def layout(self) -> Layout:
        """The layout of the parameters, with one variable for each layer."""
        return Layout(
            tuple(
                Variable(layer.name, (layer.parameters,), layer.kind, number)
                for number, layer in enumerate(self.layers)
            )
        )
