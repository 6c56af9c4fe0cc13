"""How many entries of each variable an update may hold, given a share of them."""

import fractions
from collections.abc import Iterable

from ..layout import Layout


def check_keep(keep: float) -> None:
    """A ValueError unless it is a share of which something is left."""
    if not 0 < keep <= 1:
        raise ValueError(f"keep is {keep}: write a share above 0% and up to 100%")


def per_variable(keep: float, layout: Layout) -> list[int]:
    """max(1, floor(keep · size)) for each variable."""
    return for_sizes(keep, (stop - start for start, stop in layout.bounds))


def for_sizes(keep: float, sizes: Iterable[int]) -> list[int]:
    """max(1, floor(keep · size)) for each size."""
    # as written, in decimal: in binary 0.07 · 100 rounds up past 7
    share = fractions.Fraction(repr(float(keep)))
    return [max(1, size * share.numerator // share.denominator) for size in sizes]
