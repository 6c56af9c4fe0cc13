"""Makes the engine's keyword arguments for the container of a workload's program. Pure.

The container is in the network of its sidecar, which has made the link. So it must not have the
right to undo the link: it has none of the rights over networks, nor the right to send raw packets,
which would pass beside the queues of the link.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....scenario.sections.workload_section import (
    DATA,
    DRIVER,
    Program,
    ProgramPlace,
    WorkloadSection,
)
from ....world.roles import SERVER
from .spec import SHARES, name

WITHHELD = ("NET_RAW",)
"""Capabilities that the engine gives to containers by default, and not to a program: the packets of
a raw socket may pass beside the queues of the link (`PACKET_QDISC_BYPASS`)."""

TASKS = 4096
"""Processes and threads that the container of a program may have: it must not fill the host."""

PROGRAM = "program"
"""Role of the container, among its labels."""


def program_name(run: str, node: str) -> str:
    """Return the engine's name for the container of the program of `node`; no device can have it,
    for the sake of the `_`."""
    return f"{name(run, node)}_program"


@dataclass(frozen=True)
class ProgramContainer:
    """The specification of the container of a program."""

    node: str
    """The node with the program: a device, the server, or the driver."""
    image: str
    labels: dict[str, str]
    memory: int | None = None
    """Bytes; None: no limit."""

    @property
    def sidecar(self) -> str:
        """The node in whose network the program is: the driver is beside the server."""
        return SERVER if self.node == DRIVER else self.node


def program(
    wanted: ProgramContainer, workload: WorkloadSection, place: ProgramPlace
) -> dict[str, Any]:
    """Return keyword arguments for `docker.containers.create`.

    The container has no CPU quota yet, and runs in the network of the sidecar, which must run.
    """
    run, role = wanted.labels["emulate.run"], key_of(wanted.node)
    what: Program = workload.programs[role]
    mounts = {**what.mounts, **({DATA: workload.data} if workload.data else {})}
    limits = {} if wanted.memory is None else dict.fromkeys(_MEMORY, wanted.memory)
    return {
        "image": wanted.image,
        "name": program_name(run, wanted.node),
        "labels": wanted.labels,
        "command": what.words(place),
        "environment": what.environment(place),
        "network_mode": f"container:{name(run, wanted.sidecar)}",
        "cap_drop": list(WITHHELD),
        "security_opt": ["no-new-privileges"],
        "pids_limit": TASKS,
        "mounts": [_mount(inside, Path(source)) for inside, source in sorted(mounts.items())],
        "cpu_shares": SHARES.get(wanted.node, USUAL_SHARES),
        "log_config": {"Type": "none", "Config": {}},  # the output goes to the run's folder
        "stdin_open": False,
        "auto_remove": False,  # a fault may kill it, and the engine starts it again
        **limits,
    }


_MEMORY = "mem_limit", "memswap_limit"
USUAL_SHARES = 1024
"""Weight of a container without another one, by the engine's default."""


def key_of(node: str) -> str:
    """Return the key of the workload that describes the program of `node`."""
    return node if node in (SERVER, DRIVER) else "device"


def _mount(target: str, source: Path) -> dict[str, Any]:
    return {"Type": "bind", "Target": target, "Source": str(source), "ReadOnly": True}
