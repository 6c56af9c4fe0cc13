"""Decides whether a supervisor starts a server anew that died unasked."""

from collections import deque

from . import config

MOST = 5
"""Deaths within `WITHIN` seconds after which the server stays down: it cannot live."""
WITHIN = 20.0


class Revivals:
    """Counts the recent deaths of a server that can come back from disk."""

    def __init__(self) -> None:
        self._deaths: deque[float] = deque(maxlen=MOST)

    def allows(self, part: object, now: float) -> bool:
        """Return whether `part`, which died at the time `now`, is to be started again."""
        if not isinstance(part, config.ServerRole) or part.plan.durability is None:
            return False
        self._deaths.append(now)
        return len(self._deaths) < MOST or now - self._deaths[0] > WITHIN
