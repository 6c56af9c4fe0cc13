"""A scenario file: what may be in it, what it comes to, and what it asks of the host."""

from .demand import Demand, HostCapacity, Shortfall, demand, shortfalls
from .devices import Device, DeviceProfile, FailureProfile, Group
from .model import (
    Checkpoint,
    EvaluateSection,
    Scenario,
    ServerSection,
    StopSection,
    TrainingSection,
    Virtual,
)
from .overview import Overview, world
from .reading.dump import dump
from .reading.json_schema import schema
from .reading.load import load, loads
from .reading.override import Override
from .timeline import Timed, timeline

__all__ = [
    "Checkpoint",
    "Demand",
    "Device",
    "DeviceProfile",
    "EvaluateSection",
    "FailureProfile",
    "Group",
    "HostCapacity",
    "Override",
    "Overview",
    "Scenario",
    "ServerSection",
    "Shortfall",
    "StopSection",
    "Timed",
    "TrainingSection",
    "Virtual",
    "demand",
    "dump",
    "load",
    "loads",
    "schema",
    "shortfalls",
    "timeline",
    "world",
]
