"""Faults. To add one: write its file, name it here, add its row to the tests."""

from .base import Fault
from .crash import Crash
from .hazard import Hazard
from .partition import Partition
from .schedule import Aimed, Interval, Recurring, Scheduled, scheduled

FAULTS: dict[str, type[Fault]] = {fault.kind: fault for fault in (Crash, Partition)}

__all__ = [
    "FAULTS",
    "Aimed",
    "Crash",
    "Fault",
    "Hazard",
    "Interval",
    "Partition",
    "Recurring",
    "Scheduled",
    "scheduled",
]
