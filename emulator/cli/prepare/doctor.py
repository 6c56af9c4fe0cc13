"""`emulate doctor`: check whether this machine has everything that a run needs."""

import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

import click

from ...errors import EmulatorError
from ..options import JSON_OPTION, SWARM
from ..output import emit

if TYPE_CHECKING:
    from ...costs.host_limits import HostLimit
    from ...machine.host import Host
    from ...runtimes.docker.engine.probing import Probed
    from ...shaping.features import Features

LEAST_MEMORY = 2 << 30
"""Free memory that a run needs, in bytes."""

NEEDED = "mnist"
"""Data set of the quickstart; the other data sets are optional."""


@dataclass(frozen=True)
class Diagnosis:
    """A finding of `emulate doctor`: a need of runs, and whether this machine meets the need."""

    what: str
    ok: bool
    found: str
    remedy: str = ""
    optional: bool = False
    """Whether runs work without `what`."""
    devices: int | None = None
    """Number of devices that a limit of this host carries; None: the finding is about no limit."""

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def examine() -> list[Diagnosis]:
    """Return the findings of every check, also after a failed check."""
    from ...costs.host_limits import host_limits
    from ...learning.datasets import DATASETS
    from ...machine.host import Host

    host = Host.here()
    data = (_data(name) for name in DATASETS)
    engine, addresses = _engine()
    limits = capacity(host, [*host_limits(), *addresses])
    return [_host(host), _tensorflow(), *data, *engine, *limits]


def capacity(host: "Host", limits: "Iterable[HostLimit]") -> list[Diagnosis]:
    """Return for each of the `limits`, and for the memory of `host`, how many devices it carries,
    and the remedy for each that gives way before the memory; the first to give way comes first."""
    from ...costs.host_limits import MEBI, MEMORY, HostLimit
    from ...machine.kernel_tables import Supply

    memory = HostLimit(MEMORY, Supply(host.available // MEBI))
    found = sorted([memory, *limits], key=lambda limit: limit.devices)
    return [
        Diagnosis(
            "capacity",
            limit.devices > 0,
            f"{limit.devices:,} devices by {limit.need.name}{', which gives way first' * first}: "
            f"{limit.need.device} each of {limit.need.words}, of which there are {limit.words()}",
            limit.remedy(memory.devices) if limit.devices < memory.devices else "",
            optional=True,
            devices=limit.devices,
        )
        for limit, first in zip(found, [True, *[False] * len(found)], strict=False)
    ]


def _host(host: "Host") -> Diagnosis:
    memory = f"{host.memory / 2**30:.1f} GiB of memory"
    # equal numbers mean that the system does not tell how much memory is free
    if host.available < host.memory:
        memory = f"{host.available / 2**30:.1f} of {memory} free"
    facts = f"{host.cores} cores, {memory}, kernel {host.kernel}"
    enough = host.available >= LEAST_MEMORY
    return Diagnosis("host", enough, facts, "" if enough else "free some memory: 2 GiB are needed")


def _tensorflow() -> Diagnosis:
    from ...machine import installed

    installation = installed.tensorflow()
    if installation is None:
        return Diagnosis("tensorflow", False, "not installed", installed.remedy())
    return Diagnosis("tensorflow", True, f"{installation[1].version} ({installation[0]})")


def _data(name: str) -> Diagnosis:
    from ...learning import datasets  # late: imports NumPy

    try:
        data = datasets.load(name)
    except EmulatorError as error:
        return Diagnosis("data", False, str(error), optional=name != NEEDED)
    inputs = datasets.DATASETS[name].task.inputs
    sizes = f"{name}: {len(data.train):,} + {len(data.test):,} {inputs}, sound"
    return Diagnosis("data", True, sizes, optional=name != NEEDED)


def _engine() -> "tuple[list[Diagnosis], list[HostLimit]]":
    """Return the findings about the engine, and its limit of addresses, if it has any."""
    from ...machine.host import lacks_containers
    from ...runtimes.docker.engine import client, owners
    from ...runtimes.docker.engine.endpoint import endpoint

    try:
        engine = client.connect()
        with client.refusals("looking at the engine"):
            version = engine.version()["Version"]
            left = sum(owner.dead for owner in owners.owners(engine))
    except EmulatorError as error:
        return [Diagnosis("engine", False, str(error), optional=bool(lacks_containers()))], []
    sound = Diagnosis("engine", True, f"Docker {version} at {endpoint()}")
    network, addresses = _addresses(engine)
    found = [sound, *_image(engine), *network, _tcp(), _leftovers(left)]
    return found, addresses


def _addresses(client: Any) -> "tuple[list[Diagnosis], list[HostLimit]]":
    """Return the limit of addresses, or a finding if the engine has no addresses for a network."""
    from ...costs.host_limits import ADDRESSES, HostLimit
    from ...machine.kernel_tables import Supply
    from ...runtimes.docker.engine import probing

    try:
        return [], [HostLimit(ADDRESSES, Supply(probing.addresses_given(client)))]
    except EmulatorError as error:
        return [Diagnosis("network", False, str(error))], []


def _image(client: Any) -> list[Diagnosis]:
    from ...runtimes.docker.engine import probing
    from ...runtimes.docker.images import node_image

    try:
        image = node_image.require(client)
    except EmulatorError as error:
        return [Diagnosis("image", False, str(error))]
    sound = Diagnosis("image", True, f"{node_image.name()} {image.id[:19]}, made of this code")
    try:
        probed = probing.examine(client, image.id)
    except EmulatorError as error:
        return [sound, Diagnosis("shaping", False, str(error))]
    shaping = Diagnosis("shaping", True, service(probed.features))
    return [sound, shaping, _limits(probed), _forks(probing.forks_refused(client, image.id))]


def _forks(refused: str) -> Diagnosis:
    """Return whether workers can be forked, and if they are `refused`, why."""
    if not refused:
        return Diagnosis("forks", True, "a fork server can start the workers", optional=True)
    found = f"each worker opens TensorFlow for itself, at more time and memory: {refused}"
    return Diagnosis("forks", False, found, optional=True)


def _limits(probed: "Probed") -> Diagnosis:
    """Return whether the engine sets the limits of devices, and the files that a process has."""
    from ...runtimes.docker.engine.engine_traits import GROUPS

    files = f"a process may open {probed.files:,} files"
    if not probed.lacks:
        found = f"the engine keeps CPU quotas, memory limits, mounts and users; {files}"
        return Diagnosis("limits", True, found, optional=True)
    words = "; ".join(lack.words for lack in probed.lacks)
    remedy = f"{GROUPS}; a scenario that needs a missing limit is refused"
    return Diagnosis("limits", False, f"the engine: {words}; {files}", remedy, optional=True)


def service(features: "Features") -> str:
    """Return in words the means of shaping rate, delay and loss with the kernel's `features`."""
    if features.netem and features.ifb:
        return f"rate by {_rate(features)}, delay by the kernel, loss by netem"
    if features.tun:
        why = "no netem here" if not features.netem else "no ifb here"
        rate = "tbf" if features.tbf and features.ifb else "the box"
        return f"rate by {rate}, delay by packets held behind TAP devices ({why}), loss by the box"
    delay = (
        "by the kernel" if features.netem else "held at the receiver (no netem, no /dev/net/tun)"
    )
    loss = "netem" if features.netem else "nftables" if features.nftables else "missing"
    down = "" if features.ifb else "; no ifb, so no downlink can have a rate"
    return f"rate by {_rate(features)}, delay {delay}, loss by {loss}{down}"


def _rate(features: "Features") -> str:
    """Return the kernel's means of rates."""
    return next((way for way in ("tbf", "htb") if getattr(features, way)), "missing")


def _tcp() -> Diagnosis:
    """Return the congestion control of containers, and the others that a scenario can name."""
    from ...machine import kernel
    from ...scenario.sections.run_sections import Congestion

    refusals = {control: kernel.congestion_refusal(control) for control in get_args(Congestion)}
    choice = " or ".join(control for control, refusal in refusals.items() if not refusal)
    found = f"{kernel.default_congestion()}; a scenario may choose {choice}"
    return Diagnosis("tcp", True, found, "; ".join(filter(None, refusals.values())), optional=True)


def _hosts() -> list[Diagnosis]:
    """Return a finding for the swarm, and one for each of its other hosts."""
    from ...runtimes.docker.engine.client import connect
    from ...runtimes.docker.images import node_image
    from ...runtimes.swarm.other_hosts import examine_hosts

    try:
        client = connect()
        found = examine_hosts(client, node_image.require(client).id)
    except EmulatorError as error:
        return [Diagnosis("swarm", False, str(error))]
    devices = f"a manager of a swarm with {len(found)} other hosts that are ready"
    hosts = [
        Diagnosis("host", True, f"{name}: {service(probed.features)}") for name, probed in found
    ]
    return [Diagnosis("swarm", True, devices), *hosts]


def _leftovers(runs: int) -> Diagnosis:
    if runs:
        count = f"{runs} dead runs have left containers, networks or volumes in the engine"
        return Diagnosis("leftovers", False, count, "emulate clean", True)
    return Diagnosis("leftovers", True, "dead runs have left nothing", optional=True)


@click.command(short_help="Check whether this machine has everything that a run needs.")
@click.option(
    "--on",
    type=click.Choice(["docker", SWARM]),
    default="docker",
    show_default=True,
    help="`swarm`: check each host of the Docker Swarm that the engine manages, too.",
)
@JSON_OPTION
def doctor(on: str, as_json: bool) -> None:
    """Check whether this machine has everything that a run needs, and name the remedies.

    The checks look at memory, TensorFlow, the data sets, the Docker engine, the image, the kernel's
    means of shaping links, the limits that the engine sets, containers left by dead runs, and how
    many devices the memory and the tables of this host carry, the first to give way first. The exit
    code is 1 if a run could not be played.

    \b
    emulate doctor
    emulate doctor --on swarm
    """
    findings = examine() + (_hosts() if on == SWARM else [])
    emit(as_json, [finding.plain() for finding in findings], lambda: _print(findings))
    sys.exit(0 if all(finding.ok or finding.optional for finding in findings) else 1)


_MARKS = {
    (True, True): ("ok  ", "green"),
    (True, False): ("ok  ", "green"),
    (False, True): ("note", "yellow"),
    (False, False): ("MISS", "red"),
}


def _print(findings: Iterable[Diagnosis]) -> None:
    for finding in findings:
        word, colour = _MARKS[finding.ok, finding.optional]
        click.echo(f"{click.style(word, fg=colour)} {finding.what:<10} {finding.found}")
        if finding.remedy:
            click.echo(f"{'':15} -> {finding.remedy}")
