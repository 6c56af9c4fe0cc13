"""Tensors that cross a cut of a model: activations upwards, their gradients downwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...vectors import Vector
from .tensors import Array


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
        ends = np.cumsum([tensor.size * rows for tensor in self.tensors])[:-1]
        parts = zip(self.tensors, np.split(flat, ends), strict=True)
        return [tensor.array(part, rows) for tensor, part in parts]

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
