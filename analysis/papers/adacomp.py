"""Tables and figure of the study `adacomp`: bytes that AdaComp and ASGD push to an accuracy."""

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from ..facts.message_bytes import KINDS, parameters, weights
from ..pictures.picture_file import sheet
from ..pictures.theme import SERIES
from ..quantities import figures, percent, size
from ..reading.runs import Run
from .folder import Row, Study, curve, declared, ended, spent, worlds
from .markdown import NEVER, Values, fewer, measured, middle, rate, rows_table, span
from .panels import legend

_TARGET: float = declared("adacomp")["target"]
TARGETS = (0.97, _TARGET)
BASE = "ASGD"

_MODELS = {
    "as sent": "as sent: values, indices, headers and framing",
    "value only": "f32 value, index not counted",
    "value + u16": "f32 value + u16 index in blocks of 65,536",
    "value + u32": "f32 value + u32 index (COO)",
    "value + int64": "f32 value + int64 index (IndexedSlices)",
}
"""Names of the byte models in a run's report, by their short names."""


def tables(study: Study) -> str:
    """Return the result in words, and tables.

    The tables have the costs of each target as sent, the pushes under each byte model, and all
    learning rates that were tried.
    """
    order = worlds(study.rows)
    seeds = measured(sorted(study.rows, key=lambda row: order.index(row.world)), _seed)
    others = {row: values for row, values in seeds.items() if row.entry != BASE}
    tried = {"learning rate": rate, "ended at": middle("ended", _percent)}
    tried |= {_updates_to(target): middle(f"updates {target}", figures) for target in TARGETS}
    return "\n\n".join(
        [
            *_words(seeds),
            *(_costs(seeds, target) for target in TARGETS),
            f"How many times fewer bytes are pushed than by {BASE} at its best until "
            f"{_percent(_TARGET)}; pulls are not in it:",
            rows_table(others, {model: fewer(seeds, model, BASE) for model in _MODELS}, _name),
            "Every learning rate that was tried, with one seed:",
            rows_table(measured(study.tried, _spent), tried, _name),
        ]
    )


def figure(study: Study, path: Path) -> None:
    """Draw accuracy over bytes pushed into `path`: a panel for each world, with first seeds."""
    names = worlds(study.rows)
    with sheet(path, 7.2, 3.4) as drawn:
        panels = drawn.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for panel, world in zip(panels, names, strict=True):
            rows = [row for row in study.rows if row.world == world and row.own]
            for colour, row in zip(SERIES, rows, strict=False):
                run = next(row.read())
                sent = run.records("update")[list(KINDS)].sum(axis=1).cumsum().to_numpy()
                shown = curve(run).query("updates > 0")
                places = sent[shown["updates"].astype(int) - 1]
                panel.plot(places, shown["accuracy"] * 100, color=colour, label=row.entry)
            panel.set(xscale="log", ylim=(90, 99.5), title=world, xlabel="Pushed, as sent")
            panel.xaxis.set_major_formatter(lambda held, _: size(held))
        panels[0].set_ylabel("Test accuracy (%)")
        legend(drawn, panels[0], 2)


def _spent(run: Run) -> dict[str, float]:
    """Return the accuracy at the end, and the costs to reach each target."""
    costs = {target: spent(run, target).items() for target in TARGETS}
    until = {f"{key} {target}": cost for target, own in costs.items() for key, cost in own}
    return {"ended": ended(run), **until}


def _seed(run: Run) -> dict[str, float]:
    """Return the costs of `run`, and its bytes until the last target under each byte model."""
    costs, updates = _spent(run), run.records("update")
    count = costs[f"updates {_TARGET}"]
    if math.isinf(count):
        return {**costs, **dict.fromkeys(_MODELS, math.inf)}
    sizes = weights(updates.iloc[: int(count)], parameters(run))
    return {**costs, **{short: sizes[name] for short, name in _MODELS.items()}}


def _costs(seeds: Mapping[Row, Values], target: float) -> str:
    """Return the table of the costs to reach `target`, each way and both."""
    pushed, pulled, both = (f"{key} {target}" for key in ("pushed", "pulled", "both"))
    columns = {
        "learning rate": rate,
        "ended at": span("ended", _percent),
        _updates_to(target): middle(f"updates {target}", figures),
        "pushed": middle(pushed, size),
        "× fewer pushed": fewer(seeds, pushed, BASE),
        "pulled": middle(pulled, size),
        "both directions": middle(both, size),
        "× fewer in both": fewer(seeds, both, BASE),
    }
    return rows_table(seeds, columns, _name)


def _words(seeds: Mapping[Row, Values]) -> list[str]:
    """Return a paragraph on each world: what its entries save until the last target."""
    found = []
    took = middle(f"updates {_TARGET}", figures)
    less = [fewer(seeds, f"{key} {_TARGET}", BASE) for key in ("pushed", "both")]

    def saving(row: Row) -> str:
        values = seeds[row]
        if took(row, values) == NEVER:
            return f"{row.entry} does not get there"
        pushed, both = (cell(row, values) for cell in less)
        points = (median(values["ended"]) - median(seeds[base]["ended"])) * 100
        return (
            f"{row.entry} takes {took(row, values)} updates, pushes {pushed} times fewer bytes, "
            f"takes {both} times fewer in both directions, and ends {points:+.1f} points from "
            f"{BASE}"
        )

    for world in worlds(seeds):
        rows = [row for row in seeds if row.world == world and row.own]
        base = next(row for row in rows if row.entry == BASE)
        if others := [saving(row) for row in rows if row is not base]:
            found.append(
                f"**Result with {world}**, until {_percent(_TARGET)}, against {BASE} at its own "
                f"best rate ({took(base, seeds[base])} updates): {'; '.join(others)}."
            )
    return found


def _name(row: Row) -> str:
    return f"{row.world}: {row.entry}" + ("" if row.own else f", at {BASE}'s rate")


def _updates_to(target: float) -> str:
    return f"updates to {_percent(target)}"


def _percent(share: float) -> str:
    return percent(share).replace(".0 ", " ")
