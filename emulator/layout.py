"""How a model's variables lie in the one flat vector that everything else sees."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["conv", "dense", "recurrent", "bias"]


@dataclass(frozen=True)
class Variable:
    """One tensor of the model. Codecs treat kinds apart (Chen et al., 2018: biases go dense)."""

    name: str
    shape: tuple[int, ...]
    kind: Kind
    layer: int
    """Which layer it belongs to, counted from the input; what a segmented pull asks for."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """Variables in the order in which they stand in the flat vector."""

    variables: tuple[Variable, ...]

    @cached_property
    def size(self) -> int:
        """The number of parameters."""
        return sum(variable.size for variable in self.variables)

    @cached_property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """First and last-plus-one index of each variable in the flat vector."""
        ends, end = [], 0
        for variable in self.variables:
            ends.append((end, end + variable.size))
            end += variable.size
        return tuple(ends)

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many parameters each kind of layer has."""
        sizes: dict[str, int] = {}
        for variable in self.variables:
            sizes[variable.kind] = sizes.get(variable.kind, 0) + variable.size
        return sizes

    def __iter__(self) -> Iterator[tuple[Variable, slice]]:
        for variable, (start, stop) in zip(self.variables, self.bounds, strict=True):
            yield variable, slice(start, stop)

    def plain(self) -> list[dict[str, Any]]:
        """As JSON holds it; `Layout.read` is its inverse."""
        return [
            {"name": v.name, "shape": list(v.shape), "kind": v.kind, "layer": v.layer}
            for v in self.variables
        ]

    @classmethod
    def read(cls, plain: list[dict[str, Any]]) -> "Layout":
        return cls(
            tuple(Variable(v["name"], tuple(v["shape"]), v["kind"], v["layer"]) for v in plain)
        )
