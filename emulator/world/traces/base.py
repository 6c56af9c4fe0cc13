"""The parts that the formats of link traces share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import Literal, TypeAlias

from ...errors import shortened
from ...units import plain_digits
from .link_trace import LinkTrace, Sample, SampleCheck, SampleError

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
    both_ways: bool = False
    """Whether a file holds both directions of a link."""


def decimal(line: int, word: str, expected: str) -> Decimal:
    """Return the number `word`, finite. Raises TraceLineError that names the `expected`."""
    try:
        value = Decimal(plain_digits(word))
    except (DecimalException, ValueError):
        raise TraceLineError(line, f"{shortened(word)} is no number: expected {expected}") from None
    if not value.is_finite() or value.adjusted() > _MOST_DIGITS:
        raise TraceLineError(line, f"{shortened(word)} is no finite number: expected {expected}")
    return value


_MOST_DIGITS = 30
"""Largest power of ten of a number, far beyond any rate."""


class Rows:
    """The samples that a format reads, and their lines. The first mistake ends the reading, be it
    in a value, in the order of times or in the number of samples."""

    def __init__(self) -> None:
        self._samples: list[Sample] = []
        self._lines: list[int] = []
        self._check = SampleCheck()

    def add(self, sample: Sample, line: int) -> None:
        """Add the `sample` that stands in `line`. Raises TraceLineError."""
        try:
            self._check.follow(sample)
        except SampleError as error:
            raise TraceLineError(line, str(error)) from None
        self._samples.append(sample)
        self._lines.append(line)

    def trace(self, end: float | None, line: int | None = None) -> LinkTrace:
        """Return the trace, whose `end` stands in `line`. Raises TraceLineError.

        Without an `end` the last sample holds as long as the sample before, a single one a second.
        """
        if not self._samples:
            raise TraceLineError(None, "the trace is empty: expected at least one line of numbers")
        if end is None:
            last = self._samples[-1].at
            end = last + (last - self._samples[-2].at if len(self._samples) > 1 else 1.0)
        try:
            return LinkTrace.of(self._samples, end)
        except SampleError as error:
            raise TraceLineError(line or self._lines[-1], str(error)) from None


def shifted(value: float, digits: int) -> str:
    """Return `value` times ten to the power of `digits` in exact decimal digits."""
    return f"{Decimal(repr(float(value))).scaleb(digits).normalize():f}"
