"""The server's processor in virtual time: one core, for which updates queue."""

from random import Random

from ... import chance
from ...world.laws import Law
from ...world.roles import SERVER


class ServerProcessor:
    """Busy with updates, one after the other.

    An update changes the model at the moment it arrives. The time that it takes delays the answers.
    """

    __slots__ = ("_dice", "_free", "_law")

    def __init__(self, law: Law | None, seed: int) -> None:
        """`law` gives the seconds that each update takes; None means that updates take no time."""
        self._law = law
        self._dice = Random(chance.work(seed, SERVER))
        self._free = 0.0  # when the last update in the queue will be done

    def take(self, now: float) -> None:
        """Queue an update that arrives at `now`."""
        if self._law is not None:
            self._free = max(now, self._free) + self._law.draw(self._dice)

    def free(self, now: float) -> float:
        """Return the time at which the server can send an answer, `now` at the earliest."""
        return max(now, self._free)
