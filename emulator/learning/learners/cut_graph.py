"""Names of the tensors of an exported model that is cut behind a layer, and runs of the graph.

`device_graph` computes the layers before the cut, and `server_graph` the layers behind it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...layout import Layout
from ...vectors import Vector
from .crossings import Crossing, CrossingTensor
from .graph import read_layout
from .staged_graph import LAYERS, STAGES
from .stages import Stage
from .tensors import Array, Tensor, owned
from .tf_session import LoadedGraph


class CutModel(NamedTuple):
    """Names of an exported model that is cut behind a layer."""

    layout: Layout
    """Layout of the whole model."""
    thetas: list[str]
    """Parameters of each layer."""
    x: str
    y: str
    labels: tuple[int, ...]
    """Shape of y; -1 stands for the number of examples."""
    loss: str
    gradients: list[str]
    """Gradient of each layer."""
    stages: list[Stage]
    """Forward from the first layer to the last, then backward from the last layer to the first."""
    crossing: Crossing
    """Tensors that cross the cut."""
    logits: CrossingTensor


def read(folder: Path, layer: int) -> CutModel:
    """Return the names of the model exported to `folder`, cut behind `layer`, from 1.

    Raises ValueError with the reason if the model cannot be cut there.
    """
    about = json.loads((folder / STAGES).read_bytes())
    *places, behind_the_last = map(Crossing.read, about["crossings"])
    if not 1 <= layer <= len(places):
        raise ValueError(f"no cut behind layer {layer}: take a layer from 1 to {len(places)}")
    crossing, (x, y) = places[layer - 1], about["examples"]
    if crossing.refusal:
        raise ValueError(f"no cut behind layer {layer}: {crossing.refusal}")
    return CutModel(
        read_layout(folder),
        about["thetas"],
        x,
        y,
        tuple(about["labels"]),
        about["loss"],
        about["gradients"],
        [Stage.read(stage) for stage in about["stages"]],
        crossing,
        behind_the_last.tensors[0],
    )


def load(folder: Path) -> LoadedGraph:
    """Return the graph in layers of the model exported to `folder`."""
    return LoadedGraph((folder / LAYERS).read_bytes())


class PartialRun:
    """A run of a part of a graph, from given tensors to results."""

    def __init__(self, graph: LoadedGraph, given: Sequence[str], results: Sequence[str]) -> None:
        self._graph = graph
        self._given, self._results = [*given], [*results]
        self._inputs, self._outputs = graph.find(given), graph.find(results)

    def __call__(self, tensors: Mapping[str, int]) -> dict[str, Tensor]:
        """Return the results by name, computed from the handles of the `tensors`."""
        fed = [tensors[name] for name in self._given]
        computed = self._graph.run(self._inputs, fed, self._outputs)
        return dict(zip(self._results, map(owned, computed), strict=True))


def by_layer(layout: Layout, weights: Vector) -> Iterator[Array]:
    """Yield the parameters of each layer of `layout`. Raises ValueError for a wrong size."""
    # TensorFlow does not check placeholders' shapes: it would use the head of a longer vector
    if weights.shape != (layout.size,):
        raise ValueError(f"weights have shape {weights.shape}, the layers {layout.size} parameters")
    return (weights[place] for place in layout.layers)
