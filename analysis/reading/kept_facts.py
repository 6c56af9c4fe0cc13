"""A cache for the facts of a run, which figures and tables share."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from .runs import Run

T = TypeVar("T")


def fact(compute: Callable[[Run], T]) -> Callable[[Run], T]:
    """Decorate `compute`, a function of a run, to keep its value in the run after the first call.

    All callers get the same object and must not change it: they filter a frame into a new frame.
    """

    @wraps(compute)
    def known(run: Run) -> T:
        if compute not in run.known:
            run.known[compute] = compute(run)
        value: T = run.known[compute]
        return value

    return known
