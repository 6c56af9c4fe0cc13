"""Calls of Linux that Python 3.11 lacks: namespaces, descriptors, seccomp, capabilities."""

import ctypes
import errno
import os
import platform
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import IntFlag
from functools import cache
from pathlib import Path
from typing import Any

_PIDFD_GETFD, _CLOSE_RANGE = 438, 436
"""Numbers of system calls, the same on all architectures."""
_SEIZE, _INTERRUPT, _DETACH, _GET_FILTER = 0x4206, 0x4207, 17, 0x420C
_SET_DUMPABLE, _CAPBSET_DROP, _NO_NEW_PRIVILEGES, _AMBIENT = 4, 24, 38, 47
_AMBIENT_CLEAR, _JOIN_KEYRING, _SET_FILTER, _SPECULATES = 4, 1, 1, 4
_SECCOMP, _KEYCTL = {"x86_64": 317, "aarch64": 277}, {"x86_64": 250, "aarch64": 219}
"""Numbers of system calls by machine."""
_WALL = 0x40000000
_CAPABILITY_VERSION = 0x20080522
_ARGUMENTS = 45
"""Place of the address of the command line among the numbers of `/proc/PID/stat` behind the name,
and before that of its end."""


class Namespaces(IntFlag):
    """Kinds of namespaces, as `setns` counts them."""

    MOUNTS = 0x20000
    CGROUPS = 0x2000000
    NAMES = 0x4000000
    IPC = 0x8000000
    PROCESSES = 0x20000000
    NETWORK = 0x40000000


@cache
def _libc() -> Any:
    opened = ctypes.CDLL(None, use_errno=True)
    opened.syscall.restype = opened.ptrace.restype = ctypes.c_long
    opened.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    return opened


def _call(name: str, *arguments: object) -> int:
    result: int = getattr(_libc(), name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def enter(process: int, kinds: Namespaces) -> None:
    """Move this process, which must have one thread, into namespaces of the pidfd `process`.

    Its children are the first to be in the namespace of processes.
    """
    _call("setns", process, int(kinds))


def descriptor_of(process: int, number: int) -> int:
    """Return a copy of the descriptor `number` of the pidfd `process`."""
    return _call("syscall", _PIDFD_GETFD, process, number, 0)


def close_from(first: int) -> None:
    """Close all descriptors from `first` on."""
    _call("syscall", _CLOSE_RANGE, first, ~0 & 0xFFFFFFFF, 0)


def filters_of(pid: int) -> list[bytes]:
    """Return the seccomp filters of the process `pid`, the oldest first, as BPF programs.

    The process stands still for a moment. Raises OSError without CAP_SYS_ADMIN, under a filter of
    one's own, and if the kernel cannot tell.
    """
    _call("ptrace", _SEIZE, pid, None, None)
    try:
        _call("ptrace", _INTERRUPT, pid, None, None)
        os.waitpid(pid, _WALL)
        found: list[bytes] = []
        while (program := _filter_of(pid, len(found))) is not None:
            found.append(program)
        return found
    finally:
        _libc().ptrace(_DETACH, pid, None, None)


def _filter_of(pid: int, number: int) -> bytes | None:
    try:
        length = _call("ptrace", _GET_FILTER, pid, number, None)
    except FileNotFoundError:  # there are fewer
        return None
    program = ctypes.create_string_buffer(8 * length)
    _call("ptrace", _GET_FILTER, pid, number, program)
    return program.raw


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine(filters: Iterable[bytes], *, mitigated: bool = False) -> None:
    """Forbid this process to gain privileges, and put the seccomp `filters` into force.

    `mitigated`: whether it then runs without speculation, which costs it time.
    """
    _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    for program in filters:
        filled = ctypes.byref(_Program(len(program) // 8, program))
        flags = 0 if mitigated else _SPECULATES
        _call("syscall", _number(_SECCOMP), _SET_FILTER, flags, filled)


def new_keyring() -> None:
    """Give this process a session keyring of its own, on a kernel that has keyrings."""
    with suppress(OSError):
        _call("syscall", _number(_KEYCTL), _JOIN_KEYRING, None)


def _number(numbers: dict[str, int]) -> int:
    """Return this machine's number of a system call."""
    machine = platform.machine()
    if machine not in numbers:
        raise OSError(errno.ENOSYS, f"the system calls of {machine} are unknown")
    return numbers[machine]


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def limit_capabilities(bounding: int, inheritable: int) -> None:
    """Take all capabilities but `bounding` from this process' bounding set, and set those that it
    hands on to `inheritable`; both are sets of bits.
    """
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text(encoding="ascii"))
    for number in range(last + 1):
        if not bounding >> number & 1:
            _call("prctl", _CAPBSET_DROP, number, 0, 0, 0)
    _call("prctl", _AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    header, held = _Header(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    _call("capget", ctypes.byref(header), held)
    held[2], held[5] = inheritable & 0xFFFFFFFF, inheritable >> 32
    _call("capset", ctypes.byref(header), held)


def show_command_line(words: Sequence[str]) -> None:
    """Let `ps` show `words` as this process' command line, cut to the length of the present one."""
    numbers = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    begin, end = int(numbers[_ARGUMENTS]), int(numbers[_ARGUMENTS + 1])
    text = b"".join(word.encode() + b"\0" for word in words)
    ctypes.memmove(begin, text[: end - begin - 1].ljust(end - begin, b"\0"), end - begin)


def be_readable() -> None:
    """Let this process, which has changed its user, read its own files in /proc."""
    _call("prctl", _SET_DUMPABLE, 1, 0, 0, 0)


def reset_signals() -> None:
    """Give all signals the handlers and the mask of a process that was executed."""
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python begins
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
