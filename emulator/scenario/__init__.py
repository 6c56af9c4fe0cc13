"""A scenario file: what may be in it, what it comes to, and what it asks of the host."""

from .demand import Demand, Host, Shortfall, demand, shortfalls
from .devices import Device, DeviceProfile, FailureProfile, Group
from .model import Checkpoint, Evaluate, Scenario, Server, Stop, Training, Virtual
from .overview import World, world
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
    "Evaluate",
    "FailureProfile",
    "Group",
    "Host",
    "Override",
    "Scenario",
    "Server",
    "Shortfall",
    "Stop",
    "Timed",
    "Training",
    "Virtual",
    "World",
    "demand",
    "dump",
    "load",
    "loads",
    "schema",
    "shortfalls",
    "timeline",
    "world",
]
