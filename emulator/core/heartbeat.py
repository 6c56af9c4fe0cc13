"""How long silence may last before a connection counts as dead.

ZeroMQ notices life only when a whole frame has come in, so the bound must exceed the time
that the largest frame takes on the slowest link, or that link would never finish one.
"""

import msgspec


class Heartbeat(msgspec.Struct, frozen=True):
    interval: float = 2.0
    """Seconds between pings."""
    timeout: float = 10.0
    """Seconds of silence after which a connection is dropped."""

    @classmethod
    def fit(cls, transfer: float) -> "Heartbeat":
        """For links on which the largest frame takes `transfer` seconds."""
        return cls(timeout=max(10.0, 4 * transfer))
