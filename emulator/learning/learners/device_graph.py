"""The layers of an exported model before a cut, which a device computes through the C library."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...vectors import Vector
from .crossings import flat
from .cut_graph import PartialRun, by_layer, load, read
from .stages import read_from_outside
from .tensors import Tensor, copied


class KeptTensors(NamedTuple):
    """Tensors of an iteration on a device, from the forward to the backward pass.

    TensorFlow's memory is freed with the last reference. Any `DeviceGraph` of the same cut may
    compute the backward pass.
    """

    rows: int
    """Number of examples."""
    tensors: dict[str, Tensor]


class DeviceGraph:
    """A DeviceNetwork of TensorFlow's graph. The batch size may change from call to call.

    It runs on the calling thread alone.
    """

    def __init__(self, folder: Path, layer: int) -> None:
        """Load the layers up to `layer` of the model exported to `folder`.

        Raises ValueError with the reason if the model cannot be cut there.
        """
        self._model = model = read(folder, layer)
        self.layout = model.layout.part((1, layer))
        up, down = model.crossing.names, model.crossing.slopes
        given, gradients = [*model.thetas[:layer], model.x], model.gradients[:layer]
        # the last stages are the backward passes of layers `layer` to 1
        self._read = read_from_outside(model.stages[-layer:])
        kept = [name for name in self._read if name not in {*given, *down}]
        graph = load(folder)
        self.close = graph.close
        self._forward = PartialRun(graph, given, [*dict.fromkeys((*up, *kept))])
        self._backward = PartialRun(graph, self._read, gradients)
        self._both = PartialRun(graph, [*given, *down], gradients)
        logits = model.logits
        self._loss = PartialRun(graph, [logits.name, model.y], [model.loss, logits.slope])

    def forward(self, weights: Vector, x: NDArray[np.float32]) -> tuple[Vector, KeptTensors]:
        given = self._given(weights, x)
        computed = self._forward(_handles(given))
        activations = flat([computed[name].array for name in self._model.crossing.names])
        tensors = {**given, **computed}
        kept = {name: tensors[name] for name in self._read if name in tensors}
        return activations, KeptTensors(len(x), kept)

    def backward(self, kept: KeptTensors, slopes: Vector) -> Vector:
        given = {**kept.tensors, **self._slopes(slopes, kept.rows)}
        return _flat(self._backward(_handles(given)))

    def gradient(self, weights: Vector, x: NDArray[np.float32], slopes: Vector) -> Vector:
        given = {**self._given(weights, x), **self._slopes(slopes, len(x))}
        return _flat(self._both(_handles(given)))

    def loss(self, logits: Vector, y: NDArray[np.int32]) -> tuple[float, Vector]:
        model = self._model
        array = model.logits.array(logits, len(y))
        given = {model.logits.name: copied(array), model.y: copied(y)}
        computed = self._loss(_handles(given))
        return float(computed[model.loss].array), np.ravel(computed[model.logits.slope].array)

    def prepare(self, x: NDArray[np.float32], y: NDArray[np.int32]) -> None:
        """Run all passes on a batch: TensorFlow prepares a pass when the pass runs first."""
        activations, kept = self.forward(np.zeros(self.layout.size, np.float32), x)
        self.backward(kept, activations)
        self.loss(np.zeros(len(x) * self._model.logits.size, np.float32), y)

    def _given(self, weights: Vector, x: NDArray[np.float32]) -> dict[str, Tensor]:
        parts = zip(self._model.thetas, by_layer(self.layout, weights), strict=False)
        return {**{name: copied(part) for name, part in parts}, self._model.x: copied(x)}

    def _slopes(self, slopes: Vector, rows: int) -> dict[str, Tensor]:
        crossing = self._model.crossing
        arrays = crossing.arrays(slopes, rows)
        return dict(zip(crossing.slopes, map(copied, arrays), strict=True))


def _handles(tensors: Mapping[str, Tensor]) -> dict[str, int]:
    return {name: tensor.handle for name, tensor in tensors.items()}


def _flat(gradients: Mapping[str, Tensor]) -> Vector:
    """Return the layers' gradients, the first layer's first."""
    return flat([tensor.array for tensor in gradients.values()])
