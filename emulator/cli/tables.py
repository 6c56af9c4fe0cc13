"""The resolved world as `emulate check` shows it."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from typing import Any

from rich.console import Console
from rich.table import Table

from ..host import Host
from ..scenario.demand import Demand, Shortfall
from ..scenario.world import World

MOST = 40
"""Rows of one table that a person still reads; `--json` has them all."""


def print_world(world: World, wanted: Demand, host: Host, short: Sequence[Shortfall]) -> None:
    console = Console()
    console.print(f"[bold]{world.name}[/bold]: {world.algorithm}, {len(world.devices)} devices")
    console.print(_table("devices", world.devices))
    console.print(f"server: {world.server}", highlight=False)
    if world.faults:
        console.print(_table("faults, as compiled from the seed", world.faults))
    if world.hazards:
        console.print(_table("faults drawn by the devices, by iteration", world.hazards))
    _print_demand(console, wanted, host)
    for one in short:
        colour = "red" if one.severity == "error" else "yellow"
        console.print(f"[{colour}]{one.severity}[/{colour}] {one.text}", highlight=False)


def _table(title: str, rows: Sequence[Any]) -> Table:
    table = Table(*[field.name for field in fields(rows[0])], title=title, title_justify="left")
    for row in rows[:MOST]:
        table.add_row(*_cells(row))
    if len(rows) > MOST:
        table.add_row(f"… {len(rows) - MOST} more (--json shows all)")
    return table


def _cells(row: Any) -> Iterable[str]:
    return (str(cell) if cell not in (None, "") else "-" for cell in astuple(row))


def _print_demand(console: Console, wanted: Demand, host: Host) -> None:
    table = Table("", "wanted", "this host has", title="demand", title_justify="left")
    free = f" and {wanted.unlimited} without a quota" if wanted.unlimited else ""
    table.add_row("cpu", f"{wanted.cores:g} cores{free}", f"{host.cores} cores")
    table.add_row("memory", _gib(wanted.memory), f"{_gib(host.available)} available")
    table.add_row("bridge ports", str(wanted.ports), "1023")
    console.print(table)


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
