"""Stages and crossings of an exported model: names of the tensors that layers read and compute.

A model of L layers has 2 · L stages: forward from layer 1 to L, then backward from layer L to 1.
All stages are parts of one graph. A stage, or several stages that follow each other, runs when the
inputs are fed and the outputs fetched. A crossing is the tensors that pass a cut of the model:
activations upwards, their gradients downwards.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...layout import Layout, Segment
from ...vectors import Vector
from .graph import read_layout
from .tensors import Array

LAYERS, STAGES = "layers.pb", "layers.json"
"""Files of an exported model: the graph in stages, and the names of its tensors."""


class CrossingTensor(NamedTuple):
    """A float32 tensor that later layers read, and the gradient of the loss by the tensor."""

    name: str
    """Name in the graph, as `operation:index`."""
    shape: tuple[int, ...]
    """Shape; -1 stands at the dimension that grows with the number of examples."""
    size: int
    """Number of floats of one example."""
    slope: str
    """Name of the gradient by the tensor, which has the same shape."""

    def array(self, flat: Vector, rows: int) -> Array:
        """Return the tensor of `rows` examples, a view of `flat`. Raises ValueError for a wrong
        size."""
        if rows < 1 or flat.shape != (rows * self.size,):
            raise ValueError(f"{rows} examples have {rows * self.size} floats, not {flat.shape}")
        return flat.reshape(self.shape)

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "CrossingTensor":
        """Build the tensor from its JSON form, a mapping."""
        return cls(plain["name"], tuple(plain["shape"]), plain["size"], plain["slope"])


@dataclass(frozen=True)
class Crossing:
    """Tensors that cross the cut behind a layer; or the reason why the model cannot be cut."""

    tensors: tuple[CrossingTensor, ...]
    refusal: str = ""
    """Reason why the model cannot be cut here; empty if it can."""

    @property
    def names(self) -> list[str]:
        """Names of the tensors that cross upwards."""
        return [tensor.name for tensor in self.tensors]

    @property
    def slopes(self) -> list[str]:
        """Names of the gradients that cross downwards."""
        return [tensor.slope for tensor in self.tensors]

    @property
    def size(self) -> int:
        """Number of floats of one example."""
        return sum(tensor.size for tensor in self.tensors)

    def arrays(self, flat: Vector, rows: int) -> list[Array]:
        """Return the tensors of `rows` examples, as views of `flat`. Raises ValueError for a wrong
        size."""
        if rows < 1 or flat.shape != (rows * self.size,):
            raise ValueError(
                f"{rows} examples have {rows * self.size} floats at the cut, not {flat.shape}"
            )
        bounds = pairwise(accumulate((tensor.size * rows for tensor in self.tensors), initial=0))
        parts = zip(self.tensors, bounds, strict=True)
        return [tensor.array(flat[start:stop], rows) for tensor, (start, stop) in parts]

    def plain(self) -> dict[str, Any]:
        """Return the crossing as JSON-compatible dicts and lists; `read` is the inverse."""
        return {"tensors": [tensor._asdict() for tensor in self.tensors], "refusal": self.refusal}

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Crossing":
        """Build a crossing from the output of `plain`."""
        return cls(tuple(map(CrossingTensor.read, plain["tensors"])), plain["refusal"])


def flat(arrays: Sequence[Array]) -> Vector:
    """Return the entries of `arrays`, in order; a single array is not copied."""
    first, *others = [np.ravel(array) for array in arrays]
    return np.concatenate([first, *others]) if others else first


@dataclass(frozen=True)
class Stage:
    """Names of the tensors that enter and leave a stage, as `operation:index`."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Stage":
        """Build a stage from its JSON form, a mapping of `inputs` and `outputs`."""
        return cls(tuple(plain["inputs"]), tuple(plain["outputs"]))


class ModelStages(NamedTuple):
    """Names of the tensors of an exported model."""

    layout: Layout
    thetas: list[str]
    """Parameters of each layer."""
    examples: list[str]
    """Inputs x and y, and noise if the model is noisy."""
    labels: tuple[int, ...]
    """Shape of y; -1 stands for the number of examples."""
    loss: str
    gradients: list[str]
    """Gradient of each layer."""
    stages: list[Stage]
    """Forward from the first layer to the last, then backward from the last layer to the first."""
    crossings: list[Crossing]
    """Tensors that cross behind each layer; behind the last layer the logits."""

    @property
    def logits(self) -> CrossingTensor:
        return self.crossings[-1].tensors[0]

    def cut(self, layer: int) -> Crossing:
        """Return the tensors that cross a cut behind `layer`, from 1.

        Raises ValueError with the reason if the model cannot be cut there.
        """
        last = len(self.thetas) - 1
        if not 1 <= layer <= last:
            raise ValueError(f"no cut behind layer {layer}: take a layer from 1 to {last}")
        crossing = self.crossings[layer - 1]
        if crossing.refusal:
            raise ValueError(f"no cut behind layer {layer}: {crossing.refusal}")
        return crossing

    def passes(self, segments: Sequence[Segment], crossing: Sequence[str]) -> list[Stage]:
        """Return the forward pass of each of `segments`, then the backward passes in reverse.

        `segments` follow each other. A pass runs the stages of its layers at once, and hands on
        the tensors that later passes read, the loss and the gradients that it computes, and the
        last forward pass those that cross the cut, `crossing`: no stage has a tensor as output
        that the next stage computes once more.
        """
        count, results = 2 * len(self.thetas), {self.loss, *self.gradients}
        spans = [(first - 1, last) for first, last in segments]
        spans += [(count - last, count - first) for first, last in reversed(spans)]
        runs = [self.stages[first:last] for first, last in spans]
        read = [read_from_outside(stages) for stages in runs]
        passes = []
        for number, stages in enumerate(runs):
            later = results.union(*read[number + 1 :])
            made = [name for stage in stages for name in stage.outputs if name in later]
            crossed = crossing if number == len(segments) - 1 else ()
            outputs = dict.fromkeys((*made, *crossed))
            passes.append(Stage((*read[number],), (*outputs,)))
        return passes


def read(folder: Path) -> ModelStages:
    """Return the names of the model exported to `folder`."""
    about = json.loads((folder / STAGES).read_bytes())
    return ModelStages(
        read_layout(folder),
        about["thetas"],
        about["examples"],
        tuple(about["labels"]),
        about["loss"],
        about["gradients"],
        [Stage.read(stage) for stage in about["stages"]],
        [*map(Crossing.read, about["crossings"])],
    )


def read_from_outside(stages: Sequence[Stage]) -> list[str]:
    """Return the names of the tensors that `stages` read, without tensors that `stages` compute."""
    produced = {name for stage in stages for name in stage.outputs}
    read = dict.fromkeys(name for stage in stages for name in stage.inputs)
    return [name for name in read if name not in produced]


def unread_after(stages: Sequence[Stage]) -> list[list[str]]:
    """Return, for each stage, the names of the tensors to free after the stage.

    A tensor is freed after the last stage that reads the tensor.
    """
    produced = {name for stage in stages for name in stage.outputs}
    last: dict[str, int] = {}
    for number, stage in enumerate(stages):
        last.update(dict.fromkeys([*stage.outputs, *stage.inputs], number))
    freed: list[list[str]] = [[] for _ in stages]
    for name, number in last.items():
        if name in produced:
            freed[number].append(name)
    return freed
