"""Tables for people: wide enough for what they hold, also where there is no terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..machine.host import Host
from ..scenario import Scenario
from ..scenario.demand import PORTS, Demand
from ..scenario.overview import DeviceRow, FaultRow, HazardRow, Overview, describe_side
from ..scenario.reading.algorithm_names import flow
from ..scenario.reading.dump import plain
from ..scenario.startup import BOOT, ENGINE
from ..units import Bytes, Fraction, Share
from ..world.link import Link

MOST = 40
"""Rows of one table that a person still reads; `--json` has them all."""

WIDE = 160
"""Columns where no terminal sets a bound: a file, a pipe."""

_CHOSEN = (
    *("codec", "modulation", "synchronization", "optimizer", "error_feedback", "pull", "split"),
)
"""Keys of `training` that choose the method; most have parameters of their own."""


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


@dataclass(frozen=True)
class Findings:
    """What `emulate check` has to say of a scenario on one runtime."""

    on: str
    """In words, as `containers`."""
    refused: Sequence[str]
    """Why `emulate run` would refuse it."""
    warned: Sequence[str]
    unkept: Sequence[str]
    """Keys that the runtime does not keep, each with the reason."""


def print_world(
    scenario: Scenario,
    world: Overview,
    demanded: Table | None,
    found: Findings,
    other: Findings,
) -> None:
    """Print the resolved world, what it wants (`demanded`), and what was `found` on the runtime
    that it is checked for, and on the `other`."""
    out = console()
    out.print(Text(world.name, "bold"), *_training(scenario), sep="\n")
    out.print(f"server: {_link(world.server)}\n")
    alike = list(_together(world.devices))
    out.print(_devices(f"{len(world.devices)} devices", alike), _more(alike))
    if world.faults:
        out.print(_faults(world.faults), _more(world.faults))
    if world.hazards:
        out.print(_hazards(world.hazards), _more(world.hazards))
    if demanded:
        out.print(demanded, "")
    for findings in (found, other):
        for line in findings.unkept:
            out.print(Text("note", "yellow"), f"not kept in {findings.on}: {line}", soft_wrap=True)
    for line in other.refused:
        out.print(Text("note", "yellow"), f"refused in {other.on}: {line}", soft_wrap=True)
    for line in found.refused:
        out.print(Text("error", "red"), line, soft_wrap=True)
    for line in found.warned:
        out.print(Text("warning", "yellow"), line, soft_wrap=True)
    if not found.refused and not found.warned:
        out.print(Text("ok", "green"), "this host can carry it")


def _training(scenario: Scenario) -> Iterable[str]:
    training, stop = scenario.training, scenario.stop
    yield (
        f"{training.model} on {training.dataset}, batches of {training.batch_size}, learning rate "
        f"{training.learning_rate:g}, seed {scenario.seed}"
    )
    yield f"algorithm: {training.described}"
    for name in _CHOSEN:
        yield f"{name}: {_chosen(getattr(training, name))}"
    ends = [
        f"{stop.updates} updates" if stop.updates else "",
        f"accuracy {stop.accuracy}" if stop.accuracy is not None else "",
        str(stop.time) if stop.time is not None else "",
    ]
    every = f"measured every {scenario.evaluate.every} updates"
    yield f"until: {' or '.join(filter(None, ends))}; {every}"


def _chosen(value: Any) -> str:
    """Return a kind with all its parameters, or as a bare word if it has none, as YAML has it."""
    written = plain(value)
    bare = isinstance(written, dict) and written.keys() == {"kind"}
    return str(written["kind"]) if bare else flow(written)


def _link(link: Link) -> str:
    return (
        f"up {describe_side(link.up)}, down {describe_side(link.down)}"
        if link.shaped
        else "unshaped"
    )


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


def _devices(title: str, rows: Sequence[DeviceRow]) -> Table:
    made = table(*[field.name for field in fields(DeviceRow)], title=title)
    for row in rows[:MOST]:
        made.add_row(
            row.name,
            row.profile or "-",
            "no quota" if row.cpu is None else str(Share(row.cpu)),
            str(Bytes(row.memory)),
            describe_side(row.up),
            describe_side(row.down),
            ", ".join(row.failures) or "-",
        )
    return made


def _hazards(rows: Sequence[HazardRow]) -> Table:
    made = table("node", "fault", "per_iteration", title="faults that devices draw, by iteration")
    for row in rows[:MOST]:
        made.add_row(row.node, row.fault, str(Fraction(row.per_iteration)))
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


def demand_table(wanted: Demand, host: Host, startup: float) -> Table:
    """Return what containers want of this host beside what it has.

    `startup`: seconds until all have said hello, at least.
    """
    made = table("", "wanted", "this host has", title="demand")
    free = f", {wanted.unlimited} devices without a quota" if wanted.unlimited else ""
    made.add_row("cpu", f"{wanted.cores:g} cores{free}", f"{host.cores} cores")
    memory = f"about {_gib(wanted.memory)}, the server's {_mib(wanted.server)} among it"
    made.add_row("memory", memory, f"{_gib(host.available)} available")
    made.add_row(
        "memory limits",
        f"server {_mib(wanted.server_limit)}, evaluator {_mib(wanted.evaluator_limit)}, "
        f"devices {_gib(wanted.limits)} together",
        "",
    )
    made.add_row("bridge ports", str(wanted.ports), str(PORTS))
    each = f"{wanted.ports} containers, {ENGINE + BOOT:.1f} s of a core each"
    made.add_row("start-up", each, f"at least {startup:.0f} s until all have said hello")
    return made


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
