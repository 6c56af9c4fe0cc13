"""The fork server: opens TensorFlow once, and forks the first part of each device from itself.

A part that is executed imports its modules and opens TensorFlow's library for itself, which takes
most of its start and of its memory. A fork has both from the beginning, and shares the pages.

Only the conductor gives orders, on standard input; no container can speak to the fork server. It
has one thread, as a fork has no other. It ends when standard input ends, which is when all devices
run: during the run there is no such process.
"""

import gc
import os
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from ...learning.learners import capi
from .. import config
from ..orders import LineReader
from ..part.part_process import CONTROL, PART
from .containment import Containment, arrange, take_descriptors
from .fork_messages import TRIAL, Fork, ForkedLine, ForkLine, RefusedLine, decode_order, encode
from .kernel_calls import confine, filters_of, show_command_line

CONTROL_NUMBER = 3
"""Descriptor of a forked part for its reports."""

ALLOW_ALL = struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
"""Seccomp filter of one instruction, BPF_RET with SECCOMP_RET_ALLOW."""

TRIAL_USER = 65534
"""User of the process that a trial forks."""


def main() -> None:
    """Serve orders until standard input ends."""
    if TRIAL in sys.argv:
        print(trial())
        return
    _open_everything()
    server, lines = ForkServer(lambda: config.read().user, _part), LineReader(0)
    while (orders := lines.read()) is not None:
        for line in orders:
            _say(server.serve(decode_order(line)))


def _open_everything() -> None:
    """Import what a worker imports, and open TensorFlow's library; no thread may begin."""
    from ...core import assembly  # noqa: F401
    from ...learning.datasets import shard  # noqa: F401
    from ...learning.learners import device  # noqa: F401
    from ..part import presser, role, worker_parts  # noqa: F401

    capi.library()
    gc.collect()
    gc.freeze()  # so that no collection in a fork writes to the pages that all share


def trial() -> str:
    """Return why no process can be forked into a container here; empty if it can.

    The container is that of the fork server itself.
    """
    ready, end = os.pipe()
    stranger = os.fork()
    if not stranger:
        confine([ALLOW_ALL])
        os.write(end, b"1")
        signal.pause()
    try:
        os.read(ready, 1)
        answer = ForkServer(lambda: TRIAL_USER, lambda: 0).serve(
            Fork("trial", stranger, "", 0, 2, 0)
        )
    finally:
        os.kill(stranger, signal.SIGKILL)
        os.waitpid(stranger, 0)
    return answer.reason if isinstance(answer, RefusedLine) else ""


class ForkServer:
    """Forks parts into their containers."""

    def __init__(self, user: Callable[[], int], part: Callable[[], int]) -> None:
        """`user` returns the id of the part's user, in its container; `part` is its work, and
        returns its exit code."""
        self._user, self._part = user, part
        self._filters: list[bytes] | None = None
        """Seccomp filters of a container; the engine gives the same ones to all devices."""

    def serve(self, order: Fork) -> ForkLine:
        """Fork the part of `order`; return whether it runs, or why it cannot."""
        try:
            containment = Containment.of(order.pid, order.container)
            try:
                if self._filters is None:
                    self._filters = filters_of(order.pid)
                return self._forked(order, containment, self._filters)
            finally:
                os.close(containment.process)
        except (OSError, ValueError) as error:
            return RefusedLine(order.node, str(error))

    def _forked(self, order: Fork, containment: Containment, filters: Sequence[bytes]) -> ForkLine:
        if len(os.listdir("/proc/self/task")) > 1:
            return RefusedLine(order.node, "the fork server has threads, which no fork would have")
        answer, end = os.pipe()
        try:
            child = os.fork()
            if not child:
                self._enter_and_fork(order, containment, filters, end)
            os.close(end)
            os.waitpid(child, 0)
            with os.fdopen(answer, "rb", closefd=False) as pipe:
                words = pipe.read().decode(errors="replace")
        finally:
            os.close(answer)
        if words.isdecimal():
            return ForkedLine(order.node, int(words))
        return RefusedLine(order.node, words or "a fork ended without a word")

    def _enter_and_fork(
        self, order: Fork, containment: Containment, filters: Sequence[bytes], answer: int
    ) -> NoReturn:
        """Go into the container and fork the part there, as a child of its first process.

        A process does not move into a namespace of processes, only its children do. The part is a
        child of such a child, so that the kernel gives it to the supervisor, as any orphan there.
        """
        try:
            inherited = take_descriptors(containment.process, [order.stdin, 2, 2, order.control])
            containment.enter()
            if os.fork():
                os.wait()
            elif not os.fork():
                os.setsid()
                containment.drop(self._user(), filters)
                os.write(answer, str(os.getpid()).encode())
                arrange(inherited)
                os.environ[CONTROL] = str(CONTROL_NUMBER)
                show_command_line(["python3", "-m", PART, str(order.incarnation)])
                sys.argv = [PART, str(order.incarnation)]
                os._exit(self._part())
        except BaseException as error:
            os.write(answer, f"{type(error).__name__}: {error}".encode())
        os._exit(0)


def _part() -> int:
    """Run the part; return its exit code, as the interpreter would."""
    from ..part import role

    code = 0
    try:
        role.main()
    except SystemExit as ending:
        if isinstance(ending.code, int | None):
            code = ending.code or 0
        else:
            print(ending.code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _say(line: ForkLine) -> None:
    os.write(1, encode(line) + b"\n")


if __name__ == "__main__":
    main()
