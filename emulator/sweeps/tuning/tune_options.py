"""Options of the tuner: lengths and budget in emulated time or in group updates."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ...units import Seconds
from .algorithm_one import EPOCH
from .grids import FIRST_RATES
from .trial_journal import WINDOW

_UPDATES = re.compile(r"(\d{1,9})\s*updates?")


@dataclass(frozen=True)
class Length:
    """A length of training: emulated seconds, or group updates."""

    seconds: float | None = None
    updates: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a text such as `10min` or `3000updates`. Raises ValueError."""
        if match := _UPDATES.fullmatch(text.strip()):
            length = cls(updates=int(match[1]))
        else:
            try:
                length = cls(seconds=float(Seconds.parse(text)))
            except ValueError as error:
                raise ValueError(f"{error}; or write updates, as 3000updates") from error
        if not (length.seconds or length.updates):
            raise ValueError(f"{text}: a length is above zero")
        return length

    def reached(self, seconds: float, updates: int) -> bool:
        """Return whether `seconds` and group `updates` come up to this length."""
        if self.updates is not None:
            return updates >= self.updates
        return seconds >= (self.seconds or 0.0)

    def in_seconds(self, update_seconds: float) -> float:
        """Return the length in seconds, if a group update takes `update_seconds`."""
        if self.updates is not None:
            return self.updates * update_seconds
        return self.seconds or 0.0

    def __str__(self) -> str:
        if self.updates is not None:
            return f"{self.updates} update{'' if self.updates == 1 else 's'}"
        return str(Seconds(self.seconds or 0.0))


@dataclass(frozen=True)
class TuneOptions:
    """Choices of the user; the defaults have the proportions of the released code."""

    probe: Length = Length(updates=WINDOW)
    """Length of a probe, the unit of all lengths. In updates, it is the time that one group takes
    for them, so that all settings are compared after equal times."""
    epoch: Length | None = None
    """Length of a training epoch; None: 10,000/60 probes."""
    budget: Length | None = None
    """Probes and training together; None: the first choice, without training."""
    rates: Sequence[float] = FIRST_RATES
    """Learning rates of the first grid, and of the exhaustive search."""
    refine: bool = False
    """Whether a second pass probes finer momenta around the best one."""
    paper: bool = False
    """Whether the first choice is that of the released code's cold start and a search from the
    fastest groups, not that of successive halving."""
    baselines: Sequence[str] = ()
    """Names of the baselines that are played to the scenario's target, for comparison."""

    def epoch_seconds(self, probe_seconds: float, update_seconds: float) -> float:
        """Return the length of an epoch, given the seconds of a probe and of a group update."""
        if self.epoch is None:
            return EPOCH * probe_seconds
        return self.epoch.in_seconds(update_seconds)
