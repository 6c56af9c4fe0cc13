"""Small sections on how a run is played and recorded: `time`, `tcp`, `measure` and `report`."""

import math
from typing import Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import Field
from pydantic_core import core_schema

from ...plugins import Family
from ..reading.wording import quoted
from .devices import Section
from .fields import Kinds

AUTO = "auto"

MOST_DILATION = 1000.0
"""Largest dilation: a second of the run takes a quarter of an hour."""


class _Dilation:
    """Reads a dilation: the word `auto`, or a number from 1 to `MOST_DILATION`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_plain_validator_function(_dilation)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "anyOf": [
                {"const": AUTO},
                {"type": "number", "minimum": 1, "maximum": MOST_DILATION},
            ]
        }


def _dilation(value: Any) -> str | float:
    if value == AUTO:
        return AUTO
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and math.isfinite(value) and 1 <= value <= MOST_DILATION:
        return float(value)
    raise ValueError(f"{quoted(value)} is not {AUTO}, or a number from 1 to {MOST_DILATION:g}")


AnyDilation: TypeAlias = Annotated[str | float, _Dilation()]


class TimeSection(Section):
    """Time of the run in containers: the time dilation."""

    dilation: AnyDilation = 1.0
    """Time dilation of a run in containers: with `4` everything takes four times as long as the
    scenario says, and is reported in the scenario's own seconds, so that a host can play four times
    the devices. `auto` takes the dilation that `emulate check` names for the host."""


Congestion: TypeAlias = Literal["cubic", "bbr", "reno"]

USUAL: Congestion = "cubic"
"""Congestion control of virtual time for a scenario without `tcp`: most devices run it."""


class TcpSection(Section):
    """TCP of every node: the server's, the devices' and the evaluator's."""

    congestion: Congestion
    """Congestion control of all containers. The host must allow it to containers: `emulate check`
    names the command if it does not. Virtual time models it, and without `tcp` models `cubic`."""


class MomentumSection(Section):
    """Momentum: each of the run's first steps is kept beside the gradient at the model before it.

    `emulate report` and `emulate compare` fit the implicit momentum of asynchronous training to
    them (Mitliagkas et al., 2016).
    """

    steps: Annotated[int, Field(ge=10, le=100_000)] = 1000
    """Number of steps of the server to keep, from the first step on."""
    examples: Annotated[int, Field(ge=1)] = 100
    """Number of training examples, drawn anew for each step, over which the gradient at the model
    before the step is taken."""
    directions: Annotated[int, Field(ge=1, le=4096)] = 64
    """Number of random sums of parameters in which steps and gradients are kept. A model with no
    more parameters than this is kept whole."""


class CompressionSection(Section):
    """Compression by layer: the entries of an update, and the residue that it leaves."""

    every: Annotated[int, Field(ge=1)] = 100
    """Number of updates of a device between two that are measured."""


class MeasureSection(Section):
    """Measurements that a run makes only on request."""

    momentum: MomentumSection | None = None
    """Momentum of the run's steps, kept in `trajectory.npz`. Only in virtual time, with real
    gradients."""
    compression: CompressionSection | None = None
    """Entries and residues of devices' updates by variable, in records `compression`. Only in
    virtual time, with real gradients that travel whole."""


class Figure(Protocol):
    """A drawing of runs. The docstring of its class is the heading, then the caption."""

    def draw(self, runs: Any, ax: Any) -> None:
        """Draw the tables of `runs`, as `emulator.analysis.load` returns them, on the Matplotlib
        axes `ax`."""


FIGURES = Family("figures", None, Figure)
"""Figures of users; those of every report are modules of the analysis (docs/add-a-figure.md)."""

FigureField: TypeAlias = Annotated[Figure, Kinds(family=FIGURES)]


class ReportSection(Section):
    """Report of the run: what it has beside the figures of every report."""

    figures: tuple[FigureField, ...] = ()
    """Figures of your own, in the order of the report: `./figures.py:Class`, the name of a figure
    that an installed package offers, or a mapping with this `kind` and the fields of the class."""
