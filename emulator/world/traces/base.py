"""The parts that the formats of link traces share."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import Literal, TypeAlias

from ...errors import shortened
from .link_trace import LinkTrace, Sample, SampleError

Way: TypeAlias = Literal["up", "down"]
"""Direction of a link, from the device's point of view."""

Lines: TypeAlias = Iterable[tuple[int, str]]
"""Number and content of each line of a file that is neither empty nor a comment."""


class TraceLineError(ValueError):
    """A mistake in a line of a trace file."""

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line
        """Number of the line, from 1; None: the whole file is mistaken."""


@dataclass(frozen=True)
class TraceFormat:
    """A format of trace files."""

    about: str
    """A line of the format, in words."""
    fits: Callable[[str], bool]
    """Returns whether a file whose first line is the given one may be of the format."""
    read: Callable[[Lines, Way], LinkTrace]
    """Reads the lines for a direction. Raises TraceLineError."""
    write: Callable[[LinkTrace, Way], str]
    """Returns the text of a file. Raises ValueError if the format cannot hold the trace."""


def decimal(line: int, word: str, expected: str) -> Decimal:
    """Return the number `word`, finite. Raises TraceLineError that names the `expected`."""
    try:
        value = Decimal(word)
    except DecimalException:
        raise TraceLineError(line, f"{shortened(word)} is no number: expected {expected}") from None
    if not value.is_finite() or value.adjusted() > _MOST_DIGITS:
        raise TraceLineError(line, f"{shortened(word)} is no finite number: expected {expected}")
    return value


_MOST_DIGITS = 30
"""Largest power of ten of a number, far beyond any rate."""


def trace_of(samples: Sequence[Sample], lines: Sequence[int], end: float | None) -> LinkTrace:
    """Return the trace of `samples`, which stand in `lines`. Raises TraceLineError.

    Without an `end` the last sample holds as long as the sample before, a single one a second.
    """
    if not samples:
        raise TraceLineError(None, "the trace is empty: expected at least one line of numbers")
    if end is None:
        last = samples[-1].at
        end = last + (last - samples[-2].at if len(samples) > 1 else 1.0)
        end = max(end, last + _LEAST_LAST) if end <= last else end
    try:
        return LinkTrace.of(samples, end)
    except SampleError as error:
        raise TraceLineError(lines[min(error.number, len(lines) - 1)], str(error)) from None


_LEAST_LAST = 1e-6
"""Seconds of a last sample that follows a time in wrong order; the order is refused anyway."""


def shifted(value: float, digits: int) -> str:
    """Return `value` times ten to the power of `digits` in exact decimal digits."""
    return f"{Decimal(repr(float(value))).scaleb(digits).normalize():f}"
