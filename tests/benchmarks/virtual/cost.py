"""What an event costs in ever larger fleets, as a figure."""

import math
from pathlib import Path
from typing import Any

from analysis.pictures.picture_file import sheet
from analysis.pictures.theme import SERIES

LABELS = {"own": "every link by itself", "shared": "all behind the server's rated link"}


def each(point: dict[str, float]) -> float:
    """Microseconds an event, once all devices are at work."""
    return 1e6 * point["steady_seconds"] / point["steady_events"]


def draw(scaling: dict[str, list[dict[str, float]]], file: Path) -> None:
    """Cost against devices, beside what grows as the logarithm of their number does."""
    with sheet(file, 5.2, 3.2) as figure:
        axes = figure.subplots()
        for colour, (kind, points) in zip(SERIES, scaling.items(), strict=False):
            _curve(axes, colour, LABELS[kind], points)
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("Devices")
        axes.set_ylabel("Time for each event (\N{MICRO SIGN}s)")
        axes.legend(frameon=False)


def _curve(axes: Any, colour: str, label: str, points: list[dict[str, float]]) -> None:
    devices, costs = [point["devices"] for point in points], [each(point) for point in points]
    axes.plot(devices, costs, "o-", color=colour, markersize=4, label=label)
    first = costs[0] / math.log(devices[0])
    law = [first * math.log(number) for number in devices]
    axes.plot(devices, law, ":", color=colour, label="as the logarithm of devices, from 1,000 on")
