"""`emulate trace`: the statistics of a link trace, its picture, and the trace in another format."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..options import FIGURE_OPTION, JSON_OPTION
from ..output import console, emit, table
from ..read.analysis_package import analysis
from ..read.pages import check_figure, figure_drawn

if TYPE_CHECKING:
    from ...world.links.traces import LinkTrace, Way
    from ...world.links.traces.trace_statistics import Distribution, TraceStatistics

_AUTO, _FORMATS = "auto", ("mahimahi", "csv", "cooked", "5g")
"""Formats as in `world/links/traces`, without an import of everything below; a test compares."""


@click.command(short_help="Show the statistics of a link trace, and draw it.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice([_AUTO, *_FORMATS]),
    default=_AUTO,
    show_default=True,
    metavar="FORMAT",
    help="Format of FILE: mahimahi, csv, cooked, 5g, or auto, which the first line tells.",
)
@click.option(
    "--direction",
    "way",
    type=click.Choice(["down", "up"]),
    default="down",
    show_default=True,
    help="Direction to read from a file that has both, as a 5g log.",
)
@click.option("--loop", is_flag=True, help="Draw two rounds, as a link plays a looped trace.")
@click.option(
    "--scale",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    metavar="FACTOR",
    help="Multiply the rates by FACTOR.",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(_FORMATS),
    metavar="FORMAT",
    help="Print the trace in this format instead of its statistics.",
)
@JSON_OPTION
@FIGURE_OPTION(
    help="Draw rate, delay and loss over time into this file.",
)
def trace(
    file: Path,
    kind: str,
    way: "Way",
    loop: bool,
    scale: float,
    target: str | None,
    as_json: bool,
    figure: Path | None,
) -> None:
    """Show the statistics of the link trace in FILE, as a scenario's `trace` plays it.

    Statistics are weighted by time: half of the time the rate is at or below the median. An outage
    is a time at a rate of zero. A mahimahi file is shown with the mean rate of each second; samples
    within 100 ms are averaged. A malformed trace is refused with its line, and the exit code is 2.
    The second line names the format, and the direction that is shown if the file has both.

    In JSON rates are in bits per second, times in seconds and shares from 0 to 1; null stands for a
    value that the trace does not have. `format` is the name of the format; `direction` is null for
    a file that does not have both.

    \b
    emulate trace drive.mahimahi
    emulate trace drive.csv --format 5g --direction up --figure drive.png
    emulate trace drive.mahimahi --to csv > lte-drive.csv
    """
    check_figure(figure)
    read = _read(file, kind, way, scale)
    from ...world.links.traces import FORMATS
    from ...world.links.traces.trace_file import format_name
    from ...world.links.traces.trace_statistics import statistics

    found, known = statistics(read), format_name(file, kind)
    shown = way if FORMATS[known].both_ways else None
    if target is not None:
        try:
            click.echo(FORMATS[target].write(read, way), nl=False)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--to") from error
    else:
        read_as = {"file": str(file), "format": known, "direction": shown}
        source = "by its first line" if kind == _AUTO else "as given"
        text = f"format: {known}, {source}; {_direction(shown)}"
        emit(as_json, {**read_as, **found.plain()}, lambda: _show(file, found, text))
    if figure is not None:
        rows = [tuple(sample) for sample in read.samples]
        title = f"{file.name} ({', '.join(filter(None, (known, shown)))})"
        with figure_drawn(figure, to_stderr=as_json or target is not None):
            analysis("pictures.link_trace").png(
                rows, read.end, figure, title=title, rounds=1 + loop
            )


def _read(file: Path, kind: str, way: "Way", scale: float) -> "LinkTrace":
    """Return the trace in `file` with scaled rates. Raises ScenarioError with the line."""
    from ...scenario.reading.document import Mark, Mistake, refused
    from ...world.links.traces import TraceLineError
    from ...world.links.traces.trace_file import read_trace, trace_mistakes

    try:
        return read_trace(file, kind, way).scaled(scale)
    except TraceLineError:
        mistakes = [
            Mistake(Mark(str(file), error.line, ()), str(error))
            for error in trace_mistakes(file, kind, way)
        ]
    except OSError as error:
        mistakes = [Mistake(Mark(str(file), None, ()), f"cannot be read: {error.strerror}")]
    raise refused(mistakes)


def _direction(shown: "Way | None") -> str:
    """Return in words which direction of the file is `shown`; None: the file has one alone."""
    if shown is None:
        return "the file has one direction, for up or down"
    other = "down" if shown == "up" else "up"
    return f"direction: {shown} (--direction {other} shows the other)"


def _show(file: Path, found: "TraceStatistics", source: str) -> None:
    from rich.text import Text

    from ...units import Seconds

    out = console()
    lasts = Seconds(round(found.duration, 3))
    out.print(Text(f"{file.name}: {found.samples:,} samples, {lasts}", "bold"), soft_wrap=True)
    out.print(source)
    made = table("", "mean", "median", "p5", "p95", "least", "most")
    if found.rate is not None:
        made.add_row("rate", *_cells(found.rate, 1e-6, " mbit"))
    if found.delay is not None:
        made.add_row("one-way delay", *_cells(found.delay, 1e3, " ms"))
    if found.loss is not None:
        made.add_row("loss", *_cells(found.loss, 100, " %"))
    out.print(made)
    out.print(f"outage: {found.outage:.1%} of the time at a rate of zero")


def _cells(values: "Distribution", scale: float, unit: str) -> list[str]:
    ordered = values.mean, values.median, values.p5, values.p95, values.least, values.most
    return [f"{value * scale:.4g}{unit}" for value in ordered]
