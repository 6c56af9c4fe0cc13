"""Layer tables: networks known only by the counts of their layers, too large to train here.

A table serves the planning of pulls and pushes, and runs in virtual time that play only traffic
(`virtual.learner: none`). `scenarios/profiles/networks` holds tables of published networks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from ...layout import Layout, Variable
from ...units import AtLeast, Checked

NO_TIME = "no layer has multiply_adds, so no layer would take time"
"""Message for a table without any computing."""

MOST_PARAMETERS = 1_000_000_000
"""Largest number of parameters of a table: plans and runs hold all of them in memory."""

_SOME, _ANY = AtLeast(1), AtLeast(0)


def repeated_names(names: Sequence[object]) -> list[tuple[int, str]]:
    """Return the index of each layer whose name a layer before it has, with a message.

    Anything but text in `names` counts as no name.
    """
    first: dict[str, int] = {}
    texts = [(index, name) for index, name in enumerate(names) if isinstance(name, str)]
    return [
        (index, f"{name!r} is the name of layers[{first[name]}] too: choose another name")
        for index, name in texts
        if first.setdefault(name, index) != index
    ]


def _check_name(name: str) -> None:
    """Raise ValueError if `name` shows nothing."""
    if not name.strip():
        raise ValueError(f"the name {name!r} is empty: write for example conv1_1")


@dataclass(frozen=True)
class TableLayer:
    """A layer with parameters. Pooling, activation functions and batch norm belong to the layer
    before them."""

    name: Annotated[str, Checked(_check_name)]
    """Name of the layer, for example `conv1_1`."""
    kind: Literal["conv", "dense", "recurrent"]
    """Kind of layer, which codecs may treat differently."""
    parameters: Annotated[int, _SOME]
    """Number of parameters: weights, biases, and the scales and shifts of batch norm."""
    activations: Annotated[int, _SOME]
    """Number of outputs for one example."""
    multiply_adds: Annotated[int, _ANY]
    """Number of multiplications with addition in the forward pass of one example. A layer's share
    of the computing time is its share of this number."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        _SOME.check(self.parameters)
        _SOME.check(self.activations)
        _ANY.check(self.multiply_adds)


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
        for index, message in repeated_names([layer.name for layer in self.layers]):
            raise ValueError(f"layers[{index}]: {message}")
        parameters = sum(layer.parameters for layer in self.layers)
        if parameters > MOST_PARAMETERS:
            raise ValueError(
                f"the layers have {parameters:,} parameters, and {MOST_PARAMETERS:,} at most fit "
                "into memory"
            )
        if not sum(layer.multiply_adds for layer in self.layers):
            raise ValueError(NO_TIME)

    @cached_property
    def layout(self) -> Layout:
        """The layout of the parameters, with one variable for each layer."""
        return Layout(
            tuple(
                Variable(layer.name, (layer.parameters,), layer.kind, number)
                for number, layer in enumerate(self.layers)
            )
        )
