"""The demand of a scenario for cores, memory and ports, and the start-up time of its containers.

Start-up ends once every device has said hello to the server. It was measured with
`tests/benchmarks/containers/startup.py` on two cores of an AMD EPYC that had other work besides,
with Docker 20.10, `mnist-cnn` and up to 60 devices: 0.71 to 1.09 s of CPU for a boot, 0.35 to 0.5 s
for the engine and the container's shim.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from ..codecs import Dense, refusal
from ..learning.models import OwnModel
from ..world.roles import EVALUATOR as EVALUATOR_ROLE
from ..world.verbs import row
from .model import Scenario
from .timeouts import largest_at_the_cut

ENGINE = 0.4
"""CPU seconds that Docker takes to create and start a container."""

BOOT = 0.9
"""CPU seconds of a worker that is executed, with its supervisor, from its container's start to its
hello. Its CPU quota holds from the run's zero on, so the host pays them."""

FORKED_BOOT = 0.15
"""The same of a worker that a fork server starts. With the engine's part, 200 devices took 0.57 s
each to their hellos on a host that is faster than that of `BOOT`, so the sum with `ENGINE` is a
lower bound (`tests/benchmarks/containers/startup.py`)."""

LEAST_FORKS = 4
"""Number of devices from which a fork server saves more time than its own start takes: 4 devices
were up after 4.0 s with one and 4.5 s without (docs/performance.md, the start of a fleet)."""

LEAST_LIMIT = 200 << 20
"""Memory limit, in bytes, from which the first worker of a device may be a fork. A fork shares
pages for which an executed worker would pay, so its container's limit is lowered by them, and a
smaller one leaves it too little for its start."""


LEAST_QUOTA = 0.001
"""Smallest CPU quota, in cores: the kernel takes no period above 1 s, and the engine no time in it
below 1 ms."""


def forked(scenario: Scenario) -> frozenset[str]:
    """Return the names of the devices whose first worker a fork server starts, where it can."""
    devices = scenario.nodes
    if len(devices) < LEAST_FORKS or scenario.workload:
        return frozenset()
    return frozenset(device.name for device in devices if device.memory >= LEAST_LIMIT)


def startup_time(scenario: Scenario, cores: float) -> float:
    """Return a lower bound on the real seconds from the first container's start to the last hello
    on a host with `cores` cores.
    """
    quick = len(forked(scenario))
    slow = len(scenario.nodes) - quick + beside_devices(scenario)
    gateways = len(scenario.bottlenecks) * ENGINE
    server = ENGINE + BOOT if quick else 0.0
    boots = slow * (ENGINE + BOOT) + quick * (ENGINE + FORKED_BOOT) + server
    return max((boots + gateways) / cores, BOOT)


WORKER = 100 << 20
"""Bytes that a worker's container takes at most, its shim included: 20 workers with the 421,642
parameters of `mnist-cnn` were measured at 83.5 MB each. TensorFlow's libraries are not included:
all workers share them in the page cache. A device's memory limit above `WORKER` adds no demand."""

FORKED = 50 << 20
"""Bytes that the container of a forked worker takes on the host, its shim included, while the
worker shares the pages of the fork server: 200 workers with the 421,642 parameters of `mnist-cnn`
took 47.6 MiB each, in all. A worker that boots again, after a crash, is executed."""

FORK_SERVER = 52 << 20
"""Bytes of the fork server, which its forks share; TensorFlow's libraries are not included."""

SUPERVISOR = 12 << 20
"""Bytes of private memory of the supervisor beside a worker. 12.3 MB were read from `/proc` in runs
of two devices with the models of scenarios/own (tests/containers/training/test_own_plugins.py)."""


SERVER = 264 << 20
"""Bytes for the parameter server: the model, queued messages, and 64 MiB of snapshots that wait for
the evaluator (`core/server/evaluations.py`). The modulation's memory comes on top."""

EVALUATOR = 400 << 20
"""Bytes for the evaluator: a worker's, the test set, and the activations of a large batch."""

GATEWAY = 16 << 20
"""Bytes for the container of a bottleneck, without the packets in its queues."""

SHARED = 800 << 20
"""Bytes of page cache that TensorFlow's two libraries fill, once for the whole host."""

SERVER_LEARNER = 160 << 20
"""Bytes that the server takes more if it computes layers of a cut model: TensorFlow's own memory,
without its libraries, and activations. In single runs with two devices, which no command repeats,
it took 35 MiB for the dense layers of `mnist-cnn` in batches of 10, and 143 MiB for 19 layers of
`mnist-resnet` in batches of 128."""

COPIES = 16
"""Vectors of the model's size that the server may hold at once for itself: the model, two moments
of an optimizer, the scratch space of a step, the copies of a checkpoint that is being written, and
the snapshots for the evaluator."""

COPIES_A_DEVICE = 4
"""Vectors of the model's size that the server may hold for each device: a model on its way to the
device, a push on its way to the server, and, for devices that wait for each other, the push as
received and as decoded. Few runs hold all four at once: in single runs with 40 devices and dense
pushes of `mnist-mlp`, which no command repeats, the server held about 2 for each device."""


PORTS = 1023
"""Ports of a Linux bridge (BR_PORT_BITS of the kernel's `net/bridge/br_private.h`); the engine
takes none of them for itself."""


@dataclass(frozen=True)
class Demand:
    """The sum of cores, memory and ports that the containers of a run need."""

    cores: float
    """Sum of the devices' CPU quotas."""
    unlimited: int
    """Number of devices without a quota: they share the cores that the others leave."""
    memory: int
    """Expected bytes of all containers, from `WORKER`, `SERVER`, `EVALUATOR` and `SHARED`."""
    server: int
    """Bytes of `memory` for the parameter server, or for each of its shards."""
    server_limit: int
    """Memory limit of the container of the parameter server, or of each shard, in bytes."""
    evaluator_limit: int
    """Memory limit of the evaluator's container, in bytes."""
    limits: int
    """Sum of the devices' memory limits, in bytes."""
    largest: int
    """Highest memory limit of a device, in bytes."""
    ports: int
    """Containers on the run's networks, with a port of a bridge each."""
    bridges: int = 1
    """Number of the run's networks, with a bridge each."""
    server_cores: int = 0
    """Cores for the passes of the server through layers of a cut model: one core, or none."""
    forked: int = 0
    """Number of devices whose first worker a fork server starts, where it can."""
    kept: int = 0
    """Bytes of the versions that wait in files for a measurement after the run; 0 without
    `stop.updates`, as their number is unknown then."""

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return asdict(self)


def demand(scenario: Scenario) -> Demand:
    """Return the cores, memory and ports that the containers of `scenario` need."""
    if scenario.workload:
        return _workload_demand(scenario)
    devices = scenario.nodes
    limits = [device.memory for device in devices]
    layout = scenario.training.layout
    model = 4 * layout.size
    server = SERVER + scenario.training.modulation.memory(
        scenario.training.device_layout, len(devices)
    )
    crossing, libraries = largest_at_the_cut(scenario), 0
    if crossing:
        server, libraries = server + SERVER_LEARNER, SHARED
    copies = COPIES_A_DEVICE * (model + (crossing.up + crossing.down if crossing else 0))
    return Demand(
        cores=round(sum(device.cpu or 0.0 for device in devices), 6),
        unlimited=sum(device.cpu is None for device in devices),
        memory=_devices_memory(scenario)
        + server * scenario.server.shards
        + (0 if scenario.evaluate.later else EVALUATOR)  # it comes when the others have gone
        + SHARED
        + GATEWAY * len(scenario.bottlenecks),
        server=server,
        # the kernel charges the pages of TensorFlow's libraries to the first container that reads
        # them, which may be the evaluator, or a server with layers of its own
        server_limit=_whole(server + libraries + model * COPIES + copies * len(devices)),
        evaluator_limit=_whole(EVALUATOR + SHARED + model * COPIES),
        limits=sum(limits),
        largest=max(limits),
        forked=len(forked(scenario)),
        ports=len(devices) + beside_devices(scenario) + len(scenario.bottlenecks),
        bridges=bridge_count(scenario),
        server_cores=1 if crossing else 0,
        kept=kept_versions(scenario) * model,
    )


SIDECAR = 24 << 20
"""Bytes of the container of a sidecar, beside a program of a workload."""


def _workload_demand(scenario: Scenario) -> Demand:
    """Return the needs of a workload: of its programs only the limits of the devices are known."""
    devices = scenario.nodes
    limits = [device.memory for device in devices]
    return Demand(
        cores=round(sum(device.cpu or 0.0 for device in devices), 6),
        unlimited=sum(device.cpu is None for device in devices),
        memory=SIDECAR * (len(devices) + 1) + GATEWAY * len(scenario.bottlenecks),
        server=SIDECAR,
        server_limit=0,
        evaluator_limit=0,
        limits=sum(limits),
        largest=max(limits),
        ports=len(devices) + beside_devices(scenario) + len(scenario.bottlenecks),
        bridges=bridge_count(scenario),
    )


def _devices_memory(scenario: Scenario) -> int:
    """Return the bytes of all workers' containers; one that may boot again counts as executed."""
    need = worker_memory(scenario)
    shared = max(0, need - (WORKER - FORKED))
    quick = forked(scenario)
    light = quick - _rebooted(scenario)
    return (FORK_SERVER if quick else 0) + sum(
        shared if device.name in light else min(device.memory, need) for device in scenario.nodes
    )


def _rebooted(scenario: Scenario) -> frozenset[str]:
    """Return the names of the devices that faults may boot again."""
    entries = (
        entry
        for entry in scenario.targets_of_faults.entries()
        if (verb := row(entry.fault.begin("").verb)).ends_process or verb.revives
    )
    return frozenset(scenario.batteries).union(*(entry.names for entry in entries))


def beside_devices(scenario: Scenario) -> int:
    """Return the number of containers beside those of devices and bottlenecks: the server, or each
    of its shards, and the evaluator if it measures during the run."""
    return scenario.server.shards + scenario.evaluates


def bridges(scenario: Scenario) -> dict[str, int]:
    """Return for each node of `scenario` but the server the number of its bridge, from 0.

    The server, or each shard, is on all bridges. With bottlenecks there is one: the members of a
    bottleneck reach the server through their gateway, by routes within one network.
    """
    evaluator = [EVALUATOR_ROLE] if scenario.evaluates else []
    gateways, devices = scenario.bottlenecks, scenario.nodes
    nodes = [*evaluator, *(each.name for each in gateways), *(each.name for each in devices)]
    most = len(nodes) if scenario.bottlenecks else PORTS - scenario.server.shards
    return {name: rank // most for rank, name in enumerate(nodes)}


def bridge_count(scenario: Scenario) -> int:
    """Return the number of bridges on which the nodes of `scenario` are."""
    return 1 + max(bridges(scenario).values())


def kept_versions(scenario: Scenario) -> int:
    """Return the number of versions that are kept for a measurement after the run: the first one,
    one for each `evaluate.every` updates, and the last one; 0 if no `stop.updates` tells it."""
    if not scenario.evaluate.later or scenario.stop.updates is None:
        return 0
    return 1 + math.ceil(scenario.stop.updates / scenario.evaluate.every)


def worker_memory(scenario: Scenario) -> int:
    """Return the bytes of a worker's container, as `emulate model` measured, or else `WORKER`."""
    training = scenario.training
    model = training.network if isinstance(training.model, str) else None
    known = model.memory if isinstance(model, OwnModel) else None
    if known is None:
        return WORKER
    codec = training.codec != Dense()
    # codecs that refuse error feedback keep a rest of their own
    feedback = training.error_feedback or (codec and bool(refusal(training.codec)))
    return known.of(training.batch_size, codec=codec, feedback=feedback)


def _whole(size: int) -> int:
    """Round `size` bytes up to whole MiB."""
    return -(-size // (1 << 20)) << 20
