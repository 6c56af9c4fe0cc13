"""Tables of the study `dynacomm`: iterations by schedule, planned and played."""

from collections.abc import Sequence

import numpy as np

from ..quantities import figures
from .dynacomm_data import (
    BASE,
    DEVICES,
    LOSSES,
    SCHEDULES,
    Plan,
    iteration_seconds,
    method_name,
    plan_seconds,
    read_plans,
    update_losses,
)
from .dynacomm_figures import FIGURES
from .folder import Study
from .markdown import table

COMMAND = "make figure-dynacomm"

__all__ = ["COMMAND", "FIGURES", "tables"]


def tables(study: Study) -> str:
    """Return iterations planned and played, gains over `sequential`, shared links, and losses."""
    plans = read_plans(study)
    return "\n\n".join(
        [
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
    )


def _iterations(study: Study, bars: Sequence[Plan]) -> str:
    played = {(row.world, row.entry): iteration_seconds(row) for row in study.rows}
    lines = []
    for plan in bars:
        world, kind = f"{plan['network']}, batch {plan['batch']}", plan["schedule"]
        planned, found = plan_seconds(plan), played[world, kind]
        base = played[world, BASE]
        lines.append(
            [
                f"{world}: {kind}",
                "{} + {}".format(*plan["segments"]),
                figures(sum(plan["forward"])),
                figures(sum(plan["backward"])),
                figures(planned),
                figures(found),
                f"{(found - planned) * 1e3:.1f}",
                f"{base / found:.2f}",
            ]
        )
    columns = ["", "segments", "T_f (s)", "T_b (s)", "planned (s)", "played (s)", "rest (ms)"]
    return table([*columns, "speed-up"], lines)


def _shared(study: Study) -> str:
    rows = [row for row in study.rows if row.world.startswith(DEVICES)]
    worlds = list(dict.fromkeys(row.world for row in rows))
    found = {(row.world, row.entry): iteration_seconds(row) for row in rows}
    lines = [
        [
            kind,
            *(
                f"{figures(found[world, kind])} s ({found[world, BASE] / found[world, kind]:.2f} ×)"
                for world in worlds
            ),
        ]
        for kind in SCHEDULES
    ]
    return table(["", *worlds], lines)


def _compared_losses(study: Study) -> str:
    rows = {row.entry: next(row.read()) for row in study.rows if row.world == LOSSES}
    base = update_losses(rows[BASE])
    lines = []
    for kind, run in rows.items():
        losses = update_losses(run)
        same = len(losses) == len(base)
        most = float(np.abs(losses - base).max()) if same else float("nan")
        end = float(run.records("update")["at"].max())
        lines.append([kind, str(len(losses)), f"{most:g}", f"{figures(end)} s"])
    return table(["", "updates", "largest difference", "time of the last"], lines)


def _planning_costs(rows: Sequence[Plan]) -> str:
    methods = list(dict.fromkeys(row["method"] for row in rows))
    layers = list(dict.fromkeys(row["layers"] for row in rows))
    known = {(row["layers"], row["method"]): row["seconds"] * 1e3 for row in rows}
    lines = [
        [str(count), *(_milliseconds(known.get((count, method))) for method in methods)]
        for count in layers
    ]
    return table(["layers", *map(method_name, methods)], lines)


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{figures(value)} ms"
