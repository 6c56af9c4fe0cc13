"""`emulate plan`: the compiled faults of a scenario, as a table and a picture, without a run."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import FIGURE_OPTION, JSON_OPTION, SCENARIO, ScenarioFile
from ..output import console, emit, table
from ..read.analysis_package import analysis
from ..read.pages import check_figure, figure_drawn

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ...scenario.timeline.fault_plan import FaultPlan

FAULTS_FIGURE = FIGURE_OPTION(help="Draw the faults, devices × time, into this file.")
UNTIL_OPTION = click.option(
    "--until", metavar="TIME", help="Show the faults that begin before TIME, for example 10min."
)


@click.command(short_help="Show and draw the planned faults of a scenario, without a run.")
@SCENARIO
@click.option("--seed", type=int, metavar="N", help="Compile with this seed.")
@UNTIL_OPTION
@JSON_OPTION
@FAULTS_FIGURE
@click.option(
    "--network",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw the network, with the load of each link, into this file.",
)
def plan(
    file: ScenarioFile,
    seed: int | None,
    until: str | None,
    as_json: bool,
    figure: Path | None,
    network: Path | None,
) -> None:
    """Show the faults of the scenario FILE as compiled from its seed. Starts nothing.

    The picture has the devices × time, with a letter for each kind of fault. The tables have the
    sums of each kind, and each fault with its device and its times. The plan reaches to
    `stop.time`, or 24 h. Faults that devices draw in each iteration (`per_iteration`) have no
    planned time and stand in a table of their own, with the mean number of iterations between two.
    So do batteries: when one is empty depends on the work of its device.

    Of a scenario with a network a table has the load of each link while all devices send and
    receive at once: the share of the link's rate that they use, by max-min fair shares.

    In JSON times are in seconds, `until` is null for a fault for good, and all faults are listed;
    rates and loads of links are in bits per second.

    \b
    emulate plan lab.yaml
    emulate plan lab.yaml --seed 3 --figure plan.png
    emulate plan lab.yaml --until 2min --json
    emulate plan lab.yaml --network network.png
    """
    check_figure(figure)
    check_figure(network)
    from ...scenario.timeline.fault_plan import fault_plan
    from .network_plan import draw_network_plan, network_loads, print_network

    seeded = () if seed is None else (f"seed={seed}",)
    scenario = file.load(*seeded)
    planned, loads = fault_plan(scenario), network_loads(scenario)
    if network is not None and scenario.network is None:
        raise click.BadParameter(f"{scenario.name} has no network", param_hint="--network")
    if until is not None:
        planned = planned.before(min(until_seconds(until), planned.end))

    def show() -> None:
        print_plan(planned)
        print_network(loads)

    plain = {"network": [load._asdict() for load in loads]} if loads else {}
    emit(as_json, lambda: {**planned.plain(), **plain}, show)
    if figure is not None:
        with figure_drawn(figure, to_stderr=as_json):
            draw_plan(planned, figure)
    if network is not None:
        with figure_drawn(network, to_stderr=as_json):
            draw_network_plan(scenario, loads, network)


def until_seconds(text: str) -> float:
    """Return the seconds of `text`, for example `10min`. Raises click.BadParameter."""
    from ...units import Seconds

    try:
        seconds = Seconds.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--until") from error
    if not seconds > 0:
        raise click.BadParameter(f"{text!r} is not above zero", param_hint="--until")
    return seconds


def print_plan(planned: "FaultPlan") -> None:
    """Print `planned` as a picture and as tables."""
    from rich.text import Text

    from ...units import Seconds

    out = console()
    end = Seconds(planned.end)
    faults, devices = f"{len(planned.faults):,} faults", f"{len(planned.devices):,} devices"
    title = f"{planned.name}: {faults} of {devices} before {end}, seed {planned.seed}"
    out.print(Text(title, "bold"), soft_wrap=True)
    if planned.faults:
        print_picture(planned, out)
    for made in _tables(planned):
        out.print("", made, sep="\n")
    if not (planned.faults or planned.expected or planned.batteries):
        out.print("no fault is planned")


def print_picture(planned: "FaultPlan", out: "Console") -> None:
    """Print devices × time on `out`."""
    from .fault_picture import FaultPicture

    for line in FaultPicture(planned, out.width).lines():
        out.print(line, soft_wrap=True)


def _tables(planned: "FaultPlan") -> "Iterator[Table]":
    if planned.faults:
        yield _kinds(planned)
        yield _faults(planned)
    if planned.availability:
        from .overview_tables import MOST_ROWS, availability_table

        made = availability_table(planned.availability)
        if (more := len(planned.availability) - MOST_ROWS) > 0:
            made.add_row("…", f"{more:,} more", "(--json shows all)")
        yield made
    if planned.expected:
        yield _expected(planned)
    if planned.batteries:
        yield _batteries(planned)


def _kinds(planned: "FaultPlan") -> "Table":
    made = table("kind", "faults", "devices", "mean duration", "share of all devices' time")
    for kind in planned.kinds:
        of_server = not kind.devices
        share = kind.seconds / (planned.end * (1 if of_server else len(planned.devices)))
        devices, whose = ("server", " of the server's") if of_server else (f"{kind.devices:,}", "")
        mean = _time(kind.seconds / kind.faults)
        made.add_row(kind.fault, f"{kind.faults:,}", devices, mean, f"{share:.2%}{whose}")
    return made


def _faults(planned: "FaultPlan") -> "Table":
    from .overview_tables import MOST_ROWS

    settings = any(fault.setting for fault in planned.faults)
    made = table("from", "until", "device", "kind", *(["setting"] if settings else []))
    for fault in planned.faults[:MOST_ROWS]:
        until = "for good" if fault.until is None else _seconds(fault.until)
        setting = [_setting(fault.setting)] if settings else []
        made.add_row(_seconds(fault.at), until, fault.node, fault.fault, *setting)
    if (more := len(planned.faults) - MOST_ROWS) > 0:
        made.add_row("…", f"{more:,} more", "(--json shows all)")
    return made


def _expected(planned: "FaultPlan") -> "Table":
    from ...units import Fraction
    from .overview_tables import MOST_ROWS, spans

    title = "faults that devices draw themselves, as expected"
    made = table("devices", "kind", "per_iteration", "once in", "mean duration", title=title)
    for fault in planned.expected[:MOST_ROWS]:
        rare = "never" if math.isinf(fault.iterations) else f"{fault.iterations:,.0f} iterations"
        lasts = "for good" if fault.lasts is None else _time(fault.lasts)
        chance = str(Fraction(fault.per_iteration))
        made.add_row(spans(fault.nodes), fault.fault, chance, rare, lasts)
    return made


def _batteries(planned: "FaultPlan") -> "Table":
    from ...units import Joules, three_digits
    from .overview_tables import MOST_ROWS, spans

    title = "batteries: a device is off when its work has emptied one, at a time not in this plan"
    made = table("devices", "capacity", "idles for", "charged in a day", title=title)
    for row in planned.batteries[:MOST_ROWS]:
        idles = "-" if row.idles is None else _time(row.idles)
        energies = (str(Joules(three_digits(energy))) for energy in (row.capacity, row.charged))
        capacity, charged = energies
        made.add_row(spans(row.nodes), capacity, idles, charged if row.charged else "-")
    return made


def _seconds(time: float) -> str:
    return f"{time:,.1f} s"


def _time(seconds: float) -> str:
    """Return `seconds` with three digits and a fitting unit."""
    from ...units import about

    if seconds < 1:
        return about(seconds)
    for unit, scale in (("h", 3600), ("min", 60)):
        if seconds >= 2 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def _setting(setting: Any) -> str:
    from ...scenario.algorithms import flow

    return "" if setting is None else flow(dict(setting))


def draw_plan(planned: "FaultPlan", figure: Path) -> None:
    """Draw `planned` into the file `figure`."""
    rows = [(fault.node, fault.fault, fault.at, fault.until) for fault in planned.faults]
    expected = [(fault.fault, fault.per_iteration, len(fault.nodes)) for fault in planned.expected]
    drawn = analysis("pictures.fault_gantt").png
    batteries = sum(len(row.nodes) for row in planned.batteries)
    about = {"title": planned.name, "expected": expected, "batteries": batteries}
    drawn(rows, planned.nodes, planned.end, figure, **about)
