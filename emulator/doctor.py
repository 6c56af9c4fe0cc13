"""What runs need of a machine, looked up one by one, and what to do where it is missing."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from . import datasets
from .errors import EmulatorError
from .host import Host

LEAST_MEMORY = 2 << 30


@dataclass(frozen=True)
class Finding:
    """One thing that runs need."""

    what: str
    ok: bool
    found: str
    remedy: str = ""
    optional: bool = False

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def examine() -> list[Finding]:
    """Everything, also where the first thing is missing already."""
    host = Host.here()
    findings = [_host(host)]
    findings += [_data(name) for name in datasets.DATASETS]
    findings += _engine()
    return findings


def _host(host: Host) -> Finding:
    found = f"{host.cores} cores, {host.available / 2**30:.1f} GiB of memory free"
    enough = host.available >= LEAST_MEMORY
    return Finding("host", enough, found, "" if enough else "free some memory: 2 GiB are needed")


def _data(name: str) -> Finding:
    try:
        data = datasets.load(name)
    except EmulatorError as error:
        return Finding("data", False, f"{name}: {error}", "make data", optional=name != "mnist")
    return Finding("data", True, f"{name}: {len(data.train)} + {len(data.test)} images, sound")


def _engine() -> list[Finding]:
    from .runtimes.docker import border, image, probing, sweep

    try:
        client = border.connect()
    except EmulatorError as error:
        return [Finding("engine", False, str(error), "make demo, or images/engine as root")]
    findings = [Finding("engine", True, f"Docker {client.version()['Version']}")]
    findings.append(_attempt("image", lambda: f"{image.require(client).id[:19]}", "make images"))
    if findings[-1].ok:
        id = image.require(client).id
        findings.append(
            _attempt(
                "shaping",
                lambda: probing.described(probing.probe(client, id).plain()),
                "see docs/why.md",
            )
        )
    left = sweep.leftovers(client)
    remedy = "emulate clean" if left else ""
    findings.append(Finding("leftovers", not left, f"{left} containers", remedy, optional=True))
    return findings


def _attempt(what: str, look: Callable[[], str], remedy: str) -> Finding:
    try:
        return Finding(what, True, look())
    except EmulatorError as error:
        return Finding(what, False, str(error), remedy)
