"""A sweep: many scenarios played in virtual time on all cores; one folder, one table.

`sweep(points, out, cores, view)` plays those that are not finished yet, each in a process of
its own on one core. `Grid` makes points of one file and the values that its keys take in turn.
"""

from .grid import Axis, Grid, folder_name
from .point import Finished, Point
from .pool import Quiet, Standing, SweepView, sweep
from .table import highest, medians

__all__ = [
    "Axis",
    "Finished",
    "Grid",
    "Point",
    "Quiet",
    "Standing",
    "SweepView",
    "folder_name",
    "highest",
    "medians",
    "sweep",
]
