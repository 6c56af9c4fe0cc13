"""The shares of a training step that the forward and backward passes of the layers take."""

from fractions import Fraction
from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, model_validator

from ...errors import counted
from ...learning.models.layer_table import LayerTable
from .devices import Section
from .fields import NotEmpty

BACKWARD = 2
"""Computing time of a layer's backward pass over that of its forward pass, by a layer table: the
gradients of the weights and of the inputs take a product of the forward pass's size each."""

_Relative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class LayerShares(Section):
    """Computing times of each layer, the layer nearest to the input first, relative to each other:
    virtual time divides each by the sum of all."""

    forward: Annotated[tuple[_Relative, ...], NotEmpty("give the time of each layer")]
    """Relative time of each layer's forward pass."""
    backward: Annotated[tuple[_Relative, ...], NotEmpty("give the time of each layer")]
    """Relative time of each layer's backward pass."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        there, back = len(self.forward), len(self.backward)
        if there != back:
            raise ValueError(
                f"{counted(there, 'layer')} forward and {back} backward: give both for each"
            )
        if not sum(map(Fraction, (*self.forward, *self.backward))):
            raise ValueError("all times are zero: give at least one layer a time above zero")
        return self

    @cached_property
    def parts(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Parts of a step that the forward and the backward passes take; together they are 1."""
        # exactly, so that no order of summing matters and huge numbers do not overflow
        whole = sum(map(Fraction, (*self.forward, *self.backward)))
        forward, backward = (
            tuple(float(Fraction(value) / whole) for value in values)
            for values in (self.forward, self.backward)
        )
        return forward, backward


def shares_by_counts(table: LayerTable) -> LayerShares:
    """Return shares in proportion to the multiply-adds of the layers of `table`."""
    counts = [float(layer.multiply_adds) for layer in table.layers]
    return LayerShares(forward=tuple(counts), backward=tuple(BACKWARD * count for count in counts))
