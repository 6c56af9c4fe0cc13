"""The server's processor in virtual time: a core with a queue of updates."""

from random import Random

from .... import chance
from ....world.laws import Law
from ....world.roles import SERVER


class ServerProcessor:
    """A queue of updates, for a single core.

    An update changes the model at the moment of arrival. Its time in the queue delays answers.
    """

    __slots__ = ("_dice", "_free", "_law")

    def __init__(self, law: Law | None, seed: int) -> None:
        """Draw the duration of an update from `law`, in seconds; None means no time at all."""
        self._law = law
        self._dice = Random(chance.work(seed, SERVER))
        self._free = 0.0  # when the last update in the queue will be done

    def take(self, now: float) -> None:
        """Queue an update with arrival time `now`."""
        if self._law is not None:
            self._free = max(now, self._free) + self._law.draw(self._dice)

    def restart(self) -> None:
        """Forget the queue: the server's process is a new one."""
        self._free = 0.0

    def compute(self, now: float, seconds: float) -> None:
        """Queue a computation of `seconds` that was asked for at the time `now`."""
        self._free = max(now, self._free) + seconds

    def free(self, now: float) -> float:
        """Return the earliest time for an answer: the end of the queue, or `now`."""
        return max(now, self._free)
