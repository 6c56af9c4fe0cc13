"""Hosts for a fleet, and the limits that give way, reckoned from measured costs. Pure."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emulator.core.server.parameter_server import GATHERING
from emulator.costs.host_limits import BRIDGE_PORTS, NEIGHBOURS, OTHERS
from emulator.learning import models
from emulator.scenario.cores_and_memory import (
    COPIES_A_DEVICE,
    EVALUATOR,
    FORK_SERVER,
    FORKED,
    PORTS,
    SERVER,
    SHARED,
)

FLEETS = (10**3, 10**4, 10**5, 10**6)
NEIGHBOUR_TABLE = 1024
"""The kernel's default of `gc_thresh3`."""
OVERLAY_ADDRESSES = 253
"""Containers on a network of a swarm by default (docs/swarm.md)."""

MODEL_BYTES = 4 * models.find("mnist-cnn").layout.size
COLUMNS = (
    "devices",
    "hosts",
    "server: Gbit/s down",
    "its busiest thread",
    "conductor's thread",
    "updates/s",
    "log, GB an hour",
    "start: conductor, s",
    "hellos, s",
    "first limits, and their load",
)
SHOWN = 3
"""Limits in the row of a fleet."""
NOT_BUILT = "\N{DAGGER}"
"""Marks a remedy that runs in containers do not have."""
MEASURED: dict[str, float] = {
    "loop_s": 0.04519,
    "updates_per_device_second": 0.09525,
    "worker_ms": 3.58,
    "supervisor_ms": 7.072,
    "box_ms": 6.778,
    "conductor_ms": 0.6945,
    "conductor_thread_ms": 0.688,
    "start_ms": 23.25,
    "server_thread_ms": 0.2857,
    "server_update_ms": 2.484,
    "down_bytes": 170400,
    "up_bytes": 6169,
    "hello_bytes": 3667,
    "update_log_bytes": 323.2,
    "second_log_bytes": 130,
    "read_log_mb": 282,
    "question_ms": 0.2367,
    "stream_mb": 210.4,
    "stream_ms": 2.044,
    "agent_ms": 1.568,
    "hello_frames_bytes": 17,
    "hello_ms": 0.9806,
}
"""Costs as `python -m tests.benchmarks.hosts --json` printed them for docs/scale.md."""


@dataclass(frozen=True)
class HostSize:
    """The size of each host."""

    cores: int = 16
    memory: int = 64 << 30
    bits: float = 10e9
    """Bits a second of its network, in each direction."""


@dataclass(frozen=True)
class Limit:
    """A limit of the fleet, or of each host."""

    name: str
    devices: int
    """The largest number of devices that it carries."""
    remedy: str
    each_host: bool = False
    """Whether more hosts carry more devices."""
    setting: bool = False
    """Whether a setting raises it as far as a fleet wants."""
    exact: bool = False
    """Whether it is the size of a table, and not reckoned from a cost."""


def limits(costs: Mapping[str, float], host: HostSize) -> list[Limit]:
    """Return the limits, the smallest first. `costs`: keys of `measure` in the modules beside."""
    worked = costs["worker_ms"] + costs["supervisor_ms"]
    memory = host.memory - SERVER - EVALUATOR - SHARED - FORK_SERVER
    return sorted(
        [
            Limit(
                "addresses of the overlay",
                OVERLAY_ADDRESSES - OTHERS,
                "`--default-addr-pool-mask-length`",
                setting=True,
                exact=True,
            ),
            Limit(
                "neighbours on the server's host",
                (NEIGHBOUR_TABLE - OTHERS * NEIGHBOURS.other) // NEIGHBOURS.device,
                "`sysctl`",
                setting=True,
                exact=True,
            ),
            Limit(
                "bridge ports",
                (PORTS - 1) // BRIDGE_PORTS.device,
                "more hosts",
                each_host=True,
                exact=True,
            ),
            Limit("memory", memory // FORKED, "more hosts", each_host=True),
            Limit("cores", int(1e3 * host.cores / worked), "more hosts", each_host=True),
            Limit(
                "packet box (without netem)",
                int(1e3 / costs["box_ms"]),
                "a kernel with netem",
                each_host=True,
            ),
            Limit(
                "conductor's thread",
                int(1e3 / costs["conductor_thread_ms"]),
                f"several conductors{NOT_BUILT}",
            ),
            Limit(
                "server's network",
                int(host.bits / 8 / costs["down_bytes"]),
                f"shards{NOT_BUILT}",
            ),
            Limit(
                "server's busiest thread",
                int(1e3 / costs["server_thread_ms"]),
                f"shards{NOT_BUILT}",
            ),
            Limit(
                "server's memory, at most",
                memory // (COPIES_A_DEVICE * MODEL_BYTES),
                f"more memory, shards{NOT_BUILT}",
            ),
            Limit(
                "reading the log",
                int(1e6 * costs["read_log_mb"] / log(costs)),
                f"a log a host{NOT_BUILT}",
            ),
            Limit("hellos at once", int(1e3 * GATHERING / costs["hello_ms"]), "waves of starts"),
        ],
        key=lambda limit: limit.devices,
    )


def log(costs: Mapping[str, float]) -> float:
    """Return the bytes of `run.jsonl` for a device and second."""
    updates = costs["updates_per_device_second"] * costs["update_log_bytes"]
    return updates + costs["second_log_bytes"]


def hosts(devices: int, known: list[Limit]) -> int:
    """Return the number of hosts for `devices`, all with netem; the server has room on the first
    one."""
    each = [limit.devices for limit in known if limit.each_host and "box" not in limit.name]
    return math.ceil(devices / min(each))


def tables(costs: Mapping[str, float], host: HostSize) -> Iterator[str]:
    """Yield the lines of two tables in Markdown: the limits, and the needs of each fleet."""
    known = limits(costs, host)
    yield "| gives way | devices | raised by |"
    yield "|---|---:|---|"
    for limit in known:
        each = " a host" if limit.each_host else ""
        devices = limit.devices if limit.exact else _rounded(limit.devices)
        yield f"| {limit.name} | {devices:,}{each} | {limit.remedy} |"
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    for devices in FLEETS:
        yield _row(devices, costs, known)


def _row(devices: int, costs: Mapping[str, float], known: list[Limit]) -> str:
    updates = devices * costs["updates_per_device_second"]
    cells = (
        hosts(devices, known),
        8e-9 * devices * costs["down_bytes"],
        devices * costs["server_thread_ms"] / 1e3,
        devices * costs["conductor_thread_ms"] / 1e3,
        updates,
        3600e-9 * devices * log(costs),
        devices * costs["start_ms"] / 1e3,
        devices * costs["hello_ms"] / 1e3,
    )
    first = [
        f"{each.name} {_short(devices / each.devices)}"
        for each in known
        # more hosts have been counted, and a fleet a tenth as large had needed the setting
        if not each.each_host and not (each.setting and 10 * each.devices <= devices)
    ]
    shown = " | ".join(_short(value) for value in cells)
    return f"| {devices:,} | {shown} | {', '.join(first[:SHOWN])} |"


def _short(value: float) -> str:
    """Return a number of hosts in full, and another one with two digits, as costs are rough."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{_rounded(value):,}" if value >= 10 else f"{value:.2g}"


def _rounded(value: float) -> int:
    power = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return int(round(value / power) * power)
