"""The parts that the formats of link traces share."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal, DecimalException
from typing import Literal, TypeAlias

from ....errors import shortened
from ....units import plain_digits
from .link_trace import LinkTrace, Sample, SampleCheck, SampleError, mean_sample

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


MISSING = ("", "-", "nan", "NaN")
"""Cells of a value that was not measured."""


def cells(line: str, width: int = 1) -> list[str]:
    """Return the cells of a `line` of CSV, without the blanks around them.

    A cell in double quotes may have commas. Empty cells at the end, with which programs pad rows,
    are left out, but for the first `width` cells.
    """
    try:
        (row,) = csv.reader([line], skipinitialspace=True)
    except (csv.Error, ValueError):  # a carriage return inside a cell
        row = line.split(",")
    found = [cell.strip() for cell in row]
    while len(found) > width and not found[-1]:
        found.pop()
    return found


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
    """The samples that a format reads, and their lines. Rows of the same time are one sample with
    their mean. The first mistake ends the reading, be it in a value, in the order of times or in
    the number of samples."""

    def __init__(self) -> None:
        self._samples: list[Sample] = []
        self._lines: list[int] = []
        self._check = SampleCheck()
        self._same: list[Sample] = []  # rows of the latest time

    def add(self, sample: Sample, line: int) -> None:
        """Add the `sample` that stands in `line`. Raises TraceLineError."""
        try:
            if self._same and sample.at == self._same[0].at:
                self._check.values(sample)
                self._same.append(sample)
                return
            self._check.follow(sample)
        except SampleError as error:
            raise TraceLineError(line, str(error)) from None
        self._average()
        self._same = [sample]
        self._samples.append(sample)
        self._lines.append(line)

    def _average(self) -> None:
        """Put the mean of the rows of the latest time in the place of the first one."""
        if len(self._same) > 1:
            mean = mean_sample(0.0, [(each, 1.0) for each in self._same])
            self._samples[-1] = mean._replace(at=self._same[0].at)

    def trace(self, end: float | None, line: int | None = None) -> LinkTrace:
        """Return the trace, whose `end` stands in `line`. Raises TraceLineError.

        Without an `end` the last sample holds as long as the sample before, a single one a second.
        """
        self._average()
        if not self._samples:
            raise TraceLineError(None, "the trace is empty: expected at least one line of numbers")
        if end is None:
            last = self._samples[-1].at
            end = last + (last - self._samples[-2].at if len(self._samples) > 1 else 1.0)
        try:
            return LinkTrace.of(self._samples, end)
        except SampleError as error:
            raise TraceLineError(line or self._lines[-1], str(error)) from None


def held(trace: LinkTrace) -> LinkTrace:
    """Return `trace` with the rate and the delay before in place of each one that is unknown.

    Samples before the first known value have the first known value.
    """
    samples = list(trace.samples)
    rate = next((sample.rate for sample in samples if sample.rate is not None), None)
    delay = next((sample.delay for sample in samples if sample.delay is not None), None)
    for number, sample in enumerate(samples):
        rate = rate if sample.rate is None else sample.rate
        delay = delay if sample.delay is None else sample.delay
        samples[number] = sample._replace(rate=rate, delay=delay)
    return replace(trace, samples=tuple(samples))


def shifted(value: float, digits: int) -> str:
    """Return `value` times ten to the power of `digits` in exact decimal digits."""
    return f"{Decimal(repr(float(value))).scaleb(digits).normalize():f}"
