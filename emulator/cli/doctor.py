"""`emulate doctor`: everything that runs need of a machine, each with its remedy."""

import json
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from .. import datasets
from ..errors import EmulatorError
from ..machine import installed
from ..machine.host import Host, lacks_containers
from .options import JSON_OPTION

if TYPE_CHECKING:
    from ..shaping.features import Features

LEAST_MEMORY = 2 << 30

NEEDED = "mnist"
"""The data set without which the quickstart does not run; the others are for who names them."""


@dataclass(frozen=True)
class Finding:
    """One thing that runs need, or that is good to know."""

    what: str
    ok: bool
    found: str
    remedy: str = ""
    optional: bool = False
    """Whether runs can do without it."""

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def examine() -> list[Finding]:
    """Everything, also where the first thing is missing already."""
    data = (_data(name) for name in datasets.DATASETS)
    return [_host(Host.here()), _tensorflow(), *data, *_engine()]


def _host(host: Host) -> Finding:
    memory = f"{host.memory / 2**30:.1f} GiB of memory"
    if host.available < host.memory:  # else the system does not say what of it is free
        memory = f"{host.available / 2**30:.1f} of {memory} free"
    found = f"{host.cores} cores, {memory}, kernel {host.kernel}"
    enough = host.available >= LEAST_MEMORY
    return Finding("host", enough, found, "" if enough else "free some memory: 2 GiB are needed")


def _tensorflow() -> Finding:
    found = installed.tensorflow()
    if found is None:
        return Finding("tensorflow", False, "not installed", installed.remedy())
    return Finding("tensorflow", True, f"{found[1].version} ({found[0]})")


def _data(name: str) -> Finding:
    try:
        data = datasets.load(name)
    except EmulatorError as error:
        return Finding("data", False, str(error), optional=name != NEEDED)
    inputs = datasets.DATASETS[name].task.inputs
    found = f"{name}: {len(data.train):,} + {len(data.test):,} {inputs}, sound"
    return Finding("data", True, found, optional=name != NEEDED)


def _engine() -> list[Finding]:
    from ..runtimes.docker import client, owners

    try:
        engine = client.connect()
        with client.refusals("looking at the engine"):
            version = engine.version()["Version"]
            left = sum(owner.abandoned for owner in owners.owners(engine))
    except EmulatorError as error:
        return [Finding("engine", False, str(error), optional=bool(lacks_containers()))]
    return [Finding("engine", True, f"Docker {version}"), *_image(engine), _leftovers(left)]


def _image(client: Any) -> list[Finding]:
    from ..runtimes.docker import probing
    from ..runtimes.docker.images import node_image

    try:
        found = node_image.require(client)
    except EmulatorError as error:
        return [Finding("image", False, str(error))]
    made = Finding("image", True, f"{node_image.name()} {found.id[:19]}, made of this code")
    try:
        return [made, Finding("shaping", True, service(probing.probe(client, found.id)))]
    except EmulatorError as error:
        return [made, Finding("shaping", False, str(error))]


def service(features: "Features") -> str:
    """What serves each part of a link on this kernel, in words."""
    delay = "by the kernel" if features.netem else "held at the receiver (no netem here)"
    rate = next((way for way in ("tbf", "htb") if getattr(features, way)), "missing")
    loss = "netem" if features.netem else "nftables" if features.nftables else "missing"
    down = "" if features.ifb else "; no ifb, so no downlink can have a rate"
    return f"rate by {rate}, delay {delay}, loss by {loss}{down}"


def _leftovers(runs: int) -> Finding:
    if runs:
        found = f"{runs} dead runs have left something in the engine"
        return Finding("leftovers", False, found, "emulate clean", True)
    return Finding("leftovers", True, "dead runs have left nothing", optional=True)


@click.command(short_help="What this machine has of what runs need, and what it lacks.")
@JSON_OPTION
def doctor(as_json: bool) -> None:
    """Say what this machine has of what runs need, and how to get what it lacks.

    Looks at memory, data, the Docker engine, the image, what the kernel can do to packets, and
    what earlier runs have left behind. The exit code is 1 if a run could not be played.
    """
    findings = examine()
    if as_json:
        click.echo(json.dumps([finding.plain() for finding in findings], indent=2))
    else:
        for finding in findings:
            word, colour = _MARKS[finding.ok, finding.optional]
            click.echo(f"{click.style(word, fg=colour)} {finding.what:<10} {finding.found}")
            if finding.remedy:
                click.echo(f"{'':15} -> {finding.remedy}")
    sys.exit(0 if all(finding.ok or finding.optional for finding in findings) else 1)


_MARKS = {
    (True, True): ("ok  ", "green"),
    (True, False): ("ok  ", "green"),
    (False, True): ("note", "yellow"),
    (False, False): ("MISS", "red"),
}
