"""Section `report`: figures of users in the report of the run."""

from ..figure_plugins import FigureField
from .devices import Section


class ReportSection(Section):
    """Report of the run: what it has beside the figures of every report."""

    figures: tuple[FigureField, ...] = ()
    """Figures of your own, in the order of the report: `./figures.py:Class`, the name of a figure
    that an installed package offers, or a mapping with this `kind` and the fields of the class."""
