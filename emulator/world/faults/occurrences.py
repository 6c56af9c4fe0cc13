"""Occurrences of a fault: `Once` at a time, or `Repeated` again and again, both by laws."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, Self

from ...units import Seconds
from ..laws import Law

MOST_FAILURES = 10_000
"""Limit of the failures that one entry causes on a device: more is a typing error."""


class Interval(NamedTuple):
    """The seconds from `begin` to `end` for which a fault lasts; `end` is infinite for good."""

    begin: float
    end: float


class WindowEnd(Seconds):
    """The end of a window of time: a time, or the word `end` for the end of the run."""

    word = "end"

    @classmethod
    def parse(cls, text: object) -> Self:
        if text == cls.word:
            return cls(math.inf)
        return super().parse(text)

    def __str__(self) -> str:
        return self.word if self == math.inf else super().__str__()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        time = Seconds.__get_pydantic_json_schema__(schema, handler)
        return {"anyOf": [{"const": cls.word}, time]}


@dataclass(frozen=True)
class Once:
    """A fault that occurs once: `at` seconds after the run's zero, for `lasts` seconds."""

    at: Law
    lasts: Law | None
    """Duration; None: for good."""

    def intervals(self, rng: Random, horizon: float) -> Iterator[Interval]:
        """Yield the occurrence, drawn from `rng`, if it begins before `horizon` seconds."""
        begin = self.at.draw(rng)
        if begin < horizon:
            yield Interval(begin, math.inf if self.lasts is None else begin + self.lasts.draw(rng))


@dataclass(frozen=True)
class Repeated:
    """A fault that occurs again and again, `every` seconds after the end of the last occurrence."""

    every: Law
    lasts: Law | None
    """Duration each time; None: the first time is for good."""
    window: tuple[float, float] = (0.0, math.inf)
    """The first up time begins with the window; a fault begins before the window's end."""

    def intervals(self, rng: Random, horizon: float) -> Iterator[Interval]:
        """Yield the occurrences that begin before `horizon` seconds, drawn from `rng`.

        A longer horizon adds occurrences and moves no earlier one. Raises ValueError at more than
        `MOST_FAILURES` occurrences.
        """
        now, last = self.window[0], min(horizon, self.window[1])
        for _ in range(MOST_FAILURES):
            begin = now + self.every.draw(rng)
            if begin >= last:
                return
            now = math.inf if self.lasts is None else begin + self.lasts.draw(rng)
            yield Interval(begin, now)
        raise ValueError(f"more than {MOST_FAILURES:,} failures before {Seconds(last)}")
