"""Threads that the kernel runs as soon as they have work, however busy the host is."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PRIORITY = 1
"""The lowest of the real-time priorities."""


@contextmanager
def punctual() -> Iterator[None]:
    """Have the kernel run this thread before all usual ones, as long as the block lasts, and the
    threads that the block starts, which share the interpreter's lock with it.

    For work that is little and must not be late: beside containers that exchange thousands of
    messages a second, Linux 6.18 was seen to leave a usual thread without a core for more than ten
    seconds. Where the kernel refuses a real-time priority, as to a user without CAP_SYS_NICE,
    nothing changes.
    """
    before = _scheduling()
    try:
        yield
    finally:
        if before is not None:
            with suppress(OSError):
                os.sched_setscheduler(0, before, os.sched_param(0))


def _scheduling() -> int | None:
    """Give the calling thread a real-time priority; return the policy that it had.

    Return None if nothing was changed.
    """
    if not hasattr(os, "sched_setscheduler"):  # not on macOS
        return None
    try:
        before = os.sched_getscheduler(0)
        if before in (os.SCHED_FIFO, os.SCHED_RR):  # somebody has made it punctual already
            return None
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
    except OSError:
        return None
    return before
