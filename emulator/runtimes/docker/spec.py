"""Makes the engine's keyword arguments for a node's container and for the network. Pure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.types import IPAMConfig, IPAMPool

from ...machine import congestion
from ...node import config
from ...world.cpu_quota import PERIOD
from ...world.roles import EVALUATOR, SERVER

CAPABILITIES = ("KILL", "NET_ADMIN", "SETGID", "SETUID")
"""Capabilities of the supervisor: it shapes links, and runs, pauses and kills a child of lesser
rights. The child parses the bytes of peers, and has none of these capabilities."""

PROCESSES = 64

SYSCTLS = {"net.ipv4.tcp_orphan_retries": "1"}
"""Kernel parameters of a container. A container outlives the crash of its node, and by default its
kernel goes on for minutes to send the dead process's data, on the connection that the server knows.
With 1 retry it gives up within seconds; a device without power does at once."""

FORWARDING = {"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.send_redirects": "0"}
"""Kernel parameters of a gateway: it forwards, and tells nobody of a way around it."""

SHARES = {SERVER: 65536, EVALUATOR: 2}
"""Weights by which containers share a core that several want; a device has 1024, the default of
the engine. Server and evaluator are on no device: devices should not notice the server's work, nor
wait for the evaluator, which occupies a core while it scores the test set."""

CPU_PERIOD = round(PERIOD * 1e6)
"""Microseconds in which a container may use its CPU quota once."""

ALONE = {"com.docker.network.bridge.inhibit_ipv4": "true"}
"""Options that give the bridge no address. An internal network leads nowhere beyond the host, but
by the bridge's address it would lead to every port on which the host listens at 0.0.0.0."""


@dataclass(frozen=True)
class Container:
    """The specification of a node's container."""

    node: str
    image: str
    network: str
    labels: dict[str, str]
    mounts: dict[str, Path]
    """Paths in the container, with their sources on the host; only `config.OUTPUT` is writable."""
    cpu: float | None = None
    """Cores; None: no quota."""
    memory: int | None = None
    """Bytes; None: no limit."""
    congestion: str | None = None
    """TCP congestion control; None: the host's."""
    address: str | None = None
    """Address on the network; None: the engine gives one."""
    gateway: bool = False
    """Whether the container forwards the packets of others."""
    kept: int = 0
    """Bytes that the node may store at once in its scratch folder, beside the usual 16 MiB."""


def name(run: str, node: str) -> str:
    """Return the engine's name for the container of `node` in `run`."""
    return f"emulate-{run}-{node}"


def network(name: str, labels: dict[str, str], subnet: str | None = None) -> dict[str, Any]:
    """Return keyword arguments for `docker.networks.create`.

    Containers on this network reach each other, but neither the host nor any other network. The
    engine takes addresses of containers on a network with a `subnet` only.
    """
    pools = [IPAMPool(subnet=subnet)] if subnet else []
    return {
        "name": name,
        "driver": "bridge",
        "internal": True,
        "options": ALONE,
        "labels": labels,
        **({"ipam": IPAMConfig(pool_configs=pools)} if pools else {}),
    }


def container(wanted: Container) -> dict[str, Any]:
    """Return keyword arguments for `docker.containers.create`."""
    kwargs: dict[str, Any] = {
        "image": wanted.image,
        "name": name(wanted.labels["emulate.run"], wanted.node),
        "hostname": wanted.node,
        "labels": wanted.labels,
        "network": wanted.network,
        "cap_drop": ["ALL"],
        "cap_add": list(CAPABILITIES),
        "security_opt": ["no-new-privileges"],
        "read_only": True,
        "tmpfs": {"/tmp": f"size={16 + _mebibytes(wanted.kept)}m,mode=1777", "/run": "size=1m"},
        "mounts": [_mount(target, source) for target, source in sorted(wanted.mounts.items())],
        "pids_limit": PROCESSES,
        "sysctls": _sysctls(wanted.congestion),
        "ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "log_config": {
            "Type": "none",
            "Config": {},
        },  # this process writes the output to the run's folder
        "stdin_open": True,  # the lifeline: at its end the supervisor ends the container
        "auto_remove": True,
    }
    if wanted.address is not None:
        endpoint = {"IPAMConfig": {"IPv4Address": wanted.address}}
        kwargs["networking_config"] = {wanted.network: endpoint}
    if wanted.gateway:
        kwargs |= {"cap_add": ["NET_ADMIN"], "sysctls": FORWARDING, "cpu_shares": SHARES[SERVER]}
    if wanted.node in SHARES:
        kwargs["cpu_shares"] = SHARES[wanted.node]
    if wanted.cpu is not None:
        # not as `nano_cpus`, which the engine could not take off again
        kwargs["cpu_period"] = CPU_PERIOD
        kwargs["cpu_quota"] = round(wanted.cpu * CPU_PERIOD)
    if wanted.memory is not None:
        kwargs["mem_limit"] = kwargs["memswap_limit"] = wanted.memory
    return kwargs


def _sysctls(control: str | None) -> dict[str, str]:
    return SYSCTLS if control is None else {**SYSCTLS, congestion.SETTING: control}


def _mebibytes(size: int) -> int:
    """Return `size` bytes in MiB, rounded up."""
    return -(-size // 2**20)


def _mount(target: str, source: Path) -> dict[str, Any]:
    writable = target == str(config.OUTPUT)
    return {"Type": "bind", "Target": target, "Source": str(source), "ReadOnly": not writable}
