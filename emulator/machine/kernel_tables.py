"""Tables of this host that all containers share: neighbours, tasks, connections, open files.

An engine whose containers run on another kernel is refused (`runtimes/docker/engine/probing.py`),
so this process reads the files of the containers' own kernel. In a container, as a conductor may
be, the kernel does not show the table of neighbours: a table that cannot be read is None.
"""

import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")

NEIGHBOURS = "net.ipv4.neigh.default.gc_thresh3"
TASKS = "kernel.pid_max"
MEMORY_TASKS = "kernel.threads-max"
CONNECTIONS = "net.netfilter.nf_conntrack_max"

ENGINE = "dockerd"
"""Name of the engine's process."""


@dataclass(frozen=True)
class Supply:
    """The entries of a table of the kernel, or the open files of a process."""

    limit: int
    """Entries that there may be."""
    used: int = 0
    """Entries that others have."""
    parameter: str = ""
    """Kernel parameter that sets the limit; empty: none does."""


def neighbours() -> Supply | None:
    """Return the IPv4 neighbours of all network namespaces."""
    # header, then a line for each core; the first column is the same in all lines, in hexadecimal
    used = _words("net/stat/arp_cache", row=1)
    return _supply(NEIGHBOURS, int(used[0], 16) if used else 0)


def tasks() -> Supply | None:
    """Return the tasks, which are threads, of all processes."""
    # "0.20 0.18 0.12 1/80 11206": runnable tasks, and all of them
    words = _words("loadavg")
    used = int(words[3].partition("/")[2]) if words else 0
    known = [supply for name in (TASKS, MEMORY_TASKS) if (supply := _supply(name, used))]
    return min(known, key=lambda supply: supply.limit, default=None)


def connections() -> Supply | None:
    """Return the connections that the kernel tracks in this network namespace; None if it tracks
    none. Each namespace has the whole limit for itself."""
    words = _words("sys/net/netfilter/nf_conntrack_count")
    return _supply(CONNECTIONS, int(words[0]) if words else 0)


def own_files() -> Supply:
    """Return the files that this process may open once it has raised its limit."""
    return Supply(resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def engine_files() -> Supply | None:
    """Return the open files of the Docker engine; None if no process, or several, may be it.

    Without the right to look at the engine's files, `used` is 0.
    """
    found = [path.parent for path in PROC.glob("[0-9]*/comm") if _text(path).strip() == ENGINE]
    if len(found) != 1:
        return None
    (engine,) = found
    # "Max open files            1024                 524288               files"
    limits = [line.split()[3] for line in _text(engine / "limits").splitlines() if "files" in line]
    if not limits or not limits[0].isdigit():
        return None
    try:
        used = len([*(engine / "fd").iterdir()])
    except OSError:
        used = 0
    return Supply(int(limits[0]), used)


READABLE: dict[str, Callable[[], Supply | None]] = {
    "neighbours": neighbours,
    "tasks": tasks,
    "engine-files": engine_files,
    "connections": connections,
}
"""The tables that all processes of a host share, by the names of `costs/host_limits.py`."""


def _supply(parameter: str, used: int) -> Supply | None:
    words = _words("sys/" + parameter.replace(".", "/"))
    return Supply(int(words[0]), used, parameter) if words else None


def _words(name: str, row: int = 0) -> list[str]:
    """Return the words of a line of a file of `PROC`; none if there is no such line."""
    lines = _text(PROC / name).splitlines()
    return lines[row].split() if len(lines) > row else []


def _text(path: Path) -> str:
    """Return the text of the file at `path`; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
