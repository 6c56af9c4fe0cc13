"""The tables of a host that run out as a fleet grows: the needs of a run, the limits, the remedies.

`emulate check` compares the needs of a scenario with the limits, `emulate doctor` says how many
devices each limit carries. The needs were read from the kernel after runs of 20 devices had begun:
`python -m tests.benchmarks.containers.host_tables`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..machine import kernel_tables
from ..machine.kernel_tables import Supply
from ..scenario import Scenario, cores_and_memory, demand
from ..scenario.cores_and_memory import EVALUATOR, FORK_SERVER, FORKED, SERVER, SHARED, bridge_count

OWN_FILES = 64
"""Files that a process opens for itself, at most."""
CONDUCTOR_FILES = 3
"""Files that the conductor opens for a node: its log, its output, and a call to the engine."""

OTHERS = 2
"""Containers on the network of a run beside its devices: the server and the evaluator."""

MEBI = 1 << 20

_SYSCTL = (
    "as root, `sysctl -w {parameter}={number}`, which holds until the host boots; a file in "
    "/etc/sysctl.d keeps it"
)


@dataclass(frozen=True)
class Need:
    """The entries of a table that a run takes."""

    name: str
    words: str
    """The entries in words, for a sentence in which their number comes before."""
    device: int
    """Entries for a device."""
    other: int
    """Entries for another container on the run's network."""
    remedy: str
    """The remedy; `{parameter}` and `{number}` stand for a kernel parameter and its new value."""
    own: int = 0
    """Entries for the run itself."""
    exact: bool = True
    """Whether no run begins with fewer entries. Other needs were measured, and may be less on
    another host."""


BRIDGE_PORTS = Need(
    "ports",
    "ports of one bridge",
    1,
    1,
    "leave out the bottlenecks, as a run without them has several bridges, or use fewer devices",
)
NEIGHBOURS = Need(
    # the server's entry for the device; the device's own entry is permanent, and does not count
    "neighbours",
    "entries of the kernel's table of neighbours",
    1,
    1,
    _SYSCTL,
)
MEMBERS_NEIGHBOURS = replace(NEIGHBOURS, device=2, other=2)
"""A member of a bottleneck and its gateway have an entry for each other."""
FILES = Need(
    "files",
    "open files of the process that conducts a run",
    CONDUCTOR_FILES,
    CONDUCTOR_FILES,
    "raise its hard limit (`ulimit -Hn {number}` as root, LimitNOFILE of a service)",
    own=OWN_FILES + CONDUCTOR_FILES,  # the box is on no network
)
TASKS = Need(
    # 12 or 13 of the engine's shim, the supervisor, and some 6 of the worker
    "tasks",
    "tasks of the kernel, which are threads",
    20,
    21,
    _SYSCTL,
    exact=False,
)
ENGINE_FILES = Need(
    "engine-files",
    "open files of the Docker engine",
    11,
    11,
    "start the engine with a higher limit (`LimitNOFILE={number}` of its service, or "
    "`ulimit -n {number}` before a dockerd that is started by hand)",
    exact=False,
)
CONNECTIONS = Need("connections", "connections that the kernel tracks", 1, 1, _SYSCTL, exact=False)
ADDRESSES = Need(
    "addresses",
    "addresses of the network that the engine gives to a run",
    1,
    1,
    "set a larger `size` in the engine's `default-address-pools` (/etc/docker/daemon.json)",
)
MEMORY = Need(
    "memory",
    "MiB of free memory for forked workers of mnist-cnn",
    FORKED // MEBI,
    0,
    "free some memory",
    own=(SERVER + EVALUATOR + SHARED + FORK_SERVER) // MEBI,
    exact=False,
)

READ: tuple[tuple[Need, Callable[[], Supply | None]], ...] = (
    (NEIGHBOURS, kernel_tables.neighbours),
    (FILES, kernel_tables.own_files),
    (TASKS, kernel_tables.tasks),
    (ENGINE_FILES, kernel_tables.engine_files),
    (CONNECTIONS, kernel_tables.connections),
)
"""The needs whose supply this process can read without the engine. `emulate doctor` adds
`ADDRESSES` and `MEMORY`; a scenario's own memory is checked by itself."""

CHECKED = (BRIDGE_PORTS, *(need for need, _ in READ))
"""The needs that are checked before a run."""


@dataclass(frozen=True)
class HostLimit:
    """A need of runs, and the supply of a host."""

    need: Need
    supply: Supply
    host: str = ""
    """Name of the host; empty for this one, if it has the whole run."""

    def needed(self, devices: int, others: int = OTHERS) -> int:
        """Return the entries for `devices` and `others` containers beside them."""
        return self.need.own + self.need.device * devices + self.need.other * others

    @property
    def free(self) -> int:
        """Entries that a run can have now."""
        return max(0, self.supply.limit - self.supply.used)

    @property
    def devices(self) -> int:
        """The largest number of devices, beside server and evaluator, that the limit carries."""
        return max(0, (self.free - self.needed(0)) // self.need.device)

    def words(self) -> str:
        """Return the supply in words."""
        used = f" ({self.supply.used:,} of them in use)" if self.supply.used else ""
        return f"{self.supply.limit:,}{used}"

    def shortage(self, devices: int, others: int = OTHERS) -> str:
        """Return in words that the supply is too small for `devices` and `others`, and the remedy;
        empty if it is large enough."""
        if (needed := self.needed(devices, others)) <= self.free:
            return ""
        need = self.need
        about = "" if need.exact else "about "
        who, where = ("the run", "this host")
        if self.host:
            who, where = f"the part of the run at host {self.host}", "that host"
        why = f"{who} needs {about}{needed:,} {need.words}, and {where} has {self.words()}"
        return f"{need.name}: {why}: {self.remedy(devices, others)}"

    def never_carries(self, devices: int, others: int = OTHERS) -> bool:
        """Return whether a run of `devices` and `others` cannot begin, even if all entries become
        free."""
        return self.need.exact and self.needed(devices, others) > self.supply.limit

    def remedy(self, devices: int, others: int = OTHERS) -> str:
        """Return the remedy by which the limit carries `devices` and `others`, with a command."""
        wanted = self.supply.used + self.needed(devices, others)
        # the next power of two leaves room for what else the host does
        number = 1 << (wanted - 1).bit_length()
        return self.need.remedy.format(parameter=self.supply.parameter, number=number)

    def plain(self, devices: int, others: int) -> dict[str, Any]:
        """Return the limit, and the entries for `devices` and `others`, as JSON types."""
        return {
            "name": self.need.name,
            "needed": self.needed(devices, others),
            "limit": self.supply.limit,
            "used": self.supply.used,
            "devices": self.devices,
        }


def host_limits() -> list[HostLimit]:
    """Return the limits of this host, apart from those that this process cannot read."""
    read = ((need, supply()) for need, supply in READ)
    return [HostLimit(need, supply) for need, supply in read if supply is not None]


@dataclass(frozen=True)
class HostTables:
    """The tables of a host, and the part of a run that it has."""

    limits: tuple[HostLimit, ...]
    devices: int
    others: int = OTHERS
    """Containers on the run's network there, beside its devices."""
    host: str = ""
    """Name of the host; empty for this one, if it has the whole run."""
    unknown: str = ""
    """Why some tables of the host are not among the `limits`; empty if none is missing."""
    cores: float = math.inf
    """Cores of a host that has a part of the run."""
    wanted: float = 0.0
    """Cores that the CPU quotas of that part add up to, in real time."""

    def plain(self) -> list[dict[str, Any]]:
        """Return the limits, and the entries that the run needs, as JSON types."""
        return [limit.plain(self.devices, self.others) for limit in self.limits]


def tables_of(scenario: Scenario) -> HostTables:
    """Return the tables of this host, which has the whole run of `scenario`."""
    devices = len(scenario.nodes)
    others = demand(scenario).ports - devices
    return HostTables(tuple(limits_of(scenario)), devices, others)


def limits_of(scenario: Scenario) -> list[HostLimit]:
    """Return the limits of this host for a run of `scenario`, first that of its bridges."""
    # the server has a port of each bridge, and is counted once
    ports = Supply(1 + bridge_count(scenario) * (cores_and_memory.PORTS - 1))
    limits = [HostLimit(BRIDGE_PORTS, ports), *host_limits()]
    if not scenario.bottlenecks:
        return limits
    needs = {NEIGHBOURS: MEMBERS_NEIGHBOURS}
    return [replace(limit, need=needs.get(limit.need, limit.need)) for limit in limits]
