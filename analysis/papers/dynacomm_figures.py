"""Figures of the study `dynacomm`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..pictures.picture_file import save_png
from ..pictures.theme import SERIES, STYLE
from .dynacomm_data import (
    BASE,
    DEVICES,
    LOSSES,
    Plan,
    iteration_seconds,
    method_name,
    plan_seconds,
    read_plans,
    update_losses,
)
from .folder import Study

SHORT = {"sequential": "seq", "layer-by-layer": "lbl", "ibatch": "iB", "dynacomm": "Dyna"}
"""Names of schedules below narrow bars."""
_COLOURS = dict(zip(SHORT, SERIES, strict=False))
_PARTS = {
    "exposed transfer": "#D55E00",
    "transfer and computing": "#999999",
    "exposed computing": "#009E73",
}
"""Colours of the parts of a phase, in the order in which a plan lists them."""
_PHASES = {"forward": "T_f", "backward": "T_b"}
_WINDOW = 20
"""Updates in a mean of losses."""


def bars(study: Study, path: Path) -> None:
    """Draw T_f and T_b as stacked bars into `path`: a column of panels for each network."""
    plans = read_plans(study)["bars"]
    networks = list(dict.fromkeys(plan["network"] for plan in plans))

    def draw(drawn: Figure) -> None:
        panels = drawn.subplots(2, len(networks), squeeze=False)
        for column, network in enumerate(networks):
            own = [plan for plan in plans if plan["network"] == network]
            for panel, phase in zip(panels[:, column], _PHASES, strict=True):
                _stack(panel, own, phase)
            panels[0, column].set_title(network, pad=16)
        for panel, name in zip(panels[:, 0], _PHASES.values(), strict=True):
            panel.set_ylabel(f"{name} (s)")
        handles = [Patch(facecolor=colour, label=name) for name, colour in _PARTS.items()]
        drawn.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)

    _drawn(path, (10.0, 4.8), draw)


def _stack(panel: Axes, plans: Sequence[Plan], phase: str) -> None:
    """Draw a bar for each of `plans`, with a gap between batch sizes."""
    batches = list(dict.fromkeys(plan["batch"] for plan in plans))
    places = [number + 0.8 * batches.index(plan["batch"]) for number, plan in enumerate(plans)]
    bottom = np.zeros(len(plans))
    for part, colour in enumerate(_PARTS.values()):
        heights = np.array([plan[phase][part] for plan in plans])
        panel.bar(places, heights, bottom=bottom, color=colour, width=0.8)
        bottom += heights
    names = [SHORT[plan["schedule"]] for plan in plans]
    panel.set_xticks(places, names, fontsize=6.5, rotation=90)
    for batch in batches:
        own = [at for at, plan in zip(places, plans, strict=True) if plan["batch"] == batch]
        panel.annotate(
            f"batch {batch}",
            (float(np.mean(own)), 1),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=6.5,
        )
    panel.margins(y=0.08)
    panel.grid(False, axis="x")


def speedups(study: Study, path: Path) -> None:
    """Draw the speed-up over `sequential` into `path`, over the rate and over the set-up time."""
    plans = read_plans(study)
    axes = {
        "rates": ("rate", 1e9, "Rate of the link (gbit/s)"),
        "setups": ("setup", 1e-3, "Set-up time of a message (ms)"),
    }
    networks = list(dict.fromkeys(plan["network"] for plan in plans["bars"]))

    def draw(drawn: Figure) -> None:
        panels = drawn.subplots(2, len(networks), squeeze=False, sharey=True)
        for line, (key, (coordinate, unit, label)) in zip(panels, axes.items(), strict=True):
            for panel, network in zip(line, networks, strict=True):
                own = [plan for plan in plans[key] if plan["network"] == network]
                _speedup(panel, own, coordinate, unit)
                panel.set_xlabel(label, fontsize=8)
            line[0].set_ylabel("Speed-up over sequential")
        for panel, network in zip(panels[0], networks, strict=True):
            panel.set_title(network)
        _legend(drawn, panels[0, 0])

    _drawn(path, (10.0, 5.2), draw)


def _speedup(panel: Axes, plans: Sequence[Plan], coordinate: str, unit: float) -> None:
    base = {plan[coordinate]: plan_seconds(plan) for plan in plans if plan["schedule"] == BASE}
    for kind in SHORT:
        own = [plan for plan in plans if plan["schedule"] == kind]
        at = [plan[coordinate] / unit for plan in own]
        panel.plot(at, [base[plan[coordinate]] / plan_seconds(plan) for plan in own], **_line(kind))
    panel.set(xscale="log", ylim=(0, 2.05))


def planning(study: Study, path: Path) -> None:
    """Draw the CPU time of a plan over the number of layers into `path`."""
    rows = read_plans(study)["planning"]

    def draw(drawn: Figure) -> None:
        panel = drawn.subplots()
        for colour, method in zip(SERIES, dict.fromkeys(r["method"] for r in rows), strict=False):
            own = [row for row in rows if row["method"] == method]
            layers, times = ([row[key] for row in own] for key in ("layers", "seconds"))
            milliseconds = [1e3 * seconds for seconds in times]
            panel.plot(layers, milliseconds, marker="o", color=colour, label=method_name(method))
        panel.set(xscale="log", yscale="log", xlabel="Layers", ylabel="CPU time of a plan (ms)")
        panel.legend(frameon=False)

    _drawn(path, (5.4, 3.4), draw)


def devices(study: Study, path: Path) -> None:
    """Draw the iteration time over the number of devices behind one link into `path`."""
    rows = [row for row in study.rows if row.world.startswith(DEVICES)]

    def draw(drawn: Figure) -> None:
        panel = drawn.subplots()
        for kind in SHORT:
            own = [row for row in rows if row.entry == kind]
            counts = [int(row.world.removeprefix(DEVICES)) for row in own]
            panel.plot(counts, list(map(iteration_seconds, own)), marker="o", **_line(kind))
            panel.set_xticks(counts)
        panel.set(xlabel="Devices behind the server's link", ylabel="Iteration (s)", ylim=(0, None))
        panel.legend(frameon=False)

    _drawn(path, (5.4, 3.4), draw)


def losses(study: Study, path: Path) -> None:
    """Draw the losses of all schedules over updates and over time into `path`."""
    rows = [row for row in study.rows if row.world == LOSSES]

    def draw(drawn: Figure) -> None:
        by_update, by_time = drawn.subplots(1, 2, sharey=True)
        for number, row in enumerate(rows):
            run = next(row.read())
            whole = update_losses(run)
            window = min(_WINDOW, len(whole))
            values = np.convolve(whole, np.full(window, 1 / window), "valid")
            at = np.sort(run.records("update")["at"].astype(float).to_numpy())[window - 1 :]
            # equal curves cover each other: wide lines lie below narrow ones
            style = _line(row.entry) | {"linewidth": 1.0 + 1.6 * (len(rows) - 1 - number)}
            by_update.plot(np.arange(window, len(whole) + 1), values, **style)
            by_time.plot(at, values, **(_line(row.entry) | {"linewidth": 1.0}))
        by_update.set(xlabel="Updates", ylabel=f"Loss, mean of {_WINDOW} updates", yscale="log")
        by_time.set(xlabel="Time (s)")
        _legend(drawn, by_update)

    _drawn(path, (8.0, 3.4), draw)


FIGURES: Mapping[str, Callable[[Study, Path], None]] = {
    "bars": bars,
    "speedups": speedups,
    "devices": devices,
    "losses": losses,
    "planning": planning,
}
"""Figures by the end of the file's name."""


def _line(kind: str) -> dict[str, Any]:
    # dashed, as the best schedule often covers the second best
    style = "--" if kind == "dynacomm" else "-"
    return {"color": _COLOURS[kind], "label": kind, "linewidth": 1.6, "linestyle": style}


def _legend(drawn: Figure, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _drawn(path: Path, inches: tuple[float, float], draw: Callable[[Figure], None]) -> None:
    with rc_context(STYLE):
        drawn = Figure(figsize=inches, layout="constrained")
        FigureCanvasAgg(drawn)
        draw(drawn)
        save_png(drawn, path, 160)
