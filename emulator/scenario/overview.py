"""The overview of a resolved scenario in base units, which `emulate check` prints."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..world.links.bottleneck import SharedLink, SharedSide
from ..world.links.link import Link, Side, named_keys
from ..world.links.loss_models import LossModel
from .model import Scenario
from .reading.dump import plain
from .sections.devices import Bottleneck, Device, Section
from .sections.training_section import TrainingSection
from .sections.workload_section import WorkloadSection
from .timeline.compiled import Outage, outages
from .timeline.fault_plan import AvailabilityRow, availability_rows
from .timeline.link_changes import change_facts, change_words


@dataclass(frozen=True)
class DeviceRow:
    """A device in the overview, its quantities in base units."""

    name: str
    profile: str | None
    cpu: float | None
    """CPU quota in cores of this host; None means no quota."""
    memory: int
    """Memory limit in bytes."""
    up: Side
    down: Side
    failures: tuple[str, ...]
    """Names of the failure profiles."""


@dataclass(frozen=True)
class BottleneckRow:
    """A bottleneck in the overview, its quantities in base units."""

    name: str
    up: SharedSide
    down: SharedSide
    members: tuple[str, ...]
    """Names of the devices behind it."""


@dataclass(frozen=True)
class PathRow:
    """The path of the devices at a router of the network, in the overview."""

    router: str
    devices: tuple[str, ...]
    up: tuple[str, ...]
    """Routers on the way to the server."""
    down: tuple[str, ...]
    """Routers on the way back."""
    shared: SharedLink
    """Least rate and whole delay of the links of each direction."""


@dataclass(frozen=True)
class NetworkLinkRow:
    """A link of the network in the overview, its quantities in base units."""

    name: str
    up: SharedSide
    down: SharedSide
    devices: tuple[str, ...]
    """Names of the devices whose packets pass it."""


@dataclass(frozen=True)
class FaultRow:
    """A planned fault of `node`, in emulated seconds; `until` is None for a permanent fault."""

    at: float
    until: float | None
    node: str
    fault: str


@dataclass(frozen=True)
class HazardRow:
    """A fault without a planned time, because a device draws it for every iteration."""

    node: str
    fault: str
    per_iteration: float
    """Probability, from 0 to 1, that an iteration ends with the fault."""


@dataclass(frozen=True)
class Overview:
    """The plan of a scenario: training, devices, links and faults, in base units."""

    name: str
    seed: int
    training: TrainingSection | None
    """None for a workload."""
    devices: tuple[DeviceRow, ...]
    server: Link
    faults: tuple[FaultRow, ...]
    hazards: tuple[HazardRow, ...]
    bottlenecks: tuple[BottleneckRow, ...] = ()
    paths: tuple[PathRow, ...] = ()
    network: tuple[NetworkLinkRow, ...] = ()
    availability: tuple[AvailabilityRow, ...] = ()
    workload: WorkloadSection | None = None

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON types in bytes, seconds, bit/s, cores and shares of 1."""
        work: dict[str, Any] = {"workload": None if self.workload is None else plain(self.workload)}
        if self.training is not None:
            training = _plain(self.training)
            work = {"algorithm": self.training.described, "training": training}
        devices = [asdict(row) | _sides(row) for row in self.devices]
        bare = replace(self, training=None, workload=None)
        own = asdict(bare) | {"devices": devices, "server": _sides(self.server)}
        for key in ("bottlenecks", "paths", "network", "availability"):
            if not own[key]:
                del own[key]
        del own["training"], own["workload"]
        return {**own, **work}


def _sides(sides: DeviceRow | Link) -> dict[str, Any]:
    """Return both sides of a link as JSON types, without the optional keys that are not set."""
    plain = {}
    for way in ("up", "down"):
        side: Side = getattr(sides, way)
        keys = {
            key: _json(value)
            for key, value in named_keys(replace(side, steps=(), trace=None)).items()
        }
        plain[way] = keys | change_facts(side)
    return plain


def _plain(training: TrainingSection) -> dict[str, Any]:
    """Return the keys of `training` as JSON types, plugins with their parameters."""
    values = {name: getattr(training, name) for name in TrainingSection.model_fields}
    values["schedule"] = training.cutting
    for key in ("initial", "fully_connected"):
        if values[key] is None:
            del values[key]
    return {name: _json(value) for name, value in values.items()}


def _json(value: Any) -> Any:
    """Return a plugin or a section as a mapping, any other value as it is."""
    if isinstance(value, Section):
        return value.model_dump(mode="json")
    if isinstance(value, LossModel):
        return value.plain()
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def overview(scenario: Scenario) -> Overview:
    """Return the overview of `scenario`, with devices and planned faults in order."""
    return Overview(
        name=scenario.name,
        seed=scenario.seed,
        training=None if scenario.workload else scenario.training,
        workload=scenario.workload,
        devices=tuple(map(_device, scenario.nodes)),
        server=scenario.server.link,
        faults=tuple(map(_fault, outages(scenario))),
        hazards=tuple(row for device in scenario.nodes for row in _hazards(device)),
        bottlenecks=tuple(_bottleneck(scenario, each) for each in scenario.bottlenecks),
        paths=tuple(_paths(scenario)),
        network=tuple(_network_links(scenario)),
        availability=availability_rows(scenario),
    )


def describe_side(side: Side) -> str:
    """Return `side` in words, for example `1mbit 25ms ±3ms 0.1% loss`, or `unshaped`."""
    parts = [
        "" if side.rate is None else str(side.rate),
        str(side.delay) if side.delay else "",
        f"±{side.jitter}" if side.jitter else "",
        f"{side.loss} loss" if side.loss else "",
        f"{side.setup} set-up" if side.setup else "",
        *_optional_words(side),
    ]
    return " ".join(filter(None, parts)) or "unshaped"


def _optional_words(side: Side) -> Iterator[str]:
    """Yield the optional keys of `side` that are set, in words."""
    if side.distribution != "normal":
        yield side.distribution
    if side.correlation:
        yield f"{side.correlation} correlation"
    if side.loss_model is not None:
        chain = side.loss_model.chain
        yield f"{100 * chain.mean:.3g}% loss in bursts of {chain.burst:.3g}"
    for key in ("duplicate", "corrupt", "reorder"):
        if share := getattr(side, key):
            yield f"{share} {key}"
    if side.gap > 1:
        yield f"gap {side.gap}"
    if side.limit is not None:
        yield f"limit {side.limit}"
    if side.overhead:
        yield f"overhead {side.overhead}"
    if side.changes:
        yield change_words(side)


def _device(device: Device) -> DeviceRow:
    return DeviceRow(
        name=device.name,
        profile=device.profile,
        cpu=device.cpu,
        memory=device.memory,
        up=device.link.up,
        down=device.link.down,
        failures=tuple(profile.name for profile in device.failures),
    )


def _bottleneck(scenario: Scenario, bottleneck: Bottleneck) -> BottleneckRow:
    members = [name for name, own in scenario.bottleneck_of.items() if own is bottleneck]
    return BottleneckRow(bottleneck.name, bottleneck.up, bottleneck.down, tuple(members))


def _paths(scenario: Scenario) -> Iterator[PathRow]:
    """Yield a row for each router with devices, in the network's order."""
    if scenario.network is None:
        return
    at: dict[str, list[str]] = {}
    for name, route in scenario.route_of.items():
        at.setdefault(route.routers[0], []).append(name)
    for router in scenario.network.routers:
        if devices := at.get(router):
            route = scenario.network.routes[router]
            yield PathRow(router, tuple(devices), route.routers, route.back, route.shared)


def _network_links(scenario: Scenario) -> Iterator[NetworkLinkRow]:
    for each in scenario.network_links:
        yield NetworkLinkRow(each.name, each.up, each.down, scenario.behind_links[each.name])


def _fault(outage: Outage) -> FaultRow:
    until = None if outage.end == math.inf else outage.end
    return FaultRow(outage.begin, until, outage.node, outage.fault.kind)


def _hazards(device: Device) -> tuple[HazardRow, ...]:
    return tuple(
        HazardRow(device.name, hazard["kind"], float(hazard["per_iteration"]))
        for hazard in device.hazards
    )
