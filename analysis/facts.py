"""Computes each fact of a run once, however many figures, tables and sentences need it."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from .runs import Run

T = TypeVar("T")


def fact(compute: Callable[[Run], T]) -> Callable[[Run], T]:
    """Let a function of a run compute its value at the first call for each run, and keep it there.

    All callers are given the same object, so none may change it: frames are filtered or assigned
    to into new ones.
    """

    @wraps(compute)
    def known(run: Run) -> T:
        if compute not in run.known:
            run.known[compute] = compute(run)
        value: T = run.known[compute]
        return value

    return known
