"""Traces of links: rate, delay and loss of a direction over time, and the file formats."""

from .base import TraceFormat, TraceLineError, Way
from .cooked import COOKED
from .drive_log import DRIVE_LOG
from .link_trace import LinkTrace, Sample
from .mahimahi import MAHIMAHI
from .rate_csv import RATE_CSV

FORMATS: dict[str, TraceFormat] = {
    "mahimahi": MAHIMAHI,
    "csv": RATE_CSV,
    "cooked": COOKED,
    "5g": DRIVE_LOG,
}
"""The formats of trace files, by name."""
AUTO = "auto"
"""Name of the format that a file's first line tells."""

__all__ = [
    "AUTO",
    "FORMATS",
    "LinkTrace",
    "Sample",
    "TraceFormat",
    "TraceLineError",
    "Way",
]
