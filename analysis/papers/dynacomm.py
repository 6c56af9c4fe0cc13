"""Tables and figures of the study `dynacomm`: iterations by schedule, planned and played."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..pictures.line_styles import COLOURS, line_styles, series
from ..pictures.picture_file import Print, sheet
from ..pictures.theme import log_ticks
from ..quantities import figures
from ..reading.runs import Run
from .claims import Judged, judged
from .folder import Plan, Row, Study, read_plans, worlds
from .markdown import table
from .panels import beside, legend, legend_of, stacked

BASE = "sequential"
DEVICES, LOSSES = "devices: ", "losses"
"""Begin of the names of the worlds of several devices, and name of the world of losses."""
SHORT = {BASE: "seq", "layer-by-layer": "lbl", "ibatch": "iB", "dynacomm": "Dyna"}
"""Names of schedules below narrow bars."""


def tables(study: Study) -> list[str]:
    """Return iterations planned and played, gains over `sequential`, shared links, and losses."""
    plans = read_plans(study)
    return [
        "Iteration of one device, planned and played in virtual time; *rest* is the time "
        "that no plan counts:",
        _iterations(study, plans["bars"]),
        "Iteration of several devices behind one server link of 1 gbit, ResNet-152, batch 32:",
        _shared(study),
        "Losses of the updates, in their order, against those of `sequential`:",
        _compared_losses(study),
        "CPU time of a plan of both phases, for networks with costs of 1 to 11 ms:",
        _planning_costs(plans["planning"]),
    ]


def claims(study: Study) -> list[Judged]:
    """Return the claims of the study's file, judged by its plans and runs."""
    bars = read_plans(study)["bars"]
    shorter = {
        f"{network}, batch {batch}": _gain([p for p in bars if _key(p) == (network, batch)])
        for network, batch in dict.fromkeys(map(_key, bars))
    }
    least = min(shorter, key=lambda world: shorter[world], default="")
    words = f"at least {shorter[least]:.3f} × as fast as the best other ({least})" if least else ""
    losses = [most for _, most, _ in _losses_apart(study)]
    farthest = f"losses differ by {max(losses, default=math.nan):g} at most"
    return [
        judged("dynacomm", "optimal", words, list(shorter.values())),
        judged("dynacomm", "accuracy", farthest, losses),
    ]


def _key(plan: Plan) -> tuple[str, int]:
    return plan["network"], plan["batch"]


def _gain(plans: Sequence[Plan]) -> float:
    """Return the shortest iteration of other schedules over that of `dynacomm`."""
    others = [_planned(plan) for plan in plans if plan["schedule"] != "dynacomm"]
    own = [_planned(plan) for plan in plans if plan["schedule"] == "dynacomm"]
    return min(others, default=math.nan) / own[0] if own else math.nan


def _seconds(row: Row) -> float:
    """Return the median time between two steps of the server in the run of `row`."""
    steps = next(row.read()).records("update")["at"].astype(float).unique()
    return float(np.median(np.diff(np.sort(steps))))


def _planned(plan: Plan) -> float:
    """Return the length of an iteration by `plan`."""
    return float(sum(plan["forward"]) + sum(plan["backward"]))


def _update_losses(run: Run) -> Any:
    """Return the losses of the updates of `run`, those of a step in the order of their devices."""
    updates = run.records("update").sort_values(["at", "node"], kind="stable")
    return updates["loss"].astype(float).to_numpy()


def _method(name: str) -> str:
    """Return the `name` of an algorithm in the study's plans in words."""
    return name if name in SHORT else f"dynacomm, {name}"


# -- tables ----------------------------------------------------------------------------------------


def _iterations(study: Study, bars: Sequence[Plan]) -> str:
    played = {(row.world, row.entry): _seconds(row) for row in study.rows}
    lines = []
    for plan in bars:
        world, kind = f"{plan['network']}, batch {plan['batch']}", plan["schedule"]
        planned, found = _planned(plan), played[world, kind]
        lines.append(
            [
                f"{world}: {kind}",
                "{} + {}".format(*plan["segments"]),
                *map(figures, (sum(plan["forward"]), sum(plan["backward"]), planned, found)),
                f"{(found - planned) * 1e3:.1f}",
                f"{played[world, BASE] / found:.2f}",
            ]
        )
    columns = ["", "segments", "T_f (s)", "T_b (s)", "planned (s)", "played (s)", "rest (ms)"]
    return table([*columns, "speed-up"], lines)


def _shared(study: Study) -> str:
    rows = [row for row in study.rows if row.world.startswith(DEVICES)]
    found = {(row.world, row.entry): _seconds(row) for row in rows}

    def cell(world: str, kind: str) -> str:
        seconds = found[world, kind]
        return f"{figures(seconds)} s ({found[world, BASE] / seconds:.2f} ×)"

    names = worlds(rows)
    return table(["", *names], [[kind, *(cell(world, kind) for world in names)] for kind in SHORT])


def _compared_losses(study: Study) -> str:
    lines = [
        [kind, str(len(run.records("update"))), f"{most:g}", f"{figures(_end(run))} s"]
        for kind, most, run in _losses_apart(study)
    ]
    return table(["", "updates", "largest difference", "time of the last"], lines)


def _losses_apart(study: Study) -> list[tuple[str, float, Run]]:
    """Return, for each schedule, the largest difference of its losses to those of `sequential`."""
    rows = {row.entry: next(row.read()) for row in study.rows if row.world == LOSSES}
    found, base = [], _update_losses(rows[BASE])
    for kind, run in rows.items():
        losses = _update_losses(run)
        same = len(losses) == len(base)
        found.append((kind, float(np.abs(losses - base).max()) if same else math.nan, run))
    return found


def _end(run: Run) -> float:
    return float(run.records("update")["at"].max())


def _planning_costs(rows: Sequence[Plan]) -> str:
    methods = list(dict.fromkeys(row["method"] for row in rows))
    known = {(row["layers"], row["method"]): f"{figures(row['seconds'] * 1e3)} ms" for row in rows}
    lines = [
        [str(count), *(known.get((count, method), "–") for method in methods)]
        for count in dict.fromkeys(row["layers"] for row in rows)
    ]
    return table(["layers", *map(_method, methods)], lines)


# -- figures ---------------------------------------------------------------------------------------

_STYLES = line_styles(SHORT)
_STROKES = {BASE: "-", "layer-by-layer": ":", "ibatch": "-", "dynacomm": "--"}
"""Lines of the schedules: dashes of the best one leave the second best visible below them."""
_PARTS = {
    "exposed transfer": COLOURS[1],
    "transfer and computing": "#C8C8C8",
    "exposed computing": COLOURS[2],
}
"""Colours of the parts of a phase, in the order in which a plan lists them."""
_PHASES = {"forward": "T_f", "backward": "T_b"}
_WINDOW = 20
"""Updates in a mean of losses."""


@contextmanager
def _by_network(
    path: Path, plans: Sequence[Plan], prints: Print | None
) -> Iterator[tuple[Figure, Mapping[str, Sequence[Axes]]]]:
    """Yield a figure with two panels for each network of `plans`, which is written to `path`.

    Networks stand beside each other, or below each other where print is narrow.
    """
    networks = list(dict.fromkeys(plan["network"] for plan in plans))
    count, below = len(networks), stacked(len(networks), prints)
    width, height, shape = (5.0, 2.2 * count, (count, 2)) if below else (10.0, 5.0, (2, count))
    with sheet(path, width, height, prints=prints) as drawn:
        grid = drawn.subplots(*shape, squeeze=False)
        columns = grid if below else grid.T
        yield drawn, dict(zip(networks, map(list, columns), strict=True))
        for panel in () if below else grid[:, 1:].flat:
            panel.set_ylabel("")  # that of the first network stands for all


def bars(study: Study, path: Path, prints: Print | None = None) -> None:
    """Draw T_f and T_b as stacked bars into `path`: a column of panels for each network."""
    plans = read_plans(study)["bars"]
    with _by_network(path, plans, prints) as (drawn, panels):
        for network, column in panels.items():
            own = [plan for plan in plans if plan["network"] == network]
            for panel, (phase, name) in zip(column, _PHASES.items(), strict=True):
                _stack(panel, own, phase)
                panel.set_ylabel(f"{name} (s)")
            column[0].set_title(network, pad=16)
        legend_of(drawn, {name: Patch(facecolor=colour) for name, colour in _PARTS.items()})


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


def speedups(study: Study, path: Path, prints: Print | None = None) -> None:
    """Draw the speed-up over `sequential` into `path`, over the rate and over the set-up time."""
    plans = read_plans(study)
    axes = {
        "rates": ("rate", 1e9, "Rate (gbit/s)"),
        "setups": ("setup", 1e-3, "Set-up (ms)"),
    }
    with _by_network(path, plans["bars"], prints) as (drawn, panels):
        for network, column in panels.items():
            for panel, (key, (coordinate, unit, label)) in zip(column, axes.items(), strict=True):
                own = [plan for plan in plans[key] if plan["network"] == network]
                _speedup(panel, own, coordinate, unit)
                panel.set(xlabel=label, ylabel="Speed-up")
            column[0].set_title(network)
        legend(drawn, column[0])


def _speedup(panel: Axes, plans: Sequence[Plan], coordinate: str, unit: float) -> None:
    base = {plan[coordinate]: _planned(plan) for plan in plans if plan["schedule"] == BASE}
    for kind in SHORT:
        own = [plan for plan in plans if plan["schedule"] == kind]
        at = [plan[coordinate] / unit for plan in own]
        panel.plot(at, [base[plan[coordinate]] / _planned(plan) for plan in own], **_line(kind))
    panel.set(xscale="log", ylim=(0, 2.05))
    log_ticks(panel.xaxis, *panel.get_xlim(), figures)


def planning(study: Study, path: Path, prints: Print | None = None) -> None:
    """Draw the CPU time of a plan over the number of layers into `path`."""
    rows = read_plans(study)["planning"]
    with sheet(path, 5.4, 3.4, prints=prints) as drawn:
        panel = drawn.subplots()
        methods = dict.fromkeys(row["method"] for row in rows)
        for look, method in zip(series(len(methods)), methods, strict=True):
            own = [row for row in rows if row["method"] == method]
            milliseconds = [1e3 * row["seconds"] for row in own]
            style = look.marked(len(own)) | {"label": _method(method)}
            panel.plot([row["layers"] for row in own], milliseconds, **style)
        panel.set(xscale="log", yscale="log", xlabel="Layers", ylabel="CPU time of a plan (ms)")
        log_ticks(panel.xaxis, *panel.get_xlim(), figures)
        log_ticks(panel.yaxis, *panel.get_ylim(), figures)
        panel.legend(frameon=False)


def devices(study: Study, path: Path, prints: Print | None = None) -> None:
    """Draw the iteration time over the number of devices behind one link into `path`."""
    rows = [row for row in study.rows if row.world.startswith(DEVICES)]
    with sheet(path, 5.4, 3.4, prints=prints) as drawn:
        panel = drawn.subplots()
        for kind in SHORT:
            own = [row for row in rows if row.entry == kind]
            counts = [int(row.world.removeprefix(DEVICES)) for row in own]
            look = _line(kind) | {"marker": _STYLES[kind].marker}
            panel.plot(counts, list(map(_seconds, own)), **look)
            panel.set_xticks(counts)
        panel.set(xlabel="Devices behind the server's link", ylabel="Iteration (s)", ylim=(0, None))
        panel.legend(frameon=False)


def losses(study: Study, path: Path, prints: Print | None = None) -> None:
    """Draw the losses of all schedules over updates and over time into `path`."""
    rows = [row for row in study.rows if row.world == LOSSES]
    with beside(path, (8.0, 3.4), 2, prints) as (drawn, (by_update, by_time)):
        for number, row in enumerate(rows):
            run = next(row.read())
            whole = _update_losses(run)
            window = min(_WINDOW, len(whole))
            values = np.convolve(whole, np.full(window, 1 / window), "valid")
            at = np.sort(run.records("update")["at"].astype(float).to_numpy())[window - 1 :]
            # equal curves cover each other: wide lines lie below narrow ones
            style = _line(row.entry) | {"linewidth": 1.0 + 1.6 * (len(rows) - 1 - number)}
            by_update.plot(np.arange(window, len(whole) + 1), values, **style)
            by_time.plot(at, values, **(_line(row.entry) | {"linewidth": 1.0}))
        for panel, label in ((by_update, "Updates"), (by_time, "Time (s)")):
            panel.set(xlabel=label, ylabel="Training loss", yscale="log")
            log_ticks(panel.yaxis, *panel.get_ylim(), figures)
        legend(drawn, by_update)


FIGURES: Mapping[str, tuple[Callable[[Study, Path, Print | None], None], str]] = {
    "bars": (
        bars,
        "T_f above, T_b below, as stacked bars for each network, batch size and schedule: exposed "
        "transfer, transfer and computing at the same time, exposed computing.",
    ),
    "speedups": (
        speedups,
        "Speed-up over sequential for each network: over the rate of the link, and over the set-up "
        "time of a message.",
    ),
    "devices": (devices, "Iteration time over the number of devices behind the server's link."),
    "losses": (
        losses,
        f"Training losses of the schedules, means of {_WINDOW} updates, over updates and time.",
    ),
    "planning": (planning, "CPU time of a plan over the number of layers."),
}
"""Figures by the end of the file's name, each with its caption."""


def _line(kind: str) -> dict[str, Any]:
    return {**_STYLES[kind].stroke, "label": kind, "linewidth": 1.6, "linestyle": _STROKES[kind]}
