"""`emulate predict`: seconds per group update for each number of compute groups, without a run."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import counted
from ..options import COSTS_OPTION, FIGURE_OPTION, JSON_OPTION, ON_OPTION, OPTIONAL_FILE, SET
from ..output import console, emit, table
from ..read.analysis_package import analysis
from ..read.pages import check_figure, figure_drawn

if TYPE_CHECKING:
    from ...costs.prediction import HardwareEfficiency, PredictedUpdate


@click.command(short_help="Predict how often compute groups update the model, without a run.")
@OPTIONAL_FILE
@SET
@click.option(
    "--groups",
    metavar="G,G,…",
    help="Numbers of groups, for example 1,2,4. By default the divisors of the number of devices.",
)
@COSTS_OPTION(
    help="Predict from these times instead of a scenario.",
)
@ON_OPTION(
    default="virtual",
    help="docker: take computing times from this host's calibration, as containers ignore the "
    "scenario's section virtual.",
)
@JSON_OPTION
@FIGURE_OPTION(
    help="Draw a chart of both predictions into this file.",
)
def predict(
    file: Path | None,
    overrides: tuple[str, ...],
    groups: str | None,
    costs: Path | None,
    on: str,
    as_json: bool,
    figure: Path | None,
) -> None:
    """Predict the seconds per group update when the devices of the scenario FILE form compute
    groups (synchronization: groups).

    A group of k = N/g devices pulls, computes and pushes for t_conv seconds, and occupies the
    server for t_fc seconds. Two models tell how often one of g groups updates the model: the
    paper's formula max(t_fc, (t_conv + t_fc)/g), which is exact for constant times, and a queue,
    which is exact for exponential services and slower than services that vary less. At the
    saturation point, the least g with g · t_fc ≥ t_conv + t_fc, the server is busy all the time:
    where t_fc is the same for every g, more groups bring no more updates. In the file, devices may
    be synchronized by groups, barrier or asynchronous; a group shares the mini-batch. Computing
    times that the file does not give come from this host's calibration, which takes seconds.
    The prediction leaves out faults, bottlenecks, TCP's slow start, loss, jitter, the overlap of
    transfer and computing by `training.schedule`, and the evaluator.

    COSTS.json gives the times in seconds instead, t_conv for groups of any size:

    \b
    {"devices": 16, "t_conv": 1.15, "t_fc": 0.0425}

    or, in place of t_conv, t_cc for the whole mini-batch on one device, of which each device of a
    group takes a k-th part, and t_cn for the traffic of one device, of which a group has k times as
    much; the larger counts, or with "combination": "sum" their sum. JSON output has the keys
    saturation, and for each number of groups the seconds by formula and queue.

    \b
    emulate predict lab.yaml
    emulate predict lab.yaml --groups 1,2,4 --figure efficiency.png
    emulate predict --costs costs.json --json
    """
    if (file is None) == (costs is None):
        raise click.UsageError("give FILE or --costs, and not both")
    if costs is not None and overrides:
        raise click.UsageError("--set needs FILE")
    check_figure(figure, "a chart")
    efficiency, chosen, notes = (
        _from_costs(costs, groups) if costs else _from_scenario(file, overrides, groups, on)
    )
    rows = [efficiency.predicted(number) for number in chosen]
    saturation = efficiency.saturation
    content = {"saturation": saturation, "groups": [asdict(row) for row in rows]}
    emit(as_json, content, lambda: _print(efficiency, rows, saturation, notes))
    if figure is not None:
        with figure_drawn(figure, to_stderr=as_json):
            analysis("pictures.predicted_rates").png(
                [asdict(row) for row in rows], saturation, figure
            )


def _from_costs(
    costs: Path, groups: str | None
) -> "tuple[HardwareEfficiency, Sequence[int], Sequence[str]]":
    from ...costs.prediction import HardwareEfficiency, divisors
    from .costs_file import read_group_costs

    given = read_group_costs(costs)
    chosen = _numbers(groups, given.devices) or divisors(given.devices)
    return HardwareEfficiency(given.devices, given.cycle_of), chosen, ()


def _from_scenario(
    file: Path | None, overrides: tuple[str, ...], groups: str | None, on: str
) -> "tuple[HardwareEfficiency, Sequence[int], Sequence[str]]":
    from ...costs.prediction import divisors, hardware_efficiency, left_out
    from ...scenario import load

    assert file is not None  # `predict` has checked it
    scenario = load(file, overrides)
    devices = len(scenario.nodes)
    chosen = _numbers(groups, devices) or divisors(devices)
    efficiency = hardware_efficiency(
        scenario,
        chosen,
        lambda step: click.echo(f"{step} ...", err=True),
        assumed=on == "virtual",
    )
    return efficiency, chosen, left_out(scenario, on)


def _numbers(text: str | None, devices: int) -> list[int]:
    """Return the numbers of groups in `text`, sorted; [] without a text."""
    if text is None:
        return []
    words = [word.strip() for word in text.split(",")]
    wrong = [
        repr(word)
        for word in words
        if not (word.isascii() and word.isdigit() and len(word) < 8 and 1 <= int(word) <= devices)
    ]
    if wrong:
        raise click.BadParameter(
            f"{', '.join(wrong)}: a number of groups is from 1 to {devices}, the number of "
            "devices; write for example 1,2,4",
            param_hint="--groups",
        )
    return sorted({int(word) for word in words})


def _print(
    efficiency: "HardwareEfficiency",
    rows: "Sequence[PredictedUpdate]",
    saturation: int | None,
    notes: Sequence[str],
) -> None:

    out, devices = console(), efficiency.devices
    shown = table(
        *("groups", "devices each", "t_conv", "t_fc", "formula", "queue", "group updates/s", "")
    )
    for row in rows:
        cycle, (size, more) = efficiency.cycle_of(row.groups), divmod(devices, row.groups)
        shown.add_row(
            str(row.groups),
            f"{size}–{size + 1}" if more else str(size),
            _time(cycle.conv),
            _time(cycle.serial[0]),
            _time(row.formula),
            _time(row.queue),
            f"{1 / row.queue:.4g}",
            "saturated" if row.formula == max(cycle.serial) else "",
        )
    out.print(shown)
    out.print(f"saturation: {_saturation(saturation, devices)}")
    for note in notes:
        out.print(f"left out: {note}", soft_wrap=True)


def _saturation(saturation: int | None, devices: int) -> str:
    from ...scenario.sections.devices import MOST_DEVICES

    if saturation is None:
        return "none, since a group update takes the server no time"
    if saturation > MOST_DEVICES:
        return f"more than {MOST_DEVICES:,} groups, and no scenario has as many devices"
    if saturation > devices:
        return f"{saturation} groups, which {counted(devices, 'device')} cannot form"
    if saturation == 1:
        return "1 group keeps the server busy all the time"
    return f"{saturation} groups keep the server busy all the time"


def _time(seconds: float) -> str:
    """Return `seconds` with four significant digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.4g} {unit}"
    return "0 s" if seconds == 0 else f"{seconds:.3g} s"
