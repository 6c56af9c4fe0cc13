"""On/off traces: when a device was on and when off, for a while that is repeated.

A trace is written as `on 0, off 3600, on 7200, end 86400`: seconds in ascending order, at which the
device goes on or off, and the time at which the trace begins anew. Before the first time the device
is as after the last one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

from ...units import plain_digits

MOST_STEPS = 1_000_000
"""Largest number of steps of a trace: more is a mistake, and would fill the memory."""

ON, OFF, END = "on", "off", "end"


class Step(NamedTuple):
    """A time of a trace, and what happens at the time."""

    at: float
    """Seconds since the trace's begin."""
    word: str
    """`on`, `off` or `end`."""


class TraceStepError(ValueError):
    """A mistake in a trace."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number
        """Index of the step with the mistake."""


@dataclass(frozen=True)
class OnOffTrace:
    """A trace, with the times at which the device is off."""

    period: float
    """Seconds after which the trace begins anew."""
    off: tuple[tuple[float, float], ...]
    """Begin and end of each time off, ascending. The last one may reach beyond `period`, into the
    next round."""

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Self:
        """Make a trace of `steps`; raise TraceStepError if they do not fit together.

        Without an `end` the last step is the end, if it says the same as the first one.
        """
        steps, period = _checked(steps)
        last = steps[-1].word
        first = [] if steps[0].at == 0 else [Step(0.0, last)]
        spans = [
            (step.at, following.at)
            for step, following in pairwise([*first, *steps, Step(period, END)])
            if step.word == OFF and following.at > step.at
        ]
        off = _joined(spans)
        if off and off[0][0] == 0 and off[-1][1] == period and len(off) > 1:
            (_, morning), *rest = off
            off = [*rest[:-1], (rest[-1][0], period + morning)]
        if sum(end - begin for begin, end in off) >= period:
            raise TraceStepError(0, "the device is never on")
        return cls(period, tuple(off))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a trace. Raises ValueError that names the step with the mistake."""
        parts = text.split(",", MOST_STEPS)
        try:
            return cls.of([_step(number, part) for number, part in enumerate(parts)])
        except TraceStepError as error:
            step = parts[error.number].strip()
            raise ValueError(f"step {error.number + 1} of the trace, {step!r}: {error}") from None

    def times_off(self, start: float, speed: float = 1.0) -> Iterator[tuple[float, float]]:
        """Yield begin and end of each time off, in seconds after `start`, a time of the trace.

        The trace runs `speed` times as fast as it is written, and again and again: the iteration
        ends only if the device is never off. The first begin may be negative.
        """
        if not self.off:
            return
        # a time off may have begun in the round before
        rounds = math.floor(start / self.period) - 1
        while True:
            shift = rounds * self.period - start
            for begin, end in self.off:
                if end + shift > 0:
                    yield (begin + shift) / speed, (end + shift) / speed
            rounds += 1


def text_of(steps: Sequence[Step]) -> str:
    """Return `steps` as the text of a trace."""
    return ", ".join(f"{step.word} {step.at:.12g}" for step in steps)


def _step(number: int, part: str) -> Step:
    word, _, seconds = part.strip().partition(" ")
    try:
        return Step(float(plain_digits(seconds)), word)
    except ValueError:
        raise TraceStepError(number, "is not as `off 3600`, with a number of seconds") from None


def _checked(steps: Sequence[Step]) -> tuple[Sequence[Step], float]:
    """Return the steps before the end, and the time of the end. Raises TraceStepError."""
    if len(steps) > MOST_STEPS:
        raise TraceStepError(MOST_STEPS, f"a trace has up to {MOST_STEPS:,} steps")
    before = -1.0
    for number, (at, word) in enumerate(steps):
        if word not in (ON, OFF, END):
            raise TraceStepError(number, f"{word!r} is not {ON}, {OFF} or {END}")
        if not (math.isfinite(at) and at >= 0):
            raise TraceStepError(number, f"{at} is no time from zero up")
        if at <= before:
            raise TraceStepError(number, f"{at:g} s does not follow {before:g} s")
        if word == END and number < len(steps) - 1:
            raise TraceStepError(number, f"steps follow the {END}")
        before = at
    if len(steps) < 2:
        raise TraceStepError(0, f"a trace has a step and an {END} at least")
    *inner, last = steps
    if last.word != END and last.word != steps[0].word:
        message = f"the trace begins with {steps[0].word}: add the time at which it begins anew, "
        raise TraceStepError(len(steps) - 1, f"{message}as `{END} 86400`")
    return inner, last.at


def _joined(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the ascending `spans`, with touching neighbours merged."""
    joined: list[tuple[float, float]] = []
    for begin, end in spans:
        if joined and joined[-1][1] == begin:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((begin, end))
    return joined
