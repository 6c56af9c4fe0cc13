"""The analysis of runs from their folders alone: figures, a report, and comparisons.

A figure is a module with a TITLE, a CAPTION, `table(runs)` and `draw(table, ax)`. To add a figure,
write its file in `figures/` and name the module here.
"""

from .errors import RunError
from .exporting import write
from .figures import (
    accuracy_both,
    accuracy_bytes,
    accuracy_time,
    accuracy_updates,
    bottleneck_traffic,
    bytes_by_kind,
    device_traffic,
    error_both,
    error_bytes,
    error_time,
    error_updates,
    fault_effects,
    host_use,
    iteration_gantt,
    link_rates,
    server_traffic,
    staleness,
    update_rate,
)
from .loading import Runs, load
from .runs import Run, read
from .tidy import TABLES

FIGURES = (
    accuracy_updates,
    accuracy_time,
    accuracy_both,
    accuracy_bytes,
    error_updates,
    error_time,
    error_both,
    error_bytes,
    update_rate,
    bytes_by_kind,
    staleness,
    server_traffic,
    device_traffic,
    bottleneck_traffic,
    link_rates,
    host_use,
    iteration_gantt,
    fault_effects,
)
"""The figures, in the order of the report."""

__all__ = ["FIGURES", "TABLES", "Run", "RunError", "Runs", "load", "read", "write"]
