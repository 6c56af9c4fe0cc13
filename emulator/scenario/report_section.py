"""Section `report`: figures of users in the report of the run."""

from .devices import Section
from .figure_plugins import FigureField


class ReportSection(Section):
    """Report of the run: what it has beside the figures of every report."""

    figures: tuple[FigureField, ...] = ()
    """Figures of your own, in the order of the report: `./figures.py:Class`, the name of a figure
    that an installed package offers, or a mapping with this `kind` and the fields of the class."""
