"""The offset between the monotonic clocks of two hosts, from questions and answers.

As in NTP (RFC 5905, section 8): a host's clock is read while a question is under way, so at the
half of its way there and back, give or take that half.
"""

from collections import deque
from typing import NamedTuple

SAMPLES = 32
DRIFT = 100e-6
"""Seconds in a second by which two clocks may part: quartz of ordinary machines stays below."""


class _Sample(NamedTuple):
    at: float
    offset: float
    uncertainty: float

    def by(self, now: float) -> float:
        """Return the uncertainty at the time `now`."""
        return self.uncertainty + DRIFT * max(0.0, now - self.at)


class ClockOffset:
    """How much a host's clock is ahead of this machine's: the best known of the last samples."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=SAMPLES)
        self._best = _Sample(0.0, 0.0, float("inf"))

    def heard(self, asked: float, there: float, answered: float) -> None:
        """Take an answer: the times here of question and answer, and the host's reading `there`."""
        half = (answered - asked) / 2
        self._samples.append(_Sample(answered, there - (asked + half), half))
        self._best = min(self._samples, key=lambda sample: sample.by(answered))

    @property
    def seconds(self) -> float:
        """The host's clock less this machine's."""
        return self._best.offset

    @property
    def uncertainty(self) -> float:
        """Seconds by which `seconds` may be wrong either way, when its sample was taken."""
        return self._best.uncertainty
