"""The scenario: keys of the file, the resolved plan, and the demand for the host's resources."""

from .cores_and_memory import Demand, demand
from .model import EvaluateSection, Scenario, StopSection
from .overview import Overview, overview
from .reading.dump import dump
from .reading.json_schema import schema
from .reading.load import load, load_without_code, loads
from .reading.typed_values import Override
from .sections.devices import Device, DeviceProfile, FailureProfile, Group
from .sections.server_section import Checkpoint, ServerSection
from .sections.training_section import TrainingSection
from .sections.virtual_section import Virtual
from .timeline.compiled import Timed

__all__ = [
    "Checkpoint",
    "Demand",
    "Device",
    "DeviceProfile",
    "EvaluateSection",
    "FailureProfile",
    "Group",
    "Override",
    "Overview",
    "Scenario",
    "ServerSection",
    "StopSection",
    "Timed",
    "TrainingSection",
    "Virtual",
    "demand",
    "dump",
    "load",
    "load_without_code",
    "loads",
    "overview",
    "schema",
]
