"""The limit of open files of a process.

Systems and engines begin processes with as few as 1,024, and let them raise that to a higher limit.
A box needs four files for each link, a server two for each device, and a conductor three for each
node.
"""

import resource


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
