"""The time-out after which a silent connection counts as dead.

ZeroMQ notices life only when a whole frame has arrived. The time-out must therefore exceed the
time of the largest frame on the slowest link, or that link would never finish a frame.
"""

import msgspec


class Heartbeat(msgspec.Struct, frozen=True):
    """Times of ZMTP heartbeats, in seconds."""

    interval: float = 2.0
    """Seconds between pings."""
    timeout: float = 10.0
    """Seconds of silence after which a connection is dropped."""

    @classmethod
    def fit(cls, transfer: float) -> "Heartbeat":
        """Return the heartbeat for links on which the largest frame takes `transfer` seconds."""
        return cls(timeout=max(10.0, 4 * transfer))
