"""The latest observations, in bounded memory, for estimates that follow a change."""

from collections import deque
from itertools import islice
from typing import Generic, TypeVar

Item = TypeVar("Item")


class RecentItems(Generic[Item]):
    """The last `most` items. `take` leaves out what an earlier `take` had, beyond `least` items."""

    def __init__(self, most: int, least: int) -> None:
        self._items: deque[Item] = deque(maxlen=most)
        self._least = least
        self._fresh = 0

    def add(self, item: Item) -> None:
        self._items.append(item)
        self._fresh += 1

    def take(self) -> list[Item]:
        """Return the items since the last call, the oldest first, or the last `least` if fewer.

        So an estimate from them shows a change that came after the last call.
        """
        wanted = max(self._fresh, self._least)
        self._fresh = 0
        return [*islice(self._items, max(0, len(self._items) - wanted), None)]
