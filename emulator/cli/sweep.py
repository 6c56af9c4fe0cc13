"""`emulate sweep`: play a grid of scenarios in virtual time."""

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..runs.cancel import Canceled, canceling
from .options import FILE, JSON_OPTION, OUT_OPTION, RUNS_OPTION, SET
from .output import enduring
from .pages import short
from .watching.progress import amount
from .watching.sweep_events import SweepEvents, write_events

if TYPE_CHECKING:
    from ..sweeps import Finished


@click.command(short_help="Play a grid of values and seeds in virtual time, on all cores.")
@FILE
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
@SET
@OUT_OPTION(help="Folder of the sweep; RUNS/sweeps/NAME-DIGEST if not given.")
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
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
    file: Path,
    over: tuple[str, ...],
    seeds: int,
    overrides: tuple[str, ...],
    out: Path | None,
    cores: int | None,
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
    emulate sweep scenarios/quickstart.yaml --over training.learning_rate=0.03,0.1,0.3 --seeds 3
    emulate sweep scenarios/quickstart.yaml --over training.codec.keep=1%,0.5% \\
        --over server.link.up.rate=50mbit,1gbit --set stop.updates=2000
    emulate sweep scenarios/quickstart.yaml \\
        --over 'training.codec={kind: topk, keep: 1%},{kind: dense}' --out build/codecs
    emulate sweep lab.yaml --seeds 3 --out build/lab --tensorboard
    tensorboard --logdir build/lab/points     a package of its own: pip install tensorboard
    """
    from ..machine.host import Host
    from ..scenario.reading.wording import counted
    from ..sweeps import Grid, folder_name
    from ..sweeps import sweep as play

    grid = Grid(file, overrides, over, seeds)
    points = grid.points()
    out = out or runs / "sweeps" / folder_name(points)
    cores = cores or Host.here().cores
    try:
        with _view(to_stderr=as_json) as view, canceling():
            view.progress(f"{counted(len(points), 'point')} into {short(out)}")
            shown = SweepEvents(view) if tensorboard else view
            finished = play(points, out, cores, shown, about=grid.plain())
    except Canceled:
        where = f"finished points are in {short(out)}; the same command plays the others"
        click.echo(f"emulate: interrupted: {where}", err=True)
        sys.exit(130)
    if tensorboard:  # also for points of an earlier call
        for point in finished:
            write_events(point)
    if as_json:
        rows = [{**point.row, "run": str(point.folder)} for point in finished]
        click.echo(json.dumps(rows, indent=2))
        return
    _print(finished, [axis for axis in grid.plain()["over"] if axis != "seed"])
    click.echo(f"\n{'table':<12} {short(out / 'table.csv')}")


def _view(*, to_stderr: bool) -> Any:
    from .tables import console
    from .watching.sweep_views import LiveSweepView, PlainSweepView

    out = console(stderr=to_stderr)
    return LiveSweepView(out) if out.is_terminal else PlainSweepView(out)


def _print(finished: "Sequence[Finished]", axes: list[str]) -> None:
    from ..sweeps import highest, medians
    from .tables import console, table

    rows = [point.row for point in finished]
    combinations, target = medians(rows, axes), highest(rows)
    costs = [f"{cost} to {target} %" for cost in ("updates", "bytes") if target is not None]
    seeds = max(sum(results["outcomes"].values()) for _, results in combinations)
    title = f"median of {seeds} seeds (least – most)" if seeds > 1 else None
    regression = any("final_error" in results for _, results in combinations)
    score, form = ("final error", "{:.4g}") if regression else ("final accuracy", "{:.2%}")
    shown = table(*axes, "outcome", score, *costs, title=title)
    for values, results in combinations:
        shown.add_row(
            *(values[axis] for axis in axes),
            _outcomes(results["outcomes"]),
            _spread(results[score.replace(" ", "_")], form.format),
            *([_spread(results["updates"], "{:.0f}".format)] if costs else []),
            *([_spread(results["bytes"], amount)] if costs else []),
        )
    console().print(shown)


def _outcomes(outcomes: dict[str, int]) -> str:
    if len(outcomes) == 1:
        return next(iter(outcomes))
    return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())


def _spread(spread: tuple[float, float, float] | None, words: Callable[[float], str]) -> str:
    """Return `spread`, a median with its least and largest value, in `words`; infinity is never."""
    if spread is None:
        return "-"
    median, least, most = ("never" if math.isinf(value) else words(value) for value in spread)
    return median if least == most else f"{median} ({least} – {most})"
