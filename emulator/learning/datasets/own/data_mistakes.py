"""Mistakes in data of one's own, each with file and place, all reported at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

_SHOWN = 3
"""Examples with the same mistake that are named; the others are counted."""


class Place(NamedTuple):
    """Place of a value in data: a file, a line of it, and the names and numbers inside."""

    file: str
    line: int | None = None
    address: tuple[str | int, ...] = ()
    """For example `("x_train", 17)`, or the name of a column."""


class DataMistake(NamedTuple):
    """A mistake in data, with its place."""

    place: Place
    message: str


class OwnDataError(ValueError):
    """Data of one's own that cannot be used, with every mistake that was found."""

    def __init__(self, mistakes: Sequence[DataMistake]) -> None:
        super().__init__(
            "; ".join(f"{mistake.place.file}: {mistake.message}" for mistake in mistakes)
        )
        self.mistakes = tuple(mistakes)


class DataMistakes:
    """The mistakes found so far."""

    def __init__(self) -> None:
        self._found: list[DataMistake] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def __iter__(self) -> Iterator[DataMistake]:
        return iter(self._found)

    def add(self, place: Place, message: str) -> None:
        """Note a mistake at `place`."""
        self._found.append(DataMistake(place, message))

    def add_each(
        self, rows: Sequence[int], at: Callable[[int], Place], message: Callable[[int], str]
    ) -> None:
        """Note a mistake for each of `rows`: the first few in full, the number of the others.

        `at` and `message` return place and text for a row.
        """
        for number, row in enumerate(rows[:_SHOWN]):
            left = len(rows) - _SHOWN
            last = number == _SHOWN - 1 and left > 0
            more = f" (and {left:,} more like it)" if last else ""
            self.add(at(row), message(row) + more)

    def extend(self, mistakes: Iterable[DataMistake]) -> None:
        """Add each of `mistakes` to those that were found before."""
        self._found.extend(mistakes)

    def require_none(self) -> None:
        """Raise OwnDataError with all mistakes, if there are any."""
        if self._found:
            raise OwnDataError(self._found)
