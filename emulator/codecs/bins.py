"""A vector cut into bins of equal length, of which the last may be short."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray


def rows(vector: NDArray[Any], length: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Which bins, and their entries as the rows of a view: all the whole ones, then the short."""
    whole, rest = divmod(vector.size, length)
    if whole:
        yield slice(0, whole), vector[: whole * length].reshape(whole, length)
    if rest:
        yield slice(whole, whole + 1), vector[whole * length :].reshape(1, rest)


def count(size: int, length: int) -> int:
    """How many bins there are."""
    return -(-size // length)
