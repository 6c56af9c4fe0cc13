"""A scenario file: what may be in it, what it comes to, and what it asks of the host."""

from .demand import Demand, Host, Shortfall, demand, shortfalls
from .devices import Device, DeviceProfile, FailureProfile, Group
from .dump import dump
from .load import load, loads
from .model import Checkpoint, Evaluate, Scenario, Server, Stop, Training, Virtual
from .override import Override
from .schema import schema
from .timeline import Timed, timeline
from .world import World, world

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
