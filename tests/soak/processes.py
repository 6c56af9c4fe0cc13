"""Memory and open descriptors of a run's long-lived processes, as the host's kernel sees them."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from emulator.runtimes.docker.configs.spec import BOX, FORK_SERVER
from emulator.runtimes.docker.engine.cleanup import DEVICE, ROLE, RUN

PART = b"emulator.node.part.role"
"""Module of a container's part, in the command line of its process."""

SERVER = "server"
"""Name of the server's process."""

ESTABLISHED = "01"
"""State of an open connection in /proc/net/tcp."""
CONNECTED = "03"
"""The same in /proc/net/unix, of a connection to the engine for example."""


class Sample(NamedTuple):
    """A process at `at` seconds of the run; `process` is its id."""

    at: float
    memory: int
    """Bytes of memory without a file behind them."""
    descriptors: int
    """Open descriptors, but for those of connections."""
    connections: int
    """TCP connections, and those of Unix sockets."""
    process: int = 0


def sample(process: int, at: float) -> Sample:
    """Return a sample of `process`. OSError if it has ended."""
    established, connections, others = _established(process), set(), 0
    for descriptor in os.scandir(f"/proc/{process}/fd"):
        try:
            opened = os.readlink(descriptor.path)
        except FileNotFoundError:
            continue  # it has been closed meanwhile
        if opened in established:
            connections.add(opened)  # the server has two descriptors of each
        else:
            others += 1
    return Sample(at, _anonymous(process), others, len(connections), process)


def _anonymous(process: int) -> int:
    """Return the bytes of anonymous memory of `process`, with pages that a fork shares."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    (size,) = (line.split()[1] for line in lines if line.startswith("Anonymous:"))
    return 1024 * int(size)


def _established(process: int) -> set[str]:
    """Return the connections in the network of `process`, as its descriptors are linked to them."""
    places = {"tcp": (3, ESTABLISHED, 9), "unix": (5, CONNECTED, 6)}
    return {
        f"socket:[{row[inode]}]"
        for table, (state, wanted, inode) in places.items()
        for row in map(str.split, Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:])
        if row[state] == wanted
    }


Find = Callable[[], int]
"""Function that returns the id of a process. OSError while there is none."""


def find(client: Any, run: str) -> dict[str, Find]:
    """Return the processes of `run` that live as long as the run: supervisors, server, and `BOX`.

    A device keeps its supervisor through every crash; the process of the worker is another one each
    time. So is the server's after a crash of the server.
    """
    found: dict[str, Find] = {}
    for container in client.api.containers(filters={"label": f"{RUN}={run}"}):
        role = container["Labels"][ROLE]
        if role == FORK_SERVER:  # it is about to end, as all devices run
            continue
        name = container["Labels"].get(DEVICE, role)
        supervisor = int(client.api.inspect_container(container["Id"])["State"]["Pid"])
        if role == BOX:
            found[BOX] = partial(int, supervisor)
            continue
        found[f"supervisor of {name}"] = partial(int, supervisor)
        if role == "server":
            found[SERVER] = partial(_part, supervisor)
    return found


def _part(supervisor: int) -> int:
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    parts = [child for child in children if PART in Path(f"/proc/{child}/cmdline").read_bytes()]
    if not parts:
        raise ProcessLookupError(f"process {supervisor} has no part: it has crashed")
    return int(parts[0])
