"""Link traces: the rate of a direction of a link over time, with its delay and loss if known.

A scenario's resolved file holds a trace as text, `0 12000000 0.04 0.01, 1 8e6, end 60`: for each
sample its seconds, then bits a second, seconds of delay and the share of lost packets, with `-` for
an unknown value; unknown values at the end of an entry may be left out. The last entry is the time
at which the trace ends.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from ....units import plain_digits

MOST_SAMPLES = 36_000
"""Largest number of samples, ten hours of seconds: devices carry a trace in their configuration."""
MOST_ROWS = 100_000
"""Largest number of samples before close ones are averaged."""
LEAST_STEP = 0.1
"""Seconds between two samples at least; closer samples are averaged."""
FASTEST = 100e9
"""Upper limit of a rate, exclusive, in bits per second; `tc` writes a peak rate above it."""
END = "end"
UNKNOWN = "-"


class Sample(NamedTuple):
    """The values of a link from a time of the trace on; None for an unknown value."""

    at: float
    """Seconds since the trace's begin."""
    rate: float | None = None
    """Bits per second, which may be zero."""
    delay: float | None = None
    """One-way delay in seconds."""
    loss: float | None = None
    """Share of lost packets, from 0 to 1."""


class SampleError(ValueError):
    """A mistake in a sample of a trace."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number
        """Index of the sample with the mistake."""


@dataclass(frozen=True)
class LinkTrace:
    """The samples of a trace in ascending order, the first one at 0, and the end of the last."""

    samples: tuple[Sample, ...]
    end: float
    """Seconds after which the trace ends, or begins anew."""

    @classmethod
    def of(cls, samples: Sequence[Sample], end: float) -> Self:
        """Make a trace of `samples` that ends at `end`; raise SampleError for a mistake.

        Times count from the first sample. Samples within `LEAST_STEP` are averaged.
        """
        check = SampleCheck()
        for sample in samples:
            check.follow(sample)
        check.end(end)
        first = samples[0].at
        if first:
            samples = [sample._replace(at=sample.at - first) for sample in samples]
        trace = cls(tuple(samples), end - first)
        return trace.averaged(LEAST_STEP) if check.close else trace

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a trace. Raises ValueError that names the entry with the mistake."""
        entries = [entry.strip() for entry in text.split(",", MOST_SAMPLES + 1)]
        word, _, end = entries[-1].partition(" ")
        try:
            if word != END:
                raise SampleError(len(entries) - 1, f"is not the last one, as `{END} 60`")
            samples = [_sample(number, entry) for number, entry in enumerate(entries[:-1])]
            return cls.of(samples, _number(len(entries) - 1, end))
        except SampleError as error:
            entry = entries[min(error.number, len(entries) - 1)]
            raise ValueError(
                f"entry {error.number + 1} of the trace, {entry[:40]!r}: {error}"
            ) from None

    @property
    def text(self) -> str:
        """The trace as text for `parse`."""
        return ", ".join([*map(_entry, self.samples), f"{END} {_digits(self.end)}"])

    def spans(self) -> list[tuple[Sample, float]]:
        """Return each sample with its duration in seconds."""
        ends = [*(sample.at for sample in self.samples[1:]), self.end]
        return [(sample, end - sample.at) for sample, end in zip(self.samples, ends, strict=True)]

    def scaled(self, factor: float) -> Self:
        """Return the trace with its rates times `factor`."""
        if factor == 1:
            return self
        scaled = (
            sample._replace(rate=None if sample.rate is None else sample.rate * factor)
            for sample in self.samples
        )
        return type(self)(tuple(scaled), self.end)

    @property
    def looped(self) -> Self:
        """The trace without a last sample shorter than `LEAST_STEP`, for play in a loop: the sample
        before has the mean of both."""
        if len(self.samples) < 2 or self.end - self.samples[-1].at >= LEAST_STEP * (1 - 1e-6):
            return self
        *kept, one, two = self.spans()
        return type(self)(
            (*(each for each, _ in kept), mean_sample(one[0].at, [one, two])), self.end
        )

    def averaged(self, step: float) -> Self:
        """Return the trace with a sample every `step` seconds, the mean over these seconds."""
        bins: dict[int, list[tuple[Sample, float]]] = {}
        for sample, lasts in self.spans():
            begin, end = sample.at, sample.at + lasts
            # a time that is a multiple of `step` but for rounding begins a bin, and ends none
            number = math.floor(begin / step + 1e-6)
            while number * step < end - step * 1e-6:
                inside = min(end, (number + 1) * step) - max(begin, number * step)
                bins.setdefault(number, []).append((sample, inside))
                number += 1
        return type(self)(
            tuple(mean_sample(number * step, spans) for number, spans in sorted(bins.items())),
            self.end,
        )


class SampleCheck:
    """Checks the times, the values and the number of a trace's samples, one after the other."""

    def __init__(self) -> None:
        self._number = 0
        self._first = 0.0
        self._before = -math.inf
        self._close = False

    def follow(self, sample: Sample) -> None:
        """Check the next sample. Raises SampleError."""
        number, at, before = self._number, sample.at, self._before
        if not (math.isfinite(at) and at >= 0):
            raise SampleError(number, f"{at:g} is no time in seconds from zero up")
        if at <= before:
            raise SampleError(
                number, f"{at:.12g} s does not follow {before:.12g} s: times increase"
            )
        self.values(sample)
        self._first = at if number == 0 else self._first
        self._close = self._close or at - before < LEAST_STEP * (1 - 1e-6)
        self._before = at
        self._number += 1
        self._check_number(at)

    def values(self, sample: Sample) -> None:
        """Check the values of `sample`, whatever its time. Raises SampleError."""
        number, (_, rate, delay, loss) = self._number, sample
        if rate is not None and not 0 <= rate < FASTEST:
            raise SampleError(
                number, f"{rate:g} bit/s is no rate from zero to under {FASTEST / 1e9:g} gbit/s"
            )
        if delay is not None and not 0 <= delay <= _LONGEST_DELAY:
            raise SampleError(number, f"{delay:g} s is no delay from 0 to {_LONGEST_DELAY:g} s")
        if loss is not None and not 0 <= loss <= 1:
            raise SampleError(number, f"{loss:.2%} is no share of packets from 0 % to 100 %")

    def end(self, end: float) -> None:
        """Check the end of the trace. Raises SampleError."""
        if not self._number:
            raise SampleError(0, "the trace is empty")
        if not (math.isfinite(end) and end > self._before):
            message = f"the trace ends at {end:g} s, not after {self._before:g} s"
            raise SampleError(self._number, message)
        self._check_number(end)

    @property
    def close(self) -> bool:
        """Whether samples are to be averaged."""
        return self._close

    def _check_number(self, until: float) -> None:
        # the mean of a few close samples in years of silence would take years of samples
        made = (until - self._first) / LEAST_STEP if self._close else self._number
        if made > MOST_SAMPLES:
            message = f"the trace has more than {MOST_SAMPLES:,} samples: cut it in parts"
        elif self._number > MOST_ROWS:
            message = f"the trace has more than {MOST_ROWS:,} rows: cut it in parts"
        else:
            return
        raise SampleError(self._number - 1, message)


_LONGEST_DELAY = 60.0


def mean_sample(at: float, spans: Sequence[tuple[Sample, float]]) -> Sample:
    """Return the mean of `spans`, weighted by their seconds, as a sample at the time `at`."""

    def mean(values: Sequence[float | None]) -> float | None:
        known = [
            (value, lasts)
            for value, (_, lasts) in zip(values, spans, strict=True)
            if value is not None
        ]
        whole = math.fsum(lasts for _, lasts in known)
        return math.fsum(value * lasts for value, lasts in known) / whole if whole else None

    return Sample(
        round(at, 6),
        mean([sample.rate for sample, _ in spans]),
        mean([sample.delay for sample, _ in spans]),
        mean([sample.loss for sample, _ in spans]),
    )


def _entry(sample: Sample) -> str:
    words = [UNKNOWN if value is None else _digits(value) for value in sample]
    while words[-1] == UNKNOWN:
        words.pop()
    return " ".join(words)


def _digits(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _sample(number: int, entry: str) -> Sample:
    words = entry.split()
    if not 1 <= len(words) <= len(Sample._fields):
        raise SampleError(number, "is not as `0 8000000 0.04 0.01`: seconds, bits/s, delay, loss")
    values = [None if word == UNKNOWN else _number(number, word) for word in words]
    at, *rest = values
    if at is None:
        raise SampleError(number, "has no time")
    return Sample(at, *rest)


def _number(number: int, word: str) -> float:
    try:
        return float(plain_digits(word))
    except ValueError:
        raise SampleError(number, f"{word!r} is no number") from None
