"""Tables of the study `adacomp`: the bytes that AdaComp and ASGD push to reach an accuracy."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pandas as pd
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..facts.pushes import KINDS, parameters, weights
from ..pictures.picture_file import save_png
from ..pictures.theme import SERIES, STYLE
from ..quantities import figures, percent, size
from ..reading.runs import Run
from .folder import Row, Spent, Study, curve, ended, reached, spent
from .markdown import NEVER, never_or, table

TARGETS = (0.97, 0.985)
_TARGET = TARGETS[-1]
BASE = "ASGD"


@dataclass(frozen=True)
class Seed:
    """The results of a run with one seed."""

    ended: float
    """Accuracy at the end, a fraction."""
    updates: Mapping[float, float]
    """Updates to reach each target; infinite for a target that was never reached."""
    pushed: Mapping[float, Mapping[str, float]]
    """Bytes pushed to reach each target, under each byte model."""
    spent: Mapping[float, Spent]
    """Costs to reach each target, as sent."""
    curve: pd.DataFrame
    """A row for every evaluation: `updates`, `accuracy`, `bytes` as sent."""


def tables(study: Study) -> str:
    """Return the result in words, and tables.

    The tables have the costs of each target as sent, the pushes under each byte model, and all
    learning rates that were tried.
    """
    worlds = list(dict.fromkeys(row.world for row in study.rows))
    rows = sorted(study.rows, key=lambda row: worlds.index(row.world))
    seeds = {row: [_seed(run) for run in row.read()] for row in rows}
    return "\n\n".join(
        [
            *_words(seeds),
            *(_costs(seeds, target) for target in TARGETS),
            f"How many times fewer bytes are pushed than by {BASE} at its best until "
            f"{_percent(_TARGET)}; pulls are not in it:",
            _by_model(seeds),
            "Every learning rate that was tried, with one seed:",
            _tried(study.tried),
        ]
    )


def figure(study: Study, path: Path) -> None:
    """Draw accuracy over bytes pushed into `path`: a panel for each world, with first seeds."""
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
        save_png(drawn, path, 160)


# -- the results of a run --------------------------------------------------------------------------

_MODELS = {
    "as sent": "as sent: values, indices, headers and framing",
    "value only": "f32 value, index not counted",
    "value + u16": "f32 value + u16 index in blocks of 65,536",
    "value + u32": "f32 value + u32 index (COO)",
    "value + int64": "f32 value + int64 index (IndexedSlices)",
}
"""Names of the byte models in a run's report, by their short names."""


def _seed(run: Run) -> Seed:
    updates, shown = run.records("update"), curve(run)
    until = {target: reached(run, target) or math.inf for target in TARGETS}
    sent = updates[list(KINDS)].sum(axis=1).cumsum().to_numpy()
    shown = shown[shown["updates"] > 0]
    return Seed(
        ended(run),
        until,
        {target: _pushed(updates, count, parameters(run)) for target, count in until.items()},
        {target: spent(run, target) for target in TARGETS},
        shown.assign(bytes=sent[shown["updates"].astype(int) - 1]),
    )


def _pushed(updates: pd.DataFrame, count: float, size: int) -> dict[str, float]:
    """Return the bytes of the first `count` updates under each byte model.

    `size` is the number of the model's parameters.
    """
    if math.isinf(count):
        return dict.fromkeys(_MODELS, math.inf)
    sizes = weights(updates.iloc[: int(count)], size)
    return {short: sizes[name] for short, name in _MODELS.items()}


# -- tables ----------------------------------------------------------------------------------------

Seeds = Mapping[Row, Sequence[Seed]]


def _costs(seeds: Seeds, target: float) -> str:
    """Return the table of the costs to reach `target`, each way and both."""
    columns = ["", "learning rate", "ended at", f"updates to {_percent(target)}"]
    columns += ["pushed", "× fewer pushed", "pulled", "both directions", "× fewer in both"]
    return table(columns, [_cost(row, seeds, target) for row in seeds])


def _cost(row: Row, seeds: Seeds, target: float) -> list[str]:
    costs = [seed.spent[target] for seed in seeds[row]]
    return [
        *(_name(row), row.rate, _span([seed.ended for seed in seeds[row]], _percent)),
        _middle([cost.updates for cost in costs], figures),
        _middle([cost.pushed for cost in costs], size),
        _less(row, seeds, _sent(target)),
        _middle([cost.pulled for cost in costs], size),
        _middle([cost.both for cost in costs], size),
        _less(row, seeds, _both(target)),
    ]


def _sent(target: float) -> Callable[[Seed], float]:
    return lambda seed: seed.spent[target].pushed


def _both(target: float) -> Callable[[Seed], float]:
    return lambda seed: seed.spent[target].both


def _words(seeds: Seeds) -> list[str]:
    """Return a paragraph on each world: what its entries save until the last target."""
    found = []
    for world in dict.fromkeys(row.world for row in seeds):
        rows = [row for row in seeds if row.world == world and row.own]
        base = next(row for row in rows if row.entry == BASE)
        others = [_saving(row, base, seeds) for row in rows if row is not base]
        took = _middle([seed.updates[_TARGET] for seed in seeds[base]], figures)
        if others:
            found.append(
                f"**Result with {world}**, until {_percent(_TARGET)}, against {BASE} at its own "
                f"best rate ({took} updates): {'; '.join(others)}."
            )
    return found


def _saving(row: Row, base: Row, seeds: Seeds) -> str:
    took = _middle([seed.updates[_TARGET] for seed in seeds[row]], figures)
    if took == NEVER:
        return f"{row.entry} does not get there"
    ends = [median(seed.ended for seed in seeds[item]) for item in (row, base)]
    return (
        f"{row.entry} takes {took} updates, pushes {_less(row, seeds, _sent(_TARGET))} times fewer "
        f"bytes, takes {_less(row, seeds, _both(_TARGET))} times fewer in both directions, and "
        f"ends {(ends[0] - ends[1]) * 100:+.1f} points from {BASE}"
    )


def _by_model(seeds: Seeds) -> str:
    return table(
        ["", *_MODELS],
        [
            [_name(row), *(_less(row, seeds, _of_model(model)) for model in _MODELS)]
            for row in seeds
            if row.entry != BASE
        ],
    )


def _of_model(model: str) -> Callable[[Seed], float]:
    return lambda seed: seed.pushed[_TARGET][model]


def _less(row: Row, seeds: Seeds, bytes_of: Callable[[Seed], float]) -> str:
    """Return how many times fewer of the bytes `bytes_of` `row` took than the base at its best.

    Both are of the same world.
    """
    wanted = (row.world, BASE, True)
    base = next(other for other in seeds if (other.world, other.entry, other.own) == wanted)
    own, reference = (median(map(bytes_of, seeds[item])) for item in (row, base))
    return "–" if math.isinf(own) or math.isinf(reference) else figures(reference / own)


def _tried(rows: Sequence[Row]) -> str:
    costs = [f"updates to {_percent(target)}" for target in TARGETS]
    return table(["", "learning rate", "ended at", *costs], map(_try, rows))


def _try(row: Row) -> list[str]:
    run = next(row.read())
    until = [reached(run, target) or math.inf for target in TARGETS]
    costs = [_middle([updates], figures) for updates in until]
    return [_name(row), row.rate, _percent(ended(run)), *costs]


def _name(row: Row) -> str:
    return f"{row.world}: {row.entry}" + ("" if row.own else f", at {BASE}'s rate")


def _percent(share: float) -> str:
    return percent(share).replace(".0 ", " ")


def _span(values: Sequence[float], words: Callable[[float], str]) -> str:
    return f"{words(median(values))} ({words(min(values))} – {words(max(values))})"


def _middle(values: Sequence[float], words: Callable[[float], str]) -> str:
    """Return the median of `values` in `words`; `never` if most seeds did not reach the target."""
    return never_or(words)(median(values))
