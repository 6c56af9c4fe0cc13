"""Tunings: a figure of the probes, and a table that compares choices with baselines.

Both are made from `tuning.json`, which `emulate tune` writes.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from .line_styles import line_styles
from .picture_file import sheet

_TRIALS = ("probe", "final", "epoch")


def comparison(tunings: Iterable[Path]) -> pd.DataFrame:
    """Return a row for each tuned setting and baseline of the files `tunings`.

    Columns: `scenario`, `seed`, `name` (`tuned`, or the baseline's), `groups`, `rate`, `momentum`,
    `seconds` to the target (NaN: missed), `to_best` (`seconds` over those of `exhaustive`), `runs`
    and `cost` (emulated seconds of all runs; for `tuned`, of all its probes), and `cost_share`
    (`cost` over that of `exhaustive`).
    """
    rows = [row for tuning in tunings for row in _compared(json.loads(tuning.read_bytes()))]
    return pd.DataFrame(rows)


def _compared(report: dict[str, Any]) -> list[dict[str, Any]]:
    found = {row["name"]: row for row in report["comparison"]}
    best = found.get("exhaustive", {"seconds": None, "cost_seconds": None})
    probes = report["costs"]["probes"]
    rows = []
    for name, row in found.items():
        tuned = name == "tuned"
        cost = probes["seconds"] if tuned else row["cost_seconds"]
        rows.append(
            {
                "scenario": report["scenario"],
                "seed": report["seed"],
                "name": name,
                **(row["setting"] or dict.fromkeys(("groups", "rate", "momentum"))),
                "seconds": row["seconds"],
                "to_best": _ratio(row["seconds"], best["seconds"]),
                "runs": probes["trials"] if tuned else row["runs"],
                "cost": cost,
                "cost_share": _ratio(cost, best["cost_seconds"]),
            }
        )
    return rows


def _ratio(value: float | None, whole: float | None) -> float | None:
    return None if value is None or not whole else value / whole


def draw(tuning: Path, picture: Path) -> Path:
    """Draw the trials of the file `tuning` (`tuning.json`) into `picture`, and return its path."""
    rows = json.loads(tuning.read_bytes())["rows"]
    trials = [row for row in rows if row["what"] in _TRIALS]
    groups = sorted({trial["groups"] for trial in trials})
    styles = line_styles(f"g = {number}" for number in groups)
    colours = {number: styles[f"g = {number}"].colour for number in groups}
    with sheet(picture, 9.0, 3.8) as figure:
        axes = figure.subplots()
        for trial in trials:
            _trial(axes, trial, colours[trial["groups"]])
        axes.set_yscale("log")
        axes.set_xlabel("emulated seconds of all trials, one after the other")
        axes.set_ylabel("training loss")
        handles = [Line2D([], [], color=colour, label=f"g = {g}") for g, colour in colours.items()]
        mark = Line2D([], [], color="black", marker="*", linestyle="", label="chosen")
        figure.legend(handles=[*handles, mark], loc="outside right upper", frameon=False)
    return picture


def _trial(axes: Axes, trial: dict[str, Any], colour: str) -> None:
    """Draw the displayed losses of a trial, its score, and a star if it was chosen."""
    shown = [(trial["begins"] + at, loss) for at, loss in trial["displayed"] if loss is not None]
    if shown:
        axes.plot(*zip(*shown, strict=True), color=colour, linewidth=0.8)
    if trial["loss"] is not None:
        marker = "*" if trial["text"] == "chosen" else "."
        end = trial["begins"] + trial["seconds"]
        axes.plot([end], [trial["loss"]], marker, color="black" if marker == "*" else colour)
