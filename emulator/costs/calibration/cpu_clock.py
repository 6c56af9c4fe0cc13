"""The CPU time of a child process: from the kernel's clock, or else from the child itself."""

import os
import struct
import subprocess
import time
from collections.abc import Callable
from functools import partial

from ...errors import HostError

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
"""First lines of the child's code. For each byte on standard input the child writes its CPU time to
standard output. The child ends at the end of standard input: the parent has ended."""


def cpu_time(process: int) -> float:
    """Return the CPU seconds of all threads of `process`, to the nanosecond.

    Raises an OSError on systems other than Linux, which have no clock for each process.
    """
    return time.clock_gettime((~process << 3) | 2)  # the clock's number: clock_getcpuclockid(3)


def clock(child: "subprocess.Popen[bytes]") -> Callable[[], float]:
    """Return a function that reads the CPU time of `child`.

    Without a kernel clock the function asks the child. Each answer costs the child CPU time.
    """
    try:
        cpu_time(child.pid)
    except OSError:
        return partial(asked, child)
    return partial(cpu_time, child.pid)


def asked(child: "subprocess.Popen[bytes]") -> float:
    """Ask `child` for its CPU seconds. Raises a HostError if the child has ended."""
    assert child.stdin and child.stdout  # opened as pipes
    try:
        os.write(child.stdin.fileno(), b"?")
        (seconds,) = struct.unpack("d", os.read(child.stdout.fileno(), 8))
    except (OSError, struct.error) as error:
        raise HostError("cannot calibrate: the worker that was to be measured ended") from error
    return float(seconds)
