"""Bins: runs of equal length in a vector, the last of which may be short."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray


def rows(vector: NDArray[Any], length: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield pairs of a slice of bin numbers and a view [bins, entries] of their entries.

    The whole bins come first, as one view; then the short bin, if any.
    """
    whole, remainder = divmod(vector.size, length)
    if whole:
        yield slice(0, whole), vector[: whole * length].reshape(whole, length)
    if remainder:
        yield slice(whole, whole + 1), vector[whole * length :].reshape(1, remainder)


def count(size: int, length: int) -> int:
    """Return the number of bins of `length` in a vector of `size` entries."""
    return -(-size // length)
