"""Own models: Keras models from a file of the user, exported before and described by plain data.

A container has neither TensorFlow's Python package nor the user's file. The folder of the export
holds what the other parts of the emulator need to know, and the initial weights by seed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...errors import PythonFileError
from ...layout import Layout, Variable
from ...vectors import Vector
from .base import Model
from .task import Task

DESCRIPTION = "model.json"
"""File of an export that describes an own model."""

_MEMORY = "device-memory.json"

LOSSES = {
    "crossentropy": "Cross-entropy of the classes, from logits or from probabilities by softmax.",
    "mse": "Mean squared error of the targets of a regression.",
}
"""Losses by word."""


@dataclass(frozen=True)
class ModelSource:
    """The functions that an own model is made by."""

    reference: str
    """The function that returns the Keras model, as `/path/file.py:function`."""
    loss: str = "crossentropy"
    """`crossentropy`, `mse`, or a function as `/path/file.py:function`."""
    regression: bool = False
    """Whether answers are numbers, not classes."""


@dataclass(frozen=True)
class MeasuredMemory:
    """Private memory of a device's processes, in bytes, as measured."""

    fixed: int
    """Memory without any example, for whole gradients."""
    example: int
    """Memory of each example of a mini-batch."""
    batch_size: int
    """The smaller one of the two sizes of mini-batches that were measured."""
    codec: int
    """Memory that a codec takes beside that, as `topk` does."""
    feedback: int
    """Memory that error feedback takes beside that."""

    def of(self, batch_size: int, *, codec: bool = False, feedback: bool = False) -> int:
        """Return the memory with mini-batches of `batch_size`; with a `codec` other than dense,
        and with error `feedback`, if true."""
        whole = self.fixed + self.example * batch_size
        return whole + self.codec * codec + self.feedback * feedback


def source(reference: str, loss: str | None, regression: bool) -> ModelSource:
    """Return the source with the task's usual loss in place of a missing `loss`."""
    return ModelSource(reference, loss or ("mse" if regression else "crossentropy"), regression)


@dataclass(frozen=True)
class KerasLayer:
    """A Keras layer with parameters."""

    name: str
    type: str
    """Name of the layer's class, for example `Conv2D`."""
    parameters: int
    outputs: int
    """Numbers that the layer puts out for one example; 0 if its shape depends on the input."""


@dataclass(frozen=True)
class OwnModel(Model):
    """A model that the description in `folder` stands for."""

    origin: ModelSource = field(default_factory=lambda: ModelSource(""))
    folder: Path = field(default_factory=Path)
    """Folder of the exported model."""
    layers: tuple[KerasLayer, ...] = ()
    """The layers with parameters, in the order of the layout."""
    activations: int = 0
    """Numbers that all layers put out for one example."""
    uncut: Mapping[int, str] = field(default_factory=dict)
    """Reasons against a cut behind a layer, by its number."""
    unstaged: str = ""
    """Reason why the layers do not run apart from each other; empty if they do."""
    compiled: str = ""
    """Loss and optimizer of the model's `compile`, which no run uses, as `loss hinge, optimizer
    Adam`; empty if the model is not compiled."""

    @property
    def title(self) -> str:
        """File and function of the model, as `models.py:build`."""
        return Path(self.origin.reference).name

    def initial(self, seed: int) -> Vector:
        """Return the initial weights that Keras drew by `seed`, from the export's folder.

        Raises ValueError if the folder does not have them.
        """
        try:
            weights: Vector = np.load(self.initial_file(seed), allow_pickle=False)
        except (OSError, EOFError) as error:
            raise ValueError(f"{self.name} has no initial weights of seed {seed}") from error
        if weights.shape != (self.layout.size,) or weights.dtype != np.float32:
            raise ValueError(f"{self.initial_file(seed)} does not fit the model")
        return weights

    def initial_file(self, seed: int) -> Path:
        """Return the file of the initial weights of `seed`."""
        return self.folder / f"initial-{seed}.npy"

    @property
    def memory(self) -> MeasuredMemory | None:
        """The memory of a device; None if it was not measured yet."""
        try:
            return MeasuredMemory(**json.loads((self.folder / _MEMORY).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def keep_memory(self, memory: MeasuredMemory) -> None:
        """Keep the measured `memory` beside the graphs."""
        (self.folder / _MEMORY).write_text(json.dumps(asdict(memory)), encoding="utf-8")

    def crossing(self, layer: int) -> int:
        if self.unstaged:
            raise ValueError(f"{self.title} cannot be cut: {self.unstaged}")
        if layer in self.uncut:
            raise ValueError(
                f"{self.title} cannot be cut behind layer {layer}: {self.uncut[layer]}"
            )
        return super().crossing(layer)

    def plain(self) -> dict[str, Any]:
        """Return the description as JSON-compatible values; `read` is the inverse."""
        return {
            "name": self.name,
            "origin": asdict(self.origin),
            "task": asdict(self.task),
            "layout": self.layout.plain(),
            "crossings": [*self.crossings],
            "layers": [asdict(layer) for layer in self.layers],
            "activations": self.activations,
            "noisy": self.noisy,
            "uncut": {str(layer): reason for layer, reason in self.uncut.items()},
            "unstaged": self.unstaged,
            "compiled": self.compiled,
        }

    @classmethod
    def read(cls, folder: Path) -> "OwnModel":
        """Return the model that was exported to `folder`. Raises OSError without a description."""
        plain = json.loads((folder / DESCRIPTION).read_bytes())
        task = plain["task"]
        return cls(
            name=plain["name"],
            task=Task(**{**task, "shape": tuple(task["shape"])}),
            layout=Layout.read(plain["layout"]),
            draw=drawn_by_keras,
            logits=computed_by_keras,
            crossings=tuple(plain["crossings"]),
            origin=ModelSource(**plain["origin"]),
            folder=folder,
            layers=tuple(KerasLayer(**layer) for layer in plain["layers"]),
            activations=plain["activations"],
            noisy=plain["noisy"],
            uncut={int(layer): reason for layer, reason in plain["uncut"].items()},
            unstaged=plain["unstaged"],
            compiled=plain["compiled"],
        )


def drawn_by_keras(variable: Variable, rng: np.random.Generator) -> NoReturn:
    """Stand in for the drawing of weights, which is done in the process of the export."""
    raise TypeError("the initial weights of an own model are drawn by Keras")


def computed_by_keras(tf: Any, variables: Sequence[Any], x: Any) -> NoReturn:
    """Stand in for the forward pass, which the exported graphs hold."""
    raise TypeError("an own model is computed by its exported graphs")


@dataclass(frozen=True)
class KerasRequest:
    """A model to export, initial weights to draw, or trained weights to give back to Keras."""

    origin: ModelSource
    name: str
    """Name by which the emulator knows the model; a digest of its source is part of it."""
    folder: str
    """Folder to fill; with `trained`, the file to write, which ends in `.weights.h5`."""
    seed: int
    """Seed of the scenario, which decides the initial weights."""
    weights_only: bool = False
    """Whether the folder lacks nothing but the initial weights of `seed`."""
    trained: str = ""
    """A run's `model.npz` whose parameters Keras shall save; empty without."""


class UntrainableError(PythonFileError):
    """A Keras model cannot be trained; the message says what to use instead."""

    def __init__(self, message: str) -> None:
        super().__init__(None, None, message)
