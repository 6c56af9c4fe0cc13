"""The dated changes of a node's own link, as its supervisor plays them by its own clock."""

import math

from ...world.links import reshaping
from ...world.links.link import Link
from ...world.links.link_course import link_course
from ..config import Reshaping


class LinkSchedule:
    """The links that a node's steps and traces make of its link, one after the other."""

    def __init__(self, facts: Reshaping | None) -> None:
        """`facts`: None for a constant link."""
        link = Link() if facts is None else reshaping.read(facts.link)
        self.changes = link.changes
        """Whether the link changes by itself."""
        since, draw = (facts.since, facts.draw) if facts else (0.0, 0.0)
        self._course = link_course(link, draw, since)
        self.link = next(self._course)[1]
        """The link of the moment."""
        self._following = next(self._course, None)
        self._zero: float | None = None
        self._taken = 0.0  # when the change that is being made was due
        self.played, self.latest = 0, 0.0
        """Number of changes so far, and the emulated seconds by which the latest one was late."""

    def begin(self, zero: float) -> None:
        """Take the run's `zero`, a time of the node's clock: the changes are due from then on."""
        self._zero = zero

    @property
    def due(self) -> float:
        """The time of the clock at which the next change is due; infinite if none is known."""
        if self._zero is None or self._following is None:
            return math.inf
        return self._zero + self._following[0]

    def take(self, now: float) -> bool:
        """Bring `link` up to the time `now` of the clock; return whether a change was due."""
        if now < self.due:
            return False
        self._taken = self.due
        while now >= self.due and self._following is not None:
            self.link = self._following[1]
            self._following = next(self._course, None)
        self.played += 1
        return True

    def done(self, now: float) -> bool:
        """Take that `link` is in force at the time `now`; return whether none was later so far."""
        late, before = now - self._taken, self.latest
        self.latest = max(before, late)
        return late > before
