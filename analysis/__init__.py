"""The analysis of runs from their folders alone: figures, a report, and comparisons.

A figure is a module with a TITLE, a CAPTION, `table(runs)` and `draw(table, ax)`. To add a figure,
write its file in `figures/` and name the module here.
"""

from .errors import RunError
from .figures import (
    FigureModule,
    bottleneck_traffic,
    bytes_by_kind,
    device_traffic,
    fault_effects,
    host_use,
    iteration_gantt,
    link_rates,
    loss,
    network_load,
    server_traffic,
    staleness,
    update_rate,
)
from .figures.metrics import METRICS
from .figures.scores import SCORES
from .reading.runs import Run, read
from .tables.loading import Runs, load, write
from .tables.tidy import TABLES

FIGURES: tuple[FigureModule, ...] = (
    *SCORES,
    *METRICS,
    loss,
    update_rate,
    bytes_by_kind,
    staleness,
    server_traffic,
    device_traffic,
    bottleneck_traffic,
    network_load,
    link_rates,
    host_use,
    iteration_gantt,
    fault_effects,
)
"""The figures, in the order of the report."""

__all__ = ["FIGURES", "TABLES", "Run", "RunError", "Runs", "load", "read", "write"]
