"""Bytes pushed until a model is as good, under each byte model: AdaComp against ASGD."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pandas as pd
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..pushes import KINDS, parameters, weights
from ..quantities import figures, percent, size
from ..runs import Run
from ..theme import SERIES, STYLE
from .folder import Row, Study, curve, ended, reached
from .markdown import never_or, table

TARGETS = (0.97, 0.985)
_TARGET = TARGETS[-1]
BASE = "ASGD"


@dataclass(frozen=True)
class Seed:
    """What one run comes to."""

    ended: float
    updates: Mapping[float, float]
    """For each target, until it was reached; infinite if it never was."""
    pushed: Mapping[float, Mapping[str, float]]
    """For each target and byte model, the bytes pushed until then."""
    curve: pd.DataFrame
    """`updates`, `accuracy`, `bytes` as sent."""


def tables(study: Study) -> str:
    """Three tables: what each costs as sent, the same under each byte model, all rates tried."""
    worlds = list(dict.fromkeys(row.world for row in study.rows))
    rows = sorted(study.rows, key=lambda row: worlds.index(row.world))
    seeds = {row: [_seed(run) for run in row.read()] for row in rows}
    return "\n\n".join(
        [
            _costs(seeds),
            f"How many times fewer bytes than {BASE} at its best until {_told(_TARGET)}:",
            _by_model(seeds),
            "Every learning rate that was tried, with one seed:",
            _tried(study.tried),
        ]
    )


def figure(study: Study, path: Path) -> None:
    """Accuracy over bytes pushed, a panel a world, the first seed of each entry."""
    worlds = list(dict.fromkeys(row.world for row in study.rows))
    with rc_context(STYLE):
        drawn = Figure(figsize=(7.2, 3.4), layout="constrained")
        FigureCanvasAgg(drawn)
        panels = drawn.subplots(1, len(worlds), sharey=True, squeeze=False)[0]
        for panel, world in zip(panels, worlds, strict=True):
            rows = [row for row in study.rows if row.world == world and row.own]
            for colour, row in zip(SERIES, rows, strict=False):
                shown = _seed(next(row.read())).curve
                panel.plot(shown["bytes"], shown["accuracy"] * 100, color=colour, label=row.entry)
            panel.set(xscale="log", ylim=(90, 99.5), title=world, xlabel="Pushed, as sent")
            panel.xaxis.set_major_formatter(lambda held, _: size(held))
        panels[0].set_ylabel("Test accuracy (%)")
        handles, labels = panels[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        drawn.savefig(path, dpi=160)


# -- what a run says -------------------------------------------------------------------------------

_MODELS = {
    "as sent": "as sent: values, indices, headers and framing",
    "value only": "f32 value, index not counted",
    "value + u16": "f32 value + u16 index in blocks of 65,536",
    "value + u32": "f32 value + u32 index (COO)",
    "value + int64": "f32 value + int64 index (IndexedSlices)",
}
"""Byte models by their short names; and as the report of a run calls them."""


def _seed(run: Run) -> Seed:
    updates, shown = run.records("update"), curve(run)
    until = {target: reached(run, target) or math.inf for target in TARGETS}
    sent = updates[list(KINDS)].sum(axis=1).cumsum().to_numpy()
    shown = shown[shown["updates"] > 0]
    return Seed(
        ended(run),
        until,
        {target: _pushed(updates, count, parameters(run)) for target, count in until.items()},
        shown.assign(bytes=sent[shown["updates"].astype(int) - 1]),
    )


def _pushed(updates: pd.DataFrame, count: float, size: int) -> dict[str, float]:
    """Bytes of the first so many updates under each byte model."""
    if math.isinf(count):
        return dict.fromkeys(_MODELS, math.inf)
    weighed = weights(updates.iloc[: int(count)], size)
    return {short: weighed[name] for short, name in _MODELS.items()}


# -- tables ----------------------------------------------------------------------------------------

Seeds = Mapping[Row, Sequence[Seed]]


def _costs(seeds: Seeds) -> str:
    targets = [
        one for target in TARGETS for one in (f"updates to {_told(target)}", "pushed", "× less")
    ]
    columns = ["", "learning rate", "ended at", *targets]
    return table(columns, [_cost(row, seeds) for row in seeds])


def _cost(row: Row, seeds: Seeds) -> list[str]:
    cells = [_name(row), row.rate, _span([one.ended for one in seeds[row]], _told)]
    for target in TARGETS:
        cells.append(_middle([one.updates[target] for one in seeds[row]], figures))
        cells.append(_middle([one.pushed[target]["as sent"] for one in seeds[row]], size))
        cells.append(_less(row, seeds, target, "as sent"))
    return cells


def _by_model(seeds: Seeds) -> str:
    return table(
        ["", *_MODELS],
        [
            [_name(row), *(_less(row, seeds, _TARGET, model) for model in _MODELS)]
            for row in seeds
            if row.entry != BASE
        ],
    )


def _less(row: Row, seeds: Seeds, target: float, model: str) -> str:
    """How many times fewer bytes than the base at its best, in the same world."""
    base = next(one for one in seeds if (one.world, one.entry, one.own) == (row.world, BASE, True))
    ours, theirs = (
        median(seed.pushed[target][model] for seed in seeds[one]) for one in (row, base)
    )
    return "–" if math.isinf(ours) or math.isinf(theirs) else figures(theirs / ours)


def _tried(rows: Sequence[Row]) -> str:
    columns = ["", "learning rate", "ended at", *(f"updates to {_told(one)}" for one in TARGETS)]
    return table(columns, map(_try, rows))


def _try(row: Row) -> list[str]:
    run = next(row.read())
    until = [reached(run, target) or math.inf for target in TARGETS]
    return [_name(row), row.rate, _told(ended(run)), *(_middle([one], figures) for one in until)]


def _name(row: Row) -> str:
    return f"{row.world}: {row.entry}" + ("" if row.own else f", at {BASE}'s rate")


def _told(share: float) -> str:
    return percent(share).replace(".0 ", " ")


def _span(values: Sequence[float], words: Callable[[float], str]) -> str:
    return f"{words(median(values))} ({words(min(values))} – {words(max(values))})"


def _middle(values: Sequence[float], words: Callable[[float], str]) -> str:
    """The median; finite only if most seeds got there."""
    return never_or(words)(median(values))
