"""The section `virtual`: computing times, and the model of TCP, in virtual time."""

from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from ...errors import counted
from ...learning.models.layer_table import LayerTable
from ...world.laws import Law
from .devices import Section
from .fields import AnyLaw, NotEmpty


class DealtStep(Section):
    """Computing time of a device of a compute group, for its share of the group's mini-batch."""

    examples: Annotated[int, Field(ge=1)]
    """Number of examples in the device's mini-batch."""
    step: AnyLaw
    """Computing time from a model to its update, on a whole core of the host."""


class BatchTime(NamedTuple):
    """The time of a mini-batch on a whole core: `share` of a draw from `law`."""

    law: Law
    share: float = 1.0

    @property
    def mean(self) -> float:
        """Return the mean time in seconds."""
        return self.law.mean * self.share


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


class Virtual(Section):
    """Assumptions of virtual time: computing times, and the model of TCP. Containers measure
    real times instead and ignore this section."""

    learner: Literal["tensorflow", "numpy", "none"] = "tensorflow"
    """Learner that computes the gradients in virtual time: `tensorflow` for every model, `numpy`
    for perceptrons, `none` to play only traffic, with the message sizes that the codec is
    expected to make."""
    step: AnyLaw | None = None
    """Computing time from a model to its update, on a whole core of the host. Without `step` the
    time comes from the calibration of this host. With `groups` it is the time of the whole
    `batch_size`, and a device takes its share of it."""
    dealt: tuple[DealtStep, ...] | None = None
    """Computing times of devices of compute groups, for mini-batches of other sizes than their
    share of `step`. A run without `step` writes its measured times here."""
    boot: AnyLaw | None = None
    """Start-up time of a worker, on a whole core of the host. Without `boot` the time comes from
    the calibration of this host."""
    serve: AnyLaw | None = None
    """Time for which an update occupies the server, which has one core. Without `serve` the time
    comes from the calibration of this host, or is zero if `step` is given."""
    dense: AnyLaw | None = None
    """Time for which a pass through the layers that the server holds
    (`training.fully_connected`) occupies the server, for the whole `batch_size`. Without `dense`
    the time comes from the calibration of this host."""
    layers: LayerShares | None = None
    """Shares of `step` that each layer takes, which matter to schedules that cut a model into
    segments, and to a cut model (`training.fully_connected`). Without `layers` the shares come from
    the calibration of this host."""
    tcp: bool = True
    """TCP on the links of virtual time: with `true`, slow start, loss and back-off after a cut;
    with `false`, ideal links."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.dealt and self.step is None:
            raise ValueError("dealt stands beside a step: give step too")
        return self

    def time_of(self, examples: int, batch_size: int) -> BatchTime:
        """Return the time of a mini-batch of `examples`, dealt out of `batch_size`.

        Raises TypeError if `step` is open.
        """
        if self.step is None:
            raise TypeError("virtual.step must be known")
        measured = [dealt.step for dealt in self.dealt or () if dealt.examples == examples]
        return BatchTime(measured[-1]) if measured else BatchTime(self.step, examples / batch_size)

    @property
    def open(self) -> bool:
        """Whether the scenario leaves a time to calibration."""
        return self.step is None or self.boot is None

    def filled(self, *, step: Law, boot: Law, serve: Law) -> Self:
        """Return a copy with the calibrated `step`, `boot` and `serve` in place of missing ones."""
        # a step given in the file may be of another host: a server time measured on this one would
        # not fit
        serves = serve if self.step is None else None
        laws = {"step": self.step or step, "boot": self.boot or boot, "serve": self.serve or serves}
        return self.model_copy(update=laws)
