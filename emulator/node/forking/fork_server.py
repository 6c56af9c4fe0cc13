"""The fork server: opens TensorFlow once, and forks the first part of each device from itself.

A part that is executed imports its modules and opens TensorFlow's library for itself, which takes
most of its start and of its memory. A fork has both from the beginning, and shares the pages.

Only the conductor gives orders, on standard input; no container can speak to the fork server. It
has one thread, as a fork has no other. It ends when standard input ends, which is when all devices
run: during the run there is no such process.
"""

import gc
import os
import select
import signal
import struct
import sys
from typing import NoReturn

import numpy as np

from ...learning.learners import capi
from .. import config
from ..part.part_process import CONTROL, PART
from .containment import Containment, arrange
from .fork_messages import TRIAL, Fork, ForkedLine, ForkLine, RefusedLine, decode_order, encode
from .kernel_calls import confine, new_keyring, show_command_line

CONTROL_NUMBER, ANSWER_NUMBER = 3, 4
"""Descriptors of a forked part: for its reports, and for its first and only word to its maker."""

ALLOW_ALL = struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
"""Seccomp filter of one instruction, BPF_RET with SECCOMP_RET_ALLOW."""

TRIAL_USER = 65534
"""User of the process that a trial forks."""

NO_ORDER = 7
"""Exit code of a process that was to serve an order, and found the end of the orders."""


def main() -> None:
    """Serve orders until standard input ends; in each fork, be its part."""
    if TRIAL in sys.argv:
        print(trial())
        return
    _open_everything()
    if (order := _serve()) is not None:
        from ..part import role

        sys.argv = [PART, str(order.incarnation)]
        role.main()  # from here on as in a process that was executed


def _open_everything() -> None:
    """Import what a worker imports, and open TensorFlow's library; no thread may begin."""
    from ...core import assembly  # noqa: F401
    from ...learning.datasets import shard  # noqa: F401
    from ...learning.learners import device  # noqa: F401
    from ..part import presser, role, worker_parts  # noqa: F401

    capi.library()
    gc.collect()
    gc.freeze()  # so that no collection in a fork writes to the pages that all share


def _serve() -> Fork | None:
    """Let a child serve each order, one after the other; return None at the end of the orders.

    In the part of an order, return the order. The fork server itself reads none, so that a part
    knows nothing of other devices.
    """
    while True:
        select.select([0], [], [])
        child = os.fork()
        if not child:
            return _serve_one()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == NO_ORDER:
            return None
        if code:  # nobody has answered, so a device would wait for its worker
            sys.exit(f"an order was not served: exit code {code}")


def _serve_one() -> Fork:
    """Serve the next order, say what came of it, and end; in the part, return the order."""
    if not (line := _line()):
        os._exit(NO_ORDER)
    order = decode_order(line)
    answer = forked(order)
    if answer is None:
        return order
    os.write(1, encode(answer) + b"\n")
    os._exit(0)


def _line() -> bytes:
    """Return the next line of standard input, and read nothing behind it."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def forked(order: Fork, user: int | None = None) -> ForkLine | None:
    """Fork the part of `order` into its container; return whether it runs, or why it cannot.

    In the part, return None. `user`: the id of the part's user; None: that of its configuration.
    This process, which must have one thread, is in the container afterwards.
    """
    if len(os.listdir("/proc/self/task")) > 1:
        return RefusedLine(order.node, "the fork server has threads, which no fork would have")
    answer, end = os.pipe()
    try:
        containment = Containment.of(order.pid, order.container)
        inherited = containment.take_descriptors([order.stdin, 2, 2, order.control])
        containment.enter()
        child = os.fork()
    except (OSError, ValueError) as error:
        return RefusedLine(order.node, f"{type(error).__name__}: {error}")
    if not child:
        # A process does not move into a namespace of processes, only its children do. The part is
        # a child of such a child, so that the kernel gives it, as an orphan, to the supervisor.
        if os.fork():
            os._exit(0)
        _become_part(order, containment, [*inherited, end], user)
        return None
    os.close(end)
    os.waitpid(child, 0)
    words = b"".join(iter(lambda: os.read(answer, 1024), b"")).decode(errors="replace")
    if words.isdecimal():
        return ForkedLine(order.node, int(words))
    return RefusedLine(order.node, words or "the fork was killed")


def _become_part(
    order: Fork, containment: Containment, descriptors: list[int], user: int | None
) -> None:
    """Give up all rights, take the `descriptors`, and tell the own process id by the last one."""
    try:
        os.setsid()
        new_keyring()
        np.random.seed()  # every fork would draw the same numbers for a plugin
        show_command_line(["python3", "-m", PART, str(order.incarnation)])
        containment.drop(config.read().user if user is None else user)
        arrange(descriptors)
        os.environ[CONTROL] = str(CONTROL_NUMBER)
    except BaseException as error:
        _refuse(descriptors[-1], f"{type(error).__name__}: {error}")
    os.write(ANSWER_NUMBER, str(os.getpid()).encode())
    os.close(ANSWER_NUMBER)


def _refuse(answer: int, words: str) -> NoReturn:
    """Say why this process is no part, and end it."""
    for descriptor in (answer, ANSWER_NUMBER):
        try:
            os.write(descriptor, words.encode())
            break
        except OSError:
            continue
    os._exit(1)


def trial() -> str:
    """Return why no process can be forked into a container here; empty if it can.

    The container is that of the fork server itself, and its first process a stranger.
    """
    if not (pid := stranger()):
        return "no seccomp filter can be set"
    answer = forked(Fork("trial", pid, "", 0, 2, 0), TRIAL_USER)
    if answer is None:  # this is the fork
        os._exit(0)
    os.kill(pid, signal.SIGKILL)
    return answer.reason if isinstance(answer, RefusedLine) else ""


def stranger() -> int:
    """Return the id of a new process that has a seccomp filter, and is no child of this one; 0 if
    there can be none. It waits for its end."""
    ready, end = os.pipe()
    child = os.fork()
    if not child:
        if os.fork():
            os._exit(0)
        try:
            confine([ALLOW_ALL])
            os.write(end, str(os.getpid()).encode())
            os.close(end)
            signal.pause()
        finally:
            os._exit(1)
    os.close(end)
    os.waitpid(child, 0)
    pid = os.read(ready, 64).decode()
    os.close(ready)
    return int(pid) if pid else 0


if __name__ == "__main__":
    main()
