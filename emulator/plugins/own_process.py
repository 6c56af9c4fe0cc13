"""Processes of their own, in which functions of users' Python files run.

Such a process may print, and end as the file likes. The process that began it reads the answer from
a stream of which the file does not know.
"""

import os
import signal
from typing import TextIO


def begin() -> TextIO:
    """Return the stream to the process that began this one, and keep the user's code off it.

    From then on, what this process and its children print goes to standard error. An interrupt
    ends this process at once, so that each KeyboardInterrupt is raised by the user's code.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def is_own() -> bool:
    """Return whether this process has called `begin`, hence runs a user's code alone."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_DFL


def ending(status: int) -> str:
    """Return the end of a process with exit `status`, negative for a signal, in words."""
    if status >= 0:
        return f"ended with exit status {status}"
    name = signal.Signals(-status).name
    short = ", as the kernel does when memory is short" if name == "SIGKILL" else ""
    return f"was ended by {name}{short}"
