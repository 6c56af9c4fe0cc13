"""Sweeps: many scenarios played in virtual time on all cores, into a folder with a table.

`sweep(points, out, cores, view)` plays the points that are not finished yet, each in a process of
its own on one core. `Grid` makes points from one file and lists of values for some keys.
"""

from .point import Axis, Finished, Grid, Point, folder_name
from .pool import Quiet, Standing, SweepView, sweep
from .table import medians

__all__ = [
    "Axis",
    "Finished",
    "Grid",
    "Point",
    "Quiet",
    "Standing",
    "SweepView",
    "folder_name",
    "medians",
    "sweep",
]
