"""The layout of a model: which variable occupies which slice of the flat parameter vector.

All other packages see parameters and gradients as one float32 vector; the layout gives each
variable its name, shape, kind of layer and position.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["conv", "dense", "recurrent", "embedding", "bias"]
"""Kind of layer that a variable belongs to; codecs may treat kinds differently."""

Segment: TypeAlias = tuple[int, int]
"""First and last layer of a run of consecutive layers, counted from 1 at the input, both
inclusive."""

PARTS_PER_LAYER = 8
"""Largest number of parts, for each layer, that a layout keeps at hand. A plan has at most two
segments for each layer."""


@dataclass(frozen=True)
class Variable:
    """A tensor of the model: name, shape, kind of layer and position of the layer.

    Codecs may treat kinds differently: Chen et al. (2018) send biases uncompressed.
    """

    name: str
    shape: tuple[int, ...]
    kind: Kind
    layer: int
    """Number of the variable's layer, which ascends from the input to the output."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """The variables of a model in the order of the flat vector."""

    variables: tuple[Variable, ...]

    @cached_property
    def size(self) -> int:
        """Number of parameters of the model."""
        return sum(variable.size for variable in self.variables)

    @cached_property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Start and stop index of each variable in the flat vector; stop is exclusive."""
        ends, end = [], 0
        for variable in self.variables:
            ends.append((end, end + variable.size))
            end += variable.size
        return tuple(ends)

    @cached_property
    def layers(self) -> tuple[slice, ...]:
        """Slice of the flat vector that each layer occupies, the layer nearest to the input first.

        A layer here has parameters: operations without parameters belong to the layer before them.
        """
        slices: dict[int, slice] = {}
        for variable, part in self:
            began = slices.get(variable.layer, part).start
            slices[variable.layer] = slice(began, part.stop)
        return tuple(slices.values())

    def place(self, segment: Segment) -> slice:
        """Return the slice of the flat vector that the layers of `segment` occupy."""
        first, last = segment
        return slice(self.layers[first - 1].start, self.layers[last - 1].stop)

    def part(self, segment: Segment) -> "Layout":
        """Return the variables in the layers of `segment` as a layout whose vector begins at 0."""
        if segment == (1, len(self.layers)):
            return self
        part = self._parts.get(segment)
        if part is None:
            # L layers have L²/2 segments, and a peer may ask for all: the oldest part goes first
            if len(self._parts) >= PARTS_PER_LAYER * len(self.layers):
                del self._parts[next(iter(self._parts))]
            part = self._parts[segment] = self._cut_out(self.place(segment))
        return part

    def _cut_out(self, place: slice) -> "Layout":
        return Layout(tuple(v for v, part in self if place.start <= part.start < place.stop))

    @cached_property
    def _parts(self) -> "dict[Segment, Layout]":
        return {}

    @cached_property
    def kinds(self) -> dict[str, int]:
        """Number of parameters by kind of layer."""
        sizes: dict[str, int] = {}
        for variable in self.variables:
            sizes[variable.kind] = sizes.get(variable.kind, 0) + variable.size
        return sizes

    def __iter__(self) -> Iterator[tuple[Variable, slice]]:
        """Yield pairs of a variable and the slice of the flat vector that the variable occupies."""
        for variable, (start, stop) in zip(self.variables, self.bounds, strict=True):
            yield variable, slice(start, stop)

    def plain(self) -> list[dict[str, Any]]:
        """Return the layout as JSON-compatible lists and dicts; `read` is the inverse."""
        return [
            {"name": v.name, "shape": list(v.shape), "kind": v.kind, "layer": v.layer}
            for v in self.variables
        ]

    @classmethod
    def read(cls, plain: list[dict[str, Any]]) -> "Layout":
        """Build a layout from the output of `plain`."""
        return cls(
            tuple(Variable(v["name"], tuple(v["shape"]), v["kind"], v["layer"]) for v in plain)
        )
