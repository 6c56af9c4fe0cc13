"""The tables of a swarm's hosts that run out as a fleet grows, each with its part of a run.

On a network of several hosts each end of a connection has an entry for the other one in the table
of neighbours of its own host: no entry is permanent there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...costs import host_limits
from ...costs.host_limits import (
    BRIDGE_PORTS,
    CONDUCTOR_FILES,
    FILES,
    MEBI,
    NEIGHBOURS,
    READ,
    HostLimit,
    HostTables,
    Need,
)
from ...errors import DeploymentError
from ...machine.host import cores
from ...machine.kernel_tables import READABLE, Supply
from ...scenario import Scenario, demand
from ...scenario.cores_and_memory import (
    FORK_SERVER,
    PORTS,
    SHARED,
    worker_memory,
)
from ...scenario.sections.server_section import HOST
from ...transport.tunnel.conductor_end import TunnelError
from .remote_host import RemoteHost

_ELSEWHERE = "place fewer devices there (`devices[].host`), or join another host to the swarm"
_PORTS = replace(BRIDGE_PORTS, remedy=_ELSEWHERE)


def home_tables(scenario: Scenario, placed: Mapping[str, list[str]]) -> HostTables:
    """Return the tables of this host, which has the server and all of the conductor.

    `placed`: the devices of each host, by its name; the first is that of this machine.
    """
    (name, here), *there = placed.items()
    away = sum(len(devices) for _, devices in there)
    peers = sum(bool(devices) for _, devices in there) if scenario.server.relay == HOST else away
    needs = {
        NEIGHBOURS: replace(NEIGHBOURS, device=2, other=2, own=peers),
        FILES: replace(FILES, own=FILES.own + CONDUCTOR_FILES * away),
    }
    limits = [
        replace(limit, need=needs.get(limit.need, limit.need), host=name)
        for limit in host_limits.host_limits()
    ]
    ports = HostLimit(_PORTS, Supply(PORTS - 1), name)
    needed = demand(scenario)
    others, passes = needed.ports - len(scenario.nodes), needed.server_cores / scenario.dilation
    wanted = _quotas(scenario, here) + passes
    return HostTables((ports, *limits), len(here), others, name, cores=cores(), wanted=wanted)


def tables_there(scenario: Scenario, devices: list[str], host: RemoteHost) -> HostTables:
    """Ask the agent of `host` for its tables, and for its free memory; `devices` are placed there.

    Raises DeploymentError if its answer is none.
    """
    try:
        answer = host.tunnel.ask("tables")
        memory, supplies = int(answer["memory"]), _supplies(answer["tables"])
    except TunnelError as error:
        return unknown_tables(host.name, len(devices), str(error))
    except (KeyError, TypeError, ValueError) as error:
        raise DeploymentError(f"the agent of {host.name} answers wrongly: {error}") from error
    relays = int(scenario.server.relay == HOST)
    neighbours = replace(NEIGHBOURS, device=1 + relays, other=1)
    limits = [
        HostLimit(_PORTS, Supply(PORTS - 1), host.name),
        HostLimit(_memory(scenario), Supply(memory // MEBI), host.name),
    ]
    for need, _ in READ:
        if need.name in supplies:
            own = neighbours if need is NEIGHBOURS else need
            limits.append(HostLimit(own, supplies[need.name], host.name))
    missing = [name for name in READABLE if name not in supplies]
    why = f"its agent cannot read there: {', '.join(missing)}" if missing else ""
    quotas = float(host.cores), _quotas(scenario, devices)
    return HostTables(tuple(limits), len(devices), relays, host.name, why, *quotas)


def unknown_tables(name: str, devices: int, why: str) -> HostTables:
    """Return that the tables of the host `name` are not known, for the reason `why`."""
    ports = HostLimit(_PORTS, Supply(PORTS - 1), name)
    return HostTables((ports,), devices, 0, name, f"its agent does not answer: {why}")


def _quotas(scenario: Scenario, devices: list[str]) -> float:
    """Return the cores that the CPU quotas of `devices` add up to in real time."""
    named = {*devices}
    cpus = (float(device.cpu or 0.0) for device in scenario.nodes if device.name in named)
    return sum(cpus) / scenario.dilation


def _supplies(tables: Mapping[str, Iterable[Any]]) -> dict[str, Supply]:
    found = {}
    for name in READABLE:
        if name in tables:
            limit, used, parameter = tables[name]
            found[name] = Supply(int(limit), int(used), str(parameter))
    return found


def _memory(scenario: Scenario) -> Need:
    """Return the need for memory of a host without the server, in MiB."""
    return Need(
        "memory",
        "MiB of memory for its devices",
        -(-worker_memory(scenario) // MEBI),
        0,
        f"free some memory there, or {_ELSEWHERE}",
        own=(SHARED + FORK_SERVER) // MEBI,
        exact=False,
    )
