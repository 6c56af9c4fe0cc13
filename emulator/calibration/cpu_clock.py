"""A child process's CPU time: by the kernel's clock of it, or else as the child itself tells."""

import os
import struct
import subprocess
import time
from collections.abc import Callable
from functools import partial

from ..errors import HostError

CHILD = """
import os, struct, threading, time
channel = os.dup(1)
os.dup2(2, 1)
def answer():
    while os.read(0, 1):
        os.write(channel, struct.pack("d", time.process_time()))
    os._exit(0)
threading.Thread(target=answer, daemon=True).start()
"""
"""The first lines of the child's code. For each byte of its standard input it tells its CPU time
on its standard output; it ends with its standard input, as its parent is gone by then."""


def cpu_time(process: int) -> float:
    """Return the seconds that all threads of `process` have used, to the nanosecond.

    Only Linux has a clock for each process; elsewhere this is an OSError.
    """
    return time.clock_gettime((~process << 3) | 2)  # as clock_getcpuclockid(3) makes its number


def clock(child: "subprocess.Popen[bytes]") -> Callable[[], float]:
    """Return a function that reads the CPU time of `child`, by the kernel's clock where it has one.

    To be asked costs the child some of the time that it tells.
    """
    try:
        cpu_time(child.pid)
    except OSError:
        return partial(asked, child)
    return partial(cpu_time, child.pid)


def asked(child: "subprocess.Popen[bytes]") -> float:
    """Ask `child` for its CPU time; both its pipes must be ours. A HostError if it has ended."""
    assert child.stdin and child.stdout
    try:
        os.write(child.stdin.fileno(), b"?")
        (seconds,) = struct.unpack("d", os.read(child.stdout.fileno(), 8))
    except (OSError, struct.error) as error:
        raise HostError("cannot calibrate: the worker that was to be measured ended") from error
    return float(seconds)
