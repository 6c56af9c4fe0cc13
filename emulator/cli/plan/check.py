"""`emulate check`: show the plan of a scenario, and compare its demand with this host."""

import sys
from collections.abc import Iterable
from pathlib import Path
from shutil import disk_usage
from typing import TYPE_CHECKING

import click

from ...errors import DataError
from ..options import FILE, JSON_OPTION, ON, ON_OPTION, SET
from ..output import echo_json

TUN = Path("/dev/net/tun")
"""Device through which TAP devices are made."""

if TYPE_CHECKING:
    from ...checks.finding import Finding
    from ...scenario import Scenario


@click.command(short_help="Show the plan of a scenario, and whether this host can carry it.")
@FILE
@SET
@ON_OPTION(help="Runtime to check for, as for `emulate run`.")
@click.option(
    "--no-code",
    is_flag=True,
    help="Run no Python file that FILE names, and check all else: for a stranger's scenario.",
)
@JSON_OPTION
def check(file: Path, overrides: tuple[str, ...], on: str, no_code: bool, as_json: bool) -> None:
    """Show the plan of the scenario FILE, and whether this host can carry it. Starts nothing.

    The output has the resolved devices and links, the compute groups if there are any, the faults
    as compiled from the seed, for a cut model (`training.fully_connected`) both parts and the bytes
    of an update, the demand for cores and memory beside the host's, the keys that the runtime
    ignores, and each reason for which `emulate run` would refuse the scenario. Reasons that lie in
    the Docker engine are shown by `emulate doctor` instead. The exit code is 2 if the file has
    mistakes, which are listed with their places, and 1 if this host cannot carry the scenario.

    The Python files that FILE names run on this host, with your rights. With --no-code none runs:
    plugins are left out, a shipped model and shipped data stand for those that a function makes,
    and the output names each key that was not checked.

    In JSON every quantity is a number: times in seconds, rates in bits per second, memory in bytes,
    CPU shares in cores, other shares from 0 to 1; null means no rate or no quota. For a file with
    mistakes the JSON has only `mistakes`, each with `file`, `line`, `place` and `message`.

    \b
    emulate check lab.yaml
    emulate check lab.yaml --set 'devices[0].count=40'
    emulate check lab.yaml --on virtual
    emulate check downloaded.yaml --no-code
    """
    from ...checks.finding import Finding
    from ...checks.preflight import preflight
    from ...checks.this_host import RESOURCES
    from ...costs.cut_traffic import cut_traffic
    from ...costs.host_dilation import core_demand, with_dilation
    from ...machine.host import Host
    from ...scenario import demand, load, load_without_code, overview
    from ...scenario.demand import startup_time
    from ...scenario.unkept import unkept
    from .compute_group_rows import group_rows

    left: list[str] = []
    if no_code:
        scenario, left = load_without_code(file, overrides)
    else:
        scenario = load(file, overrides)
    host, disk = Host.here(), disk_usage(".").free
    plan, wanted = overview(scenario), demand(scenario)
    groups = group_rows(scenario)
    played = with_dilation(scenario, host.cores)
    least = startup_time(played, host.cores)
    cores = core_demand(scenario)
    pace = {"needed": cores.needed(host.cores), "taken": played.dilation, "source": cores.source}
    found = {runtime: preflight(scenario, runtime, host).findings for runtime in ON}
    if left:  # the stand-in's data need not be here
        found = {
            runtime: tuple(each for each in those if not issubclass(each.raises, DataError))
            for runtime, those in found.items()
        }
    unchecked = [Finding("note", key, f"not checked, as it would run code: {key}") for key in left]
    found = {runtime: (*those, *unchecked) for runtime, those in found.items()}
    ignored = {runtime: unkept(scenario, runtime) for runtime in ON}
    traffic, (delayed, rated) = cut_traffic(scenario), _shaped(scenario)
    if as_json:
        content = {
            "mistakes": [],
            **({"not_checked": left} if no_code else {}),
            **plan.plain(),
            **({"groups": [row.plain() for row in groups]} if groups else {}),
            **({"cut": traffic.plain()} if traffic else {}),
            "demand": wanted.plain(),
            "startup": least,
            "dilation": pace,
            "notes": _texts(found["docker"], "note"),
            "shaping": {"links": delayed, "tun": TUN.exists()},
            "host": {**host.plain(), "available": host.available},
            "shortfalls": [
                each.plain()
                for each in found["docker"]
                if each.severity == "warning" or (each.fatal and each.place in RESOURCES)
            ],
            "refusals": {name: _texts(those, "error") for name, those in found.items()},
            "not_kept": {name: [key.plain() for key in keys] for name, keys in ignored.items()},
        }
        echo_json(content)
    else:
        from ..tables import Findings, compute_groups_table, demand_table, print_overview
        from .cut_table import cut_table

        findings = {
            runtime: Findings(
                on=words,
                refused=_texts(found[runtime], "error"),
                warned=_texts(found[runtime], "warning"),
                unkept=list(map(str, ignored[runtime])),
                notes=_texts(found[runtime], "note"),
            )
            for runtime, words in ON.items()
        }
        (other,) = ON.keys() - {on}
        demanded = [demand_table(wanted, host, disk, least, pace)] if on == "docker" else []
        grouped = [compute_groups_table(groups, cut=traffic is not None)] if groups else []
        cut = [cut_table(traffic)] if traffic else []
        print_overview(scenario, plan, [*grouped, *cut, *demanded], findings[on], findings[other])
        if on == "docker" and delayed:
            click.echo(_shaping(delayed))
        if on == "docker" and rated:
            click.echo(_short_queues(rated))
    sys.exit(max((each.raises.exit_code for each in found[on] if each.fatal), default=0))


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
