"""`emulate check`: show the plan of a scenario, and compare its demand with this host."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import DataError
from ..options import JSON_OPTION, ON, RUNTIME_OPTION, SCENARIO, SWARM, ScenarioFile
from ..output import emit

TUN = Path("/dev/net/tun")
"""Device through which TAP devices are made."""

if TYPE_CHECKING:
    from ...checks.finding import Finding
    from ...costs.cut_traffic import CutTraffic
    from ...costs.host_limits import HostTables
    from ...machine.host import Host
    from ...scenario import Scenario
    from ...scenario.unkept import Ignored
    from .overview_tables import GroupRow


@click.command(short_help="Show the plan of a scenario, and whether this host can carry it.")
@SCENARIO
@RUNTIME_OPTION(help="Runtime to check for, as for `emulate run`.")
@click.option(
    "--no-code",
    is_flag=True,
    help="Run no Python file that FILE names, and check all else: for a stranger's scenario.",
)
@JSON_OPTION
def check(file: ScenarioFile, on: str, no_code: bool, as_json: bool) -> None:
    """Show the plan of the scenario FILE, and whether this host can carry it. Starts nothing, but
    with `--on swarm` an agent at each host for a moment, which reads the tables of its kernel.

    The output has the resolved devices and links, the compute groups if there are any, the faults
    as compiled from the seed, for a cut model (`training.fully_connected`) both parts and the bytes
    of an update, the demand for cores, memory and entries of the kernel's tables beside the host's,
    the keys that the runtime ignores, and each reason for which `emulate run` would refuse the
    scenario. Reasons that lie in the Docker engine are shown by `emulate doctor` instead. The exit
    code is 2 if the file has mistakes, which are listed with their places, or if no run begins as
    it is written, and 1 if this host cannot carry the scenario.

    The Python files that FILE names run on this host, with your rights. With --no-code none runs:
    plugins are left out, a shipped model and shipped data stand for those that a function makes,
    and the output names each key that was not checked.

    In JSON every quantity is a number: times in seconds, rates in bits per second, memory in bytes,
    CPU shares in cores, other shares from 0 to 1; null means no rate or no quota. For a file with
    mistakes the JSON has only `mistakes`, each with `file`, `line`, `place` and `message`; reasons
    of a runtime are in `refusals`.

    \b
    emulate check lab.yaml
    emulate check lab.yaml --set 'devices[0].count=40'
    emulate check lab.yaml --on virtual
    emulate check lab.yaml --on swarm
    emulate check downloaded.yaml --no-code
    """
    checked = _check(file, on, no_code=no_code)
    alike = "docker" if on == SWARM else on
    emit(as_json, checked.plain, lambda: _show(checked, alike))
    found = checked.found[alike]
    sys.exit(max((each.raises.exit_code for each in found if each.fatal), default=0))


@dataclass(frozen=True)
class _Checked:
    """The facts of a scenario before a run."""

    scenario: "Scenario"
    host: "Host"
    left: list[str] | None
    """Keys that were not checked, as they would run code; None if all are checked."""
    found: "dict[str, tuple[Finding, ...]]"
    """Findings for each runtime."""
    ignored: "dict[str, list[Ignored]]"
    """Keys that each runtime ignores."""
    startup: float
    """Lower bound, in seconds, on the time until all devices have said hello."""
    dilation: dict[str, Any]
    """The dilation `needed`, the one `taken`, and the `source` of the former."""
    tables: "list[HostTables]"
    """The tables of each host, first of this one, with the part of the run that it has."""
    groups: "list[GroupRow]"
    traffic: "CutTraffic | None"
    placed: dict[str, list[str]]
    """The devices of each host of the swarm; empty without one."""

    def plain(self) -> dict[str, Any]:
        """Return the overview as JSON values, for `--json`."""
        from ...checks.this_host import RESOURCES
        from ...scenario import demand, overview

        found, groups, traffic = self.found, self.groups, self.traffic
        return {
            "mistakes": [],
            **({} if self.left is None else {"not_checked": self.left}),
            **overview(self.scenario).plain(),
            **({"groups": [row.plain() for row in groups]} if groups else {}),
            **({"cut": traffic.plain()} if traffic else {}),
            "demand": demand(self.scenario).plain(),
            "limits": self.tables[0].plain(),
            "startup": self.startup,
            "dilation": self.dilation,
            "notes": _texts(found["docker"], "note"),
            "shaping": {"links": _shaped(self.scenario)[0], "tun": TUN.exists()},
            "host": {**self.host.plain(), "available": self.host.available},
            **({"hosts": self.placed, "tables": self._tables()} if self.placed else {}),
            "shortfalls": [
                each.plain()
                for each in found["docker"]
                if each.severity == "warning" or (each.fatal and each.place in RESOURCES)
            ],
            "refusals": {name: _texts(those, "error") for name, those in found.items()},
            "not_kept": {
                name: [key.plain() for key in keys] for name, keys in self.ignored.items()
            },
        }

    def _tables(self) -> dict[str, Any]:
        """Return the limits of the tables of each host, and why some are not known, by its name."""
        return {own.host: {"limits": own.plain(), "unknown": own.unknown} for own in self.tables}


def _check(file: ScenarioFile, on: str, *, no_code: bool) -> _Checked:
    """Load the scenario in `file`, with `no_code` without its Python files, and check it."""
    from ...checks.finding import Finding
    from ...checks.preflight import preflight
    from ...costs.cut_traffic import cut_traffic
    from ...costs.host_dilation import core_demand, with_dilation
    from ...costs.host_limits import tables_of
    from ...machine.host import Host
    from ...scenario import load_without_code
    from ...scenario.cores_and_memory import startup_time
    from ...scenario.unkept import unkept
    from ..play.run import capacity
    from .overview_tables import group_rows

    left: list[str] | None = None
    if no_code:
        scenario, left = load_without_code(*file)
    else:
        scenario = file.load()
    host = capacity(on) or Host.here()
    placed = {}
    tables = [tables_of(scenario)]
    if on == SWARM:
        from ...runtimes.swarm.play_swarm import SwarmEngines

        engines = SwarmEngines()
        placed, tables = (
            engines.devices_by_host(scenario),
            engines.tables_of_all(with_dilation(scenario, host.cores)),
        )
    played, cores = with_dilation(scenario, host.cores), core_demand(scenario)
    # the runtime of one host gives way to that of several
    played_on = {name: name for name in ON} | ({"docker": SWARM} if on == SWARM else {})
    found = {
        name: preflight(scenario, runtime, host, tables=tables if placed else None).findings
        for name, runtime in played_on.items()
    }
    if left:  # the stand-in's data need not be here
        unchecked = [
            Finding("note", key, f"not checked, as it would run code: {key}") for key in left
        ]
        found = {
            runtime: (*(e for e in those if not issubclass(e.raises, DataError)), *unchecked)
            for runtime, those in found.items()
        }
    needed = cores.needed(host.cores)
    return _Checked(
        scenario,
        host,
        left,
        found,
        ignored={
            runtime: unkept(scenario, SWARM if placed and runtime == "docker" else runtime)
            for runtime in ON
        },
        startup=startup_time(played, host.cores),
        dilation={"needed": needed, "taken": played.dilation, "source": cores.source},
        tables=tables,
        groups=group_rows(scenario),
        traffic=cut_traffic(scenario),
        placed=placed,
    )


def _show(checked: _Checked, on: str) -> None:
    """Print what is `checked`, for the runtime `on`."""
    from shutil import disk_usage

    from ...scenario import demand, overview
    from .overview_tables import (
        Findings,
        compute_groups_table,
        cut_table,
        demand_table,
        print_overview,
    )

    scenario, groups, traffic = checked.scenario, checked.groups, checked.traffic
    findings = {
        runtime: Findings(
            on=words,
            refused=_texts(checked.found[runtime], "error"),
            warned=_texts(checked.found[runtime], "warning"),
            unkept=list(map(str, checked.ignored[runtime])),
            notes=_texts(checked.found[runtime], "note"),
        )
        for runtime, words in ON.items()
    }
    (other,) = ON.keys() - {on}
    made = [compute_groups_table(groups, cut=traffic is not None)] if groups else []
    made += [cut_table(traffic)] if traffic else []
    if on == "docker":
        wanted, disk = demand(scenario), disk_usage(".").free
        there = checked.host, checked.tables[0].plain(), disk
        made.append(demand_table(wanted, *there, checked.startup, checked.dilation))
    print_overview(scenario, overview(scenario), made, findings[on], findings[other])
    for name, devices in checked.placed.items():
        click.echo(f"host {name}: {', '.join(devices) or 'no device'}")
    delayed, rated = _shaped(scenario)
    if on == "docker" and delayed:
        click.echo(_shaping(delayed))
    if on == "docker" and rated:
        click.echo(_short_queues(rated))


def _texts(findings: "Iterable[Finding]", severity: str) -> list[str]:
    """Return the lines of the `findings` of a severity."""
    return [each.text for each in findings if each.severity == severity]


def _shaped(scenario: "Scenario") -> tuple[int, int]:
    """Return the number of links with more than a rate, which need netem or the box, and of those
    with a rate alone."""
    from ...scenario.timeline.link_changes import reshaped_links
    from ...shaping.backend import Backend, boxed

    backend, others = Backend(rate="tbf", delay="packets"), reshaped_links(scenario)
    links = [(node.link, others.get(node.name, ())) for node in scenario.nodes]
    links.append((scenario.server.link, ()))
    plain = [link for link, faulty in links if not boxed(link, backend, faulty)]
    rated = sum(bool(link.up.rate or link.down.rate) for link in plain)
    return len(links) - len(plain), rated


def _shaping(links: int) -> str:
    """Return in words by what the packets of `links` links will be delayed."""
    from ...errors import counted

    held = (
        "by a box behind TAP devices"
        if TUN.exists()
        else "messages are held by their receivers, as /dev/net/tun is not here"
    )
    return (
        f"shaping: {counted(links, 'link')} with delay, jitter or loss: by the kernel where it has "
        f"netem, else {held}; `emulate doctor` says which"
    )


def _short_queues(links: int) -> str:
    """Return in words what queue `links` links with a rate alone have."""
    from ...errors import counted

    return (
        f"shaping: {counted(links, 'link')} with a rate alone: by tbf on the sender's host, where "
        "TCP keeps the queue short, so one connection does not delay other packets; with a `delay` "
        "by netem or a box, the queue fills as on a home's line"
    )
