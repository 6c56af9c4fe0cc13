"""The limit of open files of a process: engines begin containers with as few as 1,024."""

import resource

WANTED = 65_536
"""Open files that containers are given: a box needs four for each link, a server two a device."""


def raise_limit() -> int:
    """Raise this process's limit of open files to the highest that it may have; return the limit.

    The limit stays as it is where the system refuses a higher one.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        return soft
    return hard
