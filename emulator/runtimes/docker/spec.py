"""A node as the container that plays it, and their network. Pure: the engine is asked elsewhere."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...node import config
from ...world.roles import EVALUATOR, SERVER

CAPABILITIES = ("KILL", "NET_ADMIN", "SETGID", "SETUID")
"""What the supervisor needs: to shape links, and to run, pause and kill a child of lesser rights.
The child, and so all that parses a peer's bytes, has none of them."""

PROCESSES = 64

SYSCTLS = {"net.ipv4.tcp_orphan_retries": "1"}
"""A container outlives its node's crash, and its kernel would go on sending what the dead process
had begun to, for minutes, on the connection that the server knows. Now it gives up within seconds;
a device without power does at once."""

SHARES = {SERVER: 65536, EVALUATOR: 2}
"""Of a core that several want at once; a device has 1024, the engine's default. Neither the server
nor the evaluator is on a device: devices should not notice what the one costs, nor wait for the
other, which takes a core for as long as a test set is."""


ALONE = {"com.docker.network.bridge.inhibit_ipv4": "true"}
"""The bridge has no address of its own. An internal network leads nowhere beyond the host, but by
the bridge's address to every port on which the host listens at 0.0.0.0."""


@dataclass(frozen=True)
class Container:
    """What a container is made from."""

    node: str
    image: str
    network: str
    labels: dict[str, str]
    mounts: dict[str, Path]
    """Where in the container, and what of the host; read-only but for `config.OUTPUT`."""
    cpu: float | None = None
    """Cores; None: no quota."""
    memory: int | None = None
    """Bytes; None: no limit."""


def name(run: str, node: str) -> str:
    return f"emulate-{run}-{node}"


def network(name: str, labels: dict[str, str]) -> dict[str, Any]:
    """Return keyword arguments for `docker.networks.create`.

    On this network containers reach each other, and neither the host nor what is beyond it.
    """
    return {
        "name": name,
        "driver": "bridge",
        "internal": True,
        "options": ALONE,
        "labels": labels,
    }


def container(wanted: Container) -> dict[str, Any]:
    """Keyword arguments for `docker.containers.create`."""
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
        "tmpfs": {"/tmp": "size=16m,mode=1777", "/run": "size=1m"},
        "mounts": [_mount(target, source) for target, source in sorted(wanted.mounts.items())],
        "pids_limit": PROCESSES,
        "sysctls": SYSCTLS,
        "ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "log_config": {"Type": "none", "Config": {}},  # what it says goes to the run's folder
        "stdin_open": True,  # its lifeline
        "auto_remove": True,
    }
    if wanted.node in SHARES:
        kwargs["cpu_shares"] = SHARES[wanted.node]
    if wanted.cpu is not None:
        kwargs["nano_cpus"] = round(wanted.cpu * 1e9)
    if wanted.memory is not None:
        kwargs["mem_limit"] = kwargs["memswap_limit"] = wanted.memory
    return kwargs


def _mount(target: str, source: Path) -> dict[str, Any]:
    writable = target == str(config.OUTPUT)
    return {"Type": "bind", "Target": target, "Source": str(source), "ReadOnly": not writable}
