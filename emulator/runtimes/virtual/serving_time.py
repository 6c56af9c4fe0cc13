"""What serving takes in virtual time: the server has one core, and updates queue for it."""

from random import Random

from ... import chance
from ...world.laws import Law
from ...world.roles import SERVER


class Processor:
    """The server's. An update changes the model when it comes; answers wait until it is through."""

    __slots__ = ("_dice", "_free", "_law")

    def __init__(self, law: Law | None, seed: int) -> None:
        """`law` says what an update takes it; None: nothing."""
        self._law = law
        self._dice = Random(chance.work(seed, SERVER))
        self._free = 0.0

    def take(self, now: float) -> None:
        """An update has come."""
        if self._law is not None:
            self._free = max(now, self._free) + self._law.draw(self._dice)

    def free(self, now: float) -> float:
        """When it can answer."""
        return max(now, self._free)
