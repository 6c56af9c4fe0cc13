"""Stand-in."""

from dataclasses import dataclass

from ...link import Side

INITIAL = 14480.0
RESTART = 1448.0
ACK = 66 / 2896


@dataclass(frozen=True, slots=True)
class Tcp:
    rtt: float
    rto: float

    @classmethod
    def of(cls, there: Side, back: Side, beyond: Side, beyond_back: Side) -> "Tcp":
        rtt = there.delay + back.delay + beyond.delay + beyond_back.delay
        return cls(rtt, rtt + 0.2)

    def limit(self, rate: float) -> float:
        return rate

    def ramp(self, size: float, rate: float, window: float) -> tuple[float, float]:
        return 0.0, window

    def window(self, window: float, idle: float) -> float:
        return window

    def resumed(self, since: float, until: float) -> float:
        return until
