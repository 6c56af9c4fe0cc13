"""What is to happen, in the order of virtual time."""

import heapq
import math
from collections.abc import Callable
from typing import Any


class Heap:
    """A clock that jumps from event to event. Ties run as they were planned, so a run repeats."""

    def __init__(self) -> None:
        self.now = 0.0
        self.halted = False
        """Set it, and nothing that is planned will happen any more."""
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.planned = 0
        """How many calls so far."""

    def at(self, when: float, call: Callable[..., None], *arguments: Any) -> None:
        """Plan a call for `when`; one that lies in the past runs next."""
        self.planned += 1
        heapq.heappush(self._queue, (when, self.planned, call, arguments))

    def run(self, until: float, most: int) -> bool:
        """Run up to `most` events; whether all up to `until` have run, which it then is."""
        queue, pop = self._queue, heapq.heappop
        while queue and queue[0][0] <= until and not self.halted:
            if not most:
                return False
            most -= 1
            when, _, call, arguments = pop(queue)
            if when > self.now:
                self.now = when
            call(*arguments)
        if until < math.inf and not self.halted:
            self.now = max(self.now, until)
        return True
