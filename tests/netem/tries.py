"""Assertions about a machine's random numbers, which a few honest machines in a hundred fail.

The random numbers of netem have no seed. A test that fails asks a second machine, with random
numbers of its own; what is wrong fails on both.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Tries(Generic[T]):
    """What machines of one script measured; each is booted when a test first asks for it."""

    def __init__(self, boot: Callable[[], T]) -> None:
        self._boot = boot
        self._measured: list[T] = []

    def measured(self, number: int) -> T:
        """Return what machine `number` measured, from 0."""
        while len(self._measured) <= number:
            self._measured.append(self._boot())
        return self._measured[number]


def tried_twice(test: Callable[..., None]) -> Callable[..., None]:
    """Call `test` with what the first machine measured, and if it fails, the second one.

    Of its fixtures, the one that is a `Tries` is replaced by the measurements.
    """

    @wraps(test)
    def tried(**fixtures: Any) -> None:
        try:
            test(**_on_machine(0, fixtures))
        except AssertionError as error:
            print(f"the first machine: {error}")
            test(**_on_machine(1, fixtures))

    return tried


def _on_machine(number: int, fixtures: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.measured(number) if isinstance(value, Tries) else value
        for name, value in fixtures.items()
    }
