"""What a world asks of the host that is to carry it, and where the host falls short."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from .. import models
from ..units import Bytes
from .model import Scenario

WORKER = 100 << 20
"""Bytes that a worker's container takes at most, shim and all: with the 421,642 parameters of
`mnist-cnn`, 20 of them were measured at 83.5 MB each. TensorFlow's libraries come on top once
for all of them, in the page cache. A limit above this is a limit, not a wish: it does not count."""

SERVER = 264 << 20
"""Bytes for the parameter server: the model, queued messages, and 64 MiB of snapshots that wait for
the evaluator (`core/evaluations.py`). What the modulation remembers comes on top."""

EVALUATOR = 400 << 20
"""Bytes for the evaluator: a worker's, the test set, and a large batch's activations."""

SHARED = 800 << 20
"""Bytes of page cache that TensorFlow's two libraries fill, once for the whole host."""

COPIES = 16
"""Models that the server may hold at once beside those of the devices: the model, two moments of an
optimizer, what a step is worked out in, and what the evaluator is sent."""

COPIES_A_DEVICE = 4
"""Models that the server may hold for each device: one on its way there, one push on its way here,
and of devices that wait for each other the push as it came and as it was decoded. Of 40 devices
with dense pushes of `mnist-mlp` 2.0 were measured, asynchronous, and 1.5 at a barrier."""

PORTS = 1000
"""Containers on one network: a Linux bridge has 1,023 ports, and a few go to the engine."""


@dataclass(frozen=True)
class HostCapacity:
    """What there is to share out."""

    cores: float
    memory: int
    """Bytes that are available now, not those installed."""


@dataclass(frozen=True)
class Demand:
    """What all the containers of a run want together."""

    cores: float
    """The sum of the devices' quotas."""
    unlimited: int
    """Devices without a quota: they share what the others leave."""
    memory: int
    """Bytes that they are expected to take: see `WORKER` and the others."""
    server: int
    """Bytes of `memory` that are the parameter server's."""
    server_limit: int
    """Bytes that the parameter server's container may take."""
    evaluator_limit: int
    """Bytes that the evaluator's container may take."""
    limits: int
    """Bytes that the devices may take: the sum of their limits."""
    largest: int
    """Bytes that the device with the highest limit may take."""
    ports: int
    """Ports on the network's bridge, one a container."""

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)


@dataclass(frozen=True)
class Shortfall:
    """One thing that the host has too little of."""

    severity: Literal["error", "warning"]
    """An error: the run must not start. A warning: its results will be distorted."""
    text: str

    @property
    def fatal(self) -> bool:
        return self.severity == "error"

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    def __str__(self) -> str:
        return self.text


def demand(scenario: Scenario) -> Demand:
    devices = scenario.nodes
    limits = [device.memory for device in devices]
    layout = models.find(scenario.training.model).layout
    model = 4 * layout.size
    server = SERVER + scenario.training.modulation.memory(layout, len(devices))
    return Demand(
        cores=round(sum(device.cpu or 0.0 for device in devices), 6),
        unlimited=sum(device.cpu is None for device in devices),
        memory=sum(min(limit, WORKER) for limit in limits) + server + EVALUATOR + SHARED,
        server=server,
        server_limit=_whole(server + model * (COPIES + COPIES_A_DEVICE * len(devices))),
        # the first container that reads TensorFlow's libraries is charged for their pages
        evaluator_limit=_whole(EVALUATOR + SHARED + model * COPIES),
        limits=sum(limits),
        largest=max(limits),
        ports=len(devices) + 2,  # the server and the evaluator
    )


def shortfalls(demand: Demand, host: HostCapacity) -> list[Shortfall]:
    """Where the host has less than the world wants; errors first."""
    return [*_errors(demand, host), *_warnings(demand, host)]


def _errors(demand: Demand, host: HostCapacity) -> list[Shortfall]:
    found = []
    if demand.largest > host.memory:
        found.append(
            f"memory: one device may take {_memory(demand.largest)}, more than the "
            f"{_memory(host.memory)} that this host has available: lower its profile's memory"
        )
    if demand.memory > host.memory:
        found.append(
            f"memory: the run needs about {_memory(demand.memory)}, this host has "
            f"{_memory(host.memory)} available: use fewer devices or a larger host"
        )
    if demand.ports > PORTS:
        found.append(
            f"network: {demand.ports:,} containers want a port each, one bridge carries "
            f"{PORTS:,}: use fewer devices"
        )
    return [Shortfall("error", text) for text in found]


def _warnings(demand: Demand, host: HostCapacity) -> list[Shortfall]:
    found = []
    if demand.cores > host.cores:
        found.append(
            f"cpu: the devices' quotas add up to {demand.cores:g} cores, this host has "
            f"{host.cores:g}: {demand.cores / host.cores:.1f} times more than there is, so devices "
            "will be slower than their profiles say: lower the shares or use fewer devices"
        )
    if demand.limits > host.memory >= demand.memory:
        found.append(
            f"memory: the devices' limits add up to {_memory(demand.limits)}, this host has "
            f"{_memory(host.memory)} available: enough for what workers are known to take, not "
            "for devices that fill their limits"
        )
    return [Shortfall("warning", text) for text in found]


def _whole(size: int) -> int:
    """Round bytes up to whole MiB."""
    return -(-size // (1 << 20)) << 20


def _memory(size: float) -> str:
    unit = 1 << 30 if size >= 1 << 30 else 1 << 20
    return str(Bytes(round(size / unit, 1) * unit))
