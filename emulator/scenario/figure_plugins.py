"""The family of figures, which users add to the report of a run; the package has none of its own.

The figures that every report has are modules of the analysis: docs/add-a-figure.md.
"""

from typing import Annotated, Any, Protocol, TypeAlias

from ..plugins import Family
from .sections.fields import Kinds


class Figure(Protocol):
    """A drawing of runs. The docstring of its class is the heading, then the caption."""

    def draw(self, runs: Any, ax: Any) -> None:
        """Draw the tables of `runs`, as `emulator.analysis.load` returns them, on the Matplotlib
        axes `ax`."""


FAMILY = Family("figures", None, Figure)

FigureField: TypeAlias = Annotated[Figure, Kinds(family=FAMILY)]
