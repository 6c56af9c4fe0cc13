"""`emulate sweep`: play a grid of scenarios in virtual time."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import (
    JSON_OPTION,
    OUT_OPTION,
    RUNS_OPTION,
    SCENARIO,
    PlayedBy,
    ScenarioFile,
    played_by,
)
from ..output import console, emit, enduring, table, warn
from ..read.pages import short

if TYPE_CHECKING:
    from ...sweeps import Finished


def _amount(size: float) -> str:
    from ..watching.progress import amount

    return amount(size)


_COSTS: dict[str, tuple[str, Callable[[float], str]]] = {
    "updates": ("updates", "{:.0f}".format),
    "pushed": ("bytes", _amount),
    "pulled": ("pulled", _amount),
    "both directions": ("both", _amount),
}
"""Columns of the table for the costs of a target: the cost in the results, and its words."""


@click.command(short_help="Play a grid of values and seeds in virtual time, on all cores.")
@SCENARIO
@click.option(
    "--over",
    multiple=True,
    metavar="PATH=VALUE,…",
    help="Vary a key of the scenario, for example --over training.learning_rate=0.01,0.1. "
    "Repeatable: every combination of values is played.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=10_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Play each combination with N seeds: the scenario's own seed and the next N - 1.",
)
@OUT_OPTION(help="Folder of the sweep; RUNS/sweeps/NAME-DIGEST if not given.")
@played_by(
    help="Number of points to play at the same time; the number of cores if not given.",
)
@click.option(
    "--tensorboard",
    is_flag=True,
    help="Write events for TensorBoard into tensorboard/ of each point's folder once the point has "
    "finished. `emulate run --tensorboard` writes those of one run while it goes on.",
)
@RUNS_OPTION
@JSON_OPTION
@enduring()
def sweep(
    file: ScenarioFile,
    over: tuple[str, ...],
    seeds: int,
    out: Path | None,
    by: PlayedBy,
    tensorboard: bool,
    runs: Path,
    as_json: bool,
) -> None:
    """Play the scenario FILE in virtual time for every combination of values and seeds.

    A point is one combination with one seed. A process on one core plays each point; the results
    do not depend on the number of points at the same time. The folder of the sweep has a run folder
    for each point, and table.csv with a row for each point. A training that diverges is a result
    too.

    Finished points are not played again: after Ctrl-C, the same command plays the missing points,
    and with more --seeds it plays the new ones.

    VALUE is YAML. A comma inside braces, brackets or quotes does not separate values.

    \b
    emulate sweep lab.yaml --over training.learning_rate=0.03,0.1,0.3 --seeds 3
    emulate sweep lab.yaml --over training.codec.keep=1%,0.5% \\
        --over server.link.up.rate=50mbit,1gbit --set stop.updates=2000
    emulate sweep lab.yaml \\
        --over 'training.codec={kind: topk, keep: 1%},{kind: dense}' --out build/codecs
    emulate sweep lab.yaml --seeds 30 --cluster tcp://scheduler:8786
    emulate sweep lab.yaml --seeds 3 --out build/lab --tensorboard
    tensorboard --logdir build/lab/points     a package of its own: pip install tensorboard
    """
    from ...errors import counted
    from ...sweeps import Grid, folder_name
    from ...sweeps import sweep as play
    from ...sweeps.players import players
    from ...sweeps.preparation import warned
    from ..watching.sweep_views import shown
    from ..watching.tensorboard_view import SweepEvents, write_events

    grid = Grid(*file, over, seeds)
    points = grid.points()
    out = out or runs / "sweeps" / folder_name(points)
    warn(warned(points))
    rest = f"finished points are in {short(out)}; the same command plays the others"
    with shown(console(stderr=as_json), rest) as view, players(*by) as here:
        view.progress(f"{counted(len(points), 'point')} into {short(out)}")
        told = SweepEvents(view) if tensorboard else view
        about = grid.plain()
        finished = play(points, out, here.cores, told, about=about, runs=runs, start=here.start)
    if tensorboard:  # also for points of an earlier call
        for point in finished:
            write_events(point)
    axes = [axis for axis in grid.plain()["over"] if axis != "seed"]
    rows = [{**point.row, "run": str(point.folder)} for point in finished]
    emit(as_json, rows, lambda: _print(finished, axes, out / "table.csv"))


def _print(finished: "Sequence[Finished]", axes: list[str], file: Path) -> None:
    from ...sweeps import medians

    combinations = medians([point.row for point in finished], axes)
    costs = list(_COSTS) if any(results["targets"] for _, results in combinations) else []
    seeds = max(sum(results["outcomes"].values()) for _, results in combinations)
    title = f"median of {seeds} seeds (least – most)" if seeds > 1 else None
    regression = any("final_error" in results for _, results in combinations)
    score, form = ("final error", "{:.4g}") if regression else ("final accuracy", "{:.2%}")
    shown = table(*axes, "outcome", score, *(["to reach"] if costs else []), *costs, title=title)
    for values, results in combinations:
        point = [
            *(values[axis] for axis in axes),
            _outcomes(results["outcomes"]),
            _spread(results[score.replace(" ", "_")], form.format),
        ]
        # a row for each target: the cells of the point stand in the first
        rows = [_target(*item) for item in results["targets"].items()] or [[]]
        for number, row in enumerate(rows):
            shown.add_row(*(point if number == 0 else [""] * len(point)), *row)
    console().print(shown)
    click.echo(f"\n{'table':<12} {short(file)}")


def _target(target: str, spreads: dict[str, Any]) -> list[str]:
    """Return the cells of a `target`: its name, and the cost in each of `_COSTS`."""
    words = (_spread(spreads[cost], form) for cost, form in _COSTS.values())
    return [f"{target} %", *words]


def _outcomes(outcomes: dict[str, int]) -> str:
    if len(outcomes) == 1:
        return next(iter(outcomes))
    return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())


def _spread(spread: tuple[float, float, float] | None, words: Callable[[float], str]) -> str:
    """Return `spread`, a median with its least and largest value, in `words`; infinity is never."""
    if spread is None:
        return "-"
    median, least, most = ("never" if math.isinf(value) else words(value) for value in spread)
    if least == most:
        return median
    unit = f" {median.partition(' ')[2]}"
    if (
        unit != " " and least.endswith(unit) and most.endswith(unit)
    ):  # said once, for a narrow table
        median, least, most = (text.removesuffix(unit) for text in (median, least, most))
        return f"{median} ({least} – {most}){unit}"
    return f"{median} ({least} – {most})"
