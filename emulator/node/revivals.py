"""Decides whether a supervisor starts a server or an evaluator anew that died unasked."""

import sys
from collections import deque

from . import config

MOST = 5
"""Deaths within `SERVER` or `EVALUATOR` seconds after which the part stays down: it cannot live."""
SERVER, EVALUATOR = 20.0, 60.0
"""An evaluator takes longer to its first work, as it loads TensorFlow."""


class Revivals:
    """Counts the recent deaths of a part that can come back.

    A server can if its state is on disk; the evaluator keeps no state that a run needs.
    """

    def __init__(self) -> None:
        self._deaths: deque[float] = deque(maxlen=MOST)

    def allows(self, part: object, now: float) -> bool:
        """Return whether `part`, which died at the time `now`, is to be started again.

        If the part has died too often, say so in the node's log.
        """
        match part:
            case config.ServerRole() if part.plan.durability is not None:
                within = SERVER
            case config.EvaluatorRole():
                within = EVALUATOR
            case _:
                return False
        self._deaths.append(now)
        if len(self._deaths) < MOST or now - self._deaths[0] > within:
            return True
        words = f"it died {MOST} times within {within:g} s, and is not started again"
        print(words, file=sys.stderr, flush=True)
        return False
