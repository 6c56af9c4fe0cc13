"""Numbers of entries that an update may hold, from a share of a variable's entries."""

import fractions
from collections.abc import Iterable
from typing import Annotated, TypeAlias

from ..layout import Layout
from ..units import Checked, Fraction


def check_keep(keep: float) -> None:
    """Raise ValueError unless `keep` is above 0 and at most 1."""
    if not 0 < keep <= 1:
        raise ValueError(f"keep is {keep}: write a share above 0% and up to 100%")


Keep: TypeAlias = Annotated[Fraction, Checked(check_keep)]
"""Share of the entries that a codec keeps."""


def per_variable(keep: float, layout: Layout) -> list[int]:
    """Return max(1, floor(keep · size)) for each variable of `layout`."""
    return for_sizes(keep, (stop - start for start, stop in layout.bounds))


def for_sizes(keep: float, sizes: Iterable[int]) -> list[int]:
    """Return max(1, floor(keep · size)) for each of `sizes` (rounding as in Hardy et al., 2017)."""
    # exact arithmetic on the decimal as written: in binary 0.29 · 100 is below 29
    share = fractions.Fraction(repr(float(keep)))
    return [max(1, size * share.numerator // share.denominator) for size in sizes]
