"""The resolved world in base units: what `emulate check` prints in words, or as JSON."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from ..world.link import Link, Side
from .devices import Device
from .model import Scenario, TrainingSection
from .timeline import Struck, outages


@dataclass(frozen=True)
class DeviceRow:
    """One device, its quantities in base units."""

    name: str
    profile: str | None
    cpu: float | None
    """Cores of this host; None: no quota."""
    memory: int
    """Bytes."""
    up: Side
    down: Side
    failures: tuple[str, ...]
    """Names of the failure profiles."""


@dataclass(frozen=True)
class FaultRow:
    """One planned failure, in seconds from the start; `until` is None if it is for good."""

    at: float
    until: float | None
    node: str
    fault: str


@dataclass(frozen=True)
class HazardRow:
    """A failure that the device draws by iteration, so that no time can be given."""

    node: str
    fault: str
    per_iteration: float
    """The chance that an iteration ends in it."""


@dataclass(frozen=True)
class Overview:
    """All that a scenario comes to."""

    name: str
    seed: int
    training: TrainingSection
    devices: tuple[DeviceRow, ...]
    server: Link
    faults: tuple[FaultRow, ...]
    hazards: tuple[HazardRow, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON holds it: bytes, seconds, bits a second, cores, and shares of 1."""
        return {**asdict(self), "algorithm": self.training.described, "training": _plain(self)}


def _plain(world: Overview) -> dict[str, Any]:
    """Return what is trained and how, each chosen kind with all its parameters."""
    parts = {name: getattr(world.training, name) for name in TrainingSection.model_fields}
    return {name: asdict(one) if hasattr(one, "kind") else one for name, one in parts.items()}


def world(scenario: Scenario) -> Overview:
    return Overview(
        name=scenario.name,
        seed=scenario.seed,
        training=scenario.training,
        devices=tuple(map(_device, scenario.nodes)),
        server=scenario.server.link,
        faults=tuple(map(_fault, outages(scenario))),
        hazards=tuple(row for device in scenario.nodes for row in _hazards(device)),
    )


def describe(side: Side) -> str:
    """A side of a link in one line, as `1mbit 25ms ±3ms 0.1% loss`; `unshaped` if it is."""
    parts = [
        "" if side.rate is None else str(side.rate),
        str(side.delay) if side.delay else "",
        f"±{side.jitter}" if side.jitter else "",
        f"{side.loss} loss" if side.loss else "",
        f"{side.setup} set-up" if side.setup else "",
    ]
    return " ".join(filter(None, parts)) or "unshaped"


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


def _fault(struck: Struck) -> FaultRow:
    until = None if struck.end == math.inf else struck.end
    return FaultRow(struck.begin, until, struck.node, struck.fault.kind)


def _hazards(device: Device) -> tuple[HazardRow, ...]:
    return tuple(
        HazardRow(device.name, one["kind"], float(one["per_iteration"])) for one in device.hazards
    )
