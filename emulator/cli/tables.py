"""Tables for people: wide enough for what they hold, also where there is no terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields, replace
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..host import Host
from ..scenario import Scenario
from ..scenario.demand import PORTS, Demand, Shortfall
from ..scenario.world import DeviceRow, FaultRow, World

MOST = 40
"""Rows of one table that a person still reads; `--json` has them all."""

WIDE = 160
"""Columns where no terminal sets a bound: a file, a pipe."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints every text as it is written.

    Names and values of a scenario may hold `[red]` or `:pizza:`, which rich would read as a style
    and as an emoji. A text of ours that has a style is a `Text`.
    """
    literal: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    found = Console(stderr=stderr, **literal)
    return found if found.is_terminal else Console(stderr=stderr, width=WIDE, **literal)


def table(*columns: str, title: str | None = None) -> Table:
    """Without lines, and without a cell cut short: what is shown can be copied."""
    made = Table(box=None, title=title, title_justify="left", title_style="bold", pad_edge=False)
    made.padding = (0, 2, 0, 0)
    for column in columns:
        made.add_column(column, overflow="fold", header_style="dim")
    return made


def print_world(
    scenario: Scenario,
    world: World,
    wanted: Demand,
    host: Host,
    short: Sequence[Shortfall],
) -> None:
    """The resolved world as `emulate check` shows it."""
    out = console()
    out.print(Text(world.name, "bold"), *_training(scenario, world), sep="\n")
    out.print(f"server: {world.server}\n")
    alike = list(_together(world.devices))
    out.print(_rows(f"{len(world.devices)} devices", alike), _more(alike))
    if world.faults:
        out.print(_faults(world.faults), _more(world.faults))
    if world.hazards:
        title = "faults that devices draw, by iteration"
        out.print(_rows(title, world.hazards), _more(world.hazards))
    out.print(_demand(wanted, host), "")
    for one in short:
        out.print(Text(one.severity, "red" if one.fatal else "yellow"), str(one))
    if not short:
        out.print(Text("ok", "green"), "this host can carry it")


def _training(scenario: Scenario, world: World) -> Iterable[str]:
    training, stop = scenario.training, scenario.stop
    yield (
        f"{training.model} on {training.dataset} (split: {training.split.kind}), "
        f"batches of {training.batch_size}, learning rate {training.learning_rate:g}, seed "
        f"{scenario.seed}"
    )
    yield f"algorithm: {world.algorithm}"
    ends = [
        f"{stop.updates} updates" if stop.updates else "",
        f"accuracy {stop.accuracy}" if stop.accuracy is not None else "",
        str(stop.time) if stop.time is not None else "",
    ]
    every = f"measured every {scenario.evaluate.every} updates"
    yield f"until: {' or '.join(filter(None, ends))}; {every}"


def _together(devices: Sequence[DeviceRow]) -> Iterable[DeviceRow]:
    """Neighbours that differ in nothing but their numbers in one row."""
    for _, alike in groupby(devices, key=lambda row: replace(row, name=_group(row.name))):
        rows = list(alike)
        first, last = rows[0].name, rows[-1].name
        name = first if len(rows) == 1 else f"{first} … {last}"
        yield replace(rows[0], name=name)


def _group(name: str) -> str:
    group, _, number = name.rpartition("-")
    return group if number.isdigit() else name


def _rows(title: str, rows: Sequence[Any]) -> Table:
    made = table(*[field.name for field in fields(rows[0])], title=title)
    for row in rows[:MOST]:
        made.add_row(*(str(cell) or "-" for cell in astuple(row)))
    return made


def _faults(faults: Sequence[FaultRow]) -> Table:
    made = table("from", "until", "node", "fault", title="faults, as compiled from the seed")
    for row in faults[:MOST]:
        until = "for good" if row.until is None else f"{row.until:.1f} s"
        made.add_row(f"{row.at:.1f} s", until, row.node, row.fault)
    return made


def _more(rows: Sequence[Any]) -> str:
    """The line after a table: blank, unless there is more than it shows."""
    return f"… {len(rows) - MOST} more (--json shows all)\n" if len(rows) > MOST else ""


def _demand(wanted: Demand, host: Host) -> Table:
    made = table("", "wanted", "this host has", title="demand")
    free = f", {wanted.unlimited} devices without a quota" if wanted.unlimited else ""
    made.add_row("cpu", f"{wanted.cores:g} cores{free}", f"{host.cores} cores")
    memory = f"about {_gib(wanted.memory)}, the server's {wanted.server >> 20} MiB among it"
    made.add_row("memory", memory, f"{_gib(host.available)} available")
    made.add_row("bridge ports", str(wanted.ports), str(PORTS))
    return made


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
