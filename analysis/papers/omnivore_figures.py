"""Figures of the study `omnivore`."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ..pictures.picture_file import save_png
from ..pictures.theme import SERIES, STYLE
from ..quantities import percent
from .folder import Study, curve
from .omnivore_data import (
    FIXED,
    SYNCHRONOUS,
    TARGET,
    Measured,
    best,
    first_runs,
    momenta,
    named,
)

_GROUPS = "Compute groups g"
_LAWS = {"exponential steps": ("o", "-"), "constant steps": ("x", ":"), "mnist-cnn": ("^", "none")}
"""Marker and line of each measurement of momentum."""


def efficiency(study: Study, path: Path) -> None:
    """Draw HE(g), SE(g) and the time to the target, their product, into `path`."""
    chosen = dict(sorted(best(study).items()))
    counts = list(chosen)

    def draw(drawn: Figure) -> None:
        hardware, statistical, total = drawn.subplots(1, 3)
        for key, colour in zip(("formula", "queue"), SERIES[1:], strict=False):
            known = {g: s.predicted[key] for g, s in chosen.items() if key in s.predicted}
            if known:
                hardware.plot(*_points(known), color=colour, linestyle="--", label=f"{key}")
        _ranges(hardware, counts, [s.pace for s in chosen.values()], label="measured")
        hardware.legend(frameon=False)
        hardware.set(ylabel="HE(g): seconds per group update")
        _ranges(statistical, counts, [s.updates for s in chosen.values()])
        statistical.set(ylabel=f"SE(g): group updates to {percent(TARGET, 0)}")
        _ranges(total, counts, [s.seconds for s in chosen.values()])
        total.set(ylabel=f"Time to {percent(TARGET, 0)} (s)", ylim=(0, None))
        for panel in (hardware, statistical):
            panel.set_yscale("log")
            panel.yaxis.set_minor_locator(NullLocator())
        hardware.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2], ["0.01", "0.02", "0.05", "0.1", "0.2"])
        statistical.set_yticks([100, 200, 500, 1000], ["100", "200", "500", "1000"])
        for panel in (hardware, statistical, total):
            _group_axis(panel, counts)

    _drawn(path, (10.0, 3.4), draw)


def momentum(study: Study, path: Path) -> None:
    """Draw the best explicit momentum, and measured momentum and step, over g into `path`."""

    def draw(drawn: Figure) -> None:
        explicit, implicit, step = drawn.subplots(1, 3)
        chosen = dict(sorted(best(study).items()))
        explicit.plot(*_points({g: s.momentum for g, s in chosen.items()}), marker="o")
        explicit.set(ylabel="Best explicit momentum", ylim=(-0.05, 1))
        _group_axis(explicit, list(chosen))
        counts = sorted({found.groups for found in momenta(study)})
        smooth = np.geomspace(min(counts), max(counts), 100)
        theory = {"color": "#777777", "linewidth": 1.0, "label": "theory"}
        implicit.plot(smooth, 1 - 1 / smooth, **theory)
        step.axhline(1, **theory)
        for colour, law in zip(SERIES, _LAWS, strict=False):
            own = [found for found in momenta(study) if found.law == law]
            spans = [found.fit.momentum_range for found in own]
            _fitted(implicit, law, colour, own, [found.fit.momentum for found in own], spans)
            shares = [found.step_share for found in own]
            _fitted(step, law, colour, own, shares, [found.step_share_range for found in own])
        implicit.set(ylabel="Implicit momentum, measured")
        step.set(ylabel="Step, measured, over η/g", ylim=(0, None))
        for panel in (implicit, step):
            _group_axis(panel, counts)
        handles, labels = step.get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)

    _drawn(path, (10.0, 3.7), draw)


def _fitted(
    panel: Axes,
    law: str,
    colour: str,
    own: Sequence[Measured],
    values: Sequence[float],
    spans: Sequence[tuple[float, float] | None],
) -> None:
    """Draw fitted `values` of the measurements `own` with their intervals `spans`."""
    marker, line = _LAWS[law]
    known = [span or (value, value) for span, value in zip(spans, values, strict=True)]
    bars, counts = _bars(values, known), [found.groups for found in own]
    style: dict[str, Any] = {"marker": marker, "linestyle": line, "color": colour, "capsize": 3}
    panel.errorbar(counts, values, yerr=bars, label=law, **style)


def accuracy(study: Study, path: Path) -> None:
    """Draw the accuracy over time of fixed and of tuned strategies into `path`."""
    tuned = best(study)
    most, soonest = max(tuned), min(tuned.values(), key=lambda s: median(s.seconds))
    shown = {
        "synchronous, momentum 0.9": named(study, 1, SYNCHRONOUS),
        "asynchronous, momentum 0.9": named(study, most, FIXED),
        f"asynchronous, tuned: momentum {tuned[most].momentum:g}": tuned[most],
    }
    if soonest is not tuned[most]:
        shown[f"g = {soonest.groups}, tuned: momentum {soonest.momentum:g}"] = soonest

    def draw(drawn: Figure) -> None:
        panel = drawn.subplots()
        runs = first_runs(list(shown.values()))
        for colour, name, run in zip(SERIES, shown, runs, strict=False):
            points = curve(run)
            panel.plot(points["at"], 100 * points["accuracy"], color=colour, label=name)
        panel.axhline(100 * TARGET, color="#777777", linewidth=0.8)
        panel.set(xlabel="Time (s)", ylabel="Test accuracy (%)", ylim=(0, 100))
        panel.legend(frameon=False, loc="center right")

    _drawn(path, (6.4, 3.6), draw)


FIGURES: Mapping[str, Callable[[Study, Path], None]] = {
    "efficiency": efficiency,
    "momentum": momentum,
    "accuracy": accuracy,
}
"""Figures by the end of the file's name."""


def _points(values: Mapping[int, float]) -> tuple[list[int], list[float]]:
    return list(values), list(values.values())


def _ranges(
    panel: Axes, counts: Sequence[int], seeds: Sequence[Sequence[float]], **style: Any
) -> None:
    """Draw the medians of `seeds` over `counts`, with bars from the least to the most."""
    shown = [(g, own) for g, own in zip(counts, seeds, strict=True) if math.isfinite(median(own))]
    middles = [median(own) for _, own in shown]
    spans = [(min(own), max(x for x in own if math.isfinite(x))) for _, own in shown]
    bars = _bars(middles, spans)
    places = [g for g, _ in shown]
    panel.errorbar(places, middles, yerr=bars, marker="o", capsize=3, color=SERIES[0], **style)


def _bars(values: Sequence[float], spans: Sequence[tuple[float, float]]) -> list[list[float]]:
    """Return the lengths of the bars below and above `values`."""
    below = [max(0.0, v - low) for v, (low, _) in zip(values, spans, strict=True)]
    above = [max(0.0, high - v) for v, (_, high) in zip(values, spans, strict=True)]
    return [below, above]


def _group_axis(panel: Axes, counts: Sequence[int]) -> None:
    panel.set_xscale("log")
    panel.set_xticks(counts, [str(g) for g in counts])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel(_GROUPS)


def _drawn(path: Path, inches: tuple[float, float], draw: Callable[[Figure], None]) -> None:
    with rc_context(STYLE):
        drawn = Figure(figsize=inches, layout="constrained")
        FigureCanvasAgg(drawn)
        draw(drawn)
        save_png(drawn, path, 160)
