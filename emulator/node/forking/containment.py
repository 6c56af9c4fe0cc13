"""What contains a container's first process, taken on by another process.

A worker that is forked elsewhere enters the control groups, namespaces and limits of its container,
and gives up every right that its supervisor's child would not have. What `runc` and the supervisor
do for a worker that is executed is done here once more, so the two must be equal in every field of
/proc that tells rights: `tests/containers/test_forked_workers.py` compares them.
"""

import os
import resource
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .kernel_calls import (
    Namespaces,
    be_readable,
    close_from,
    confine,
    descriptor_of,
    enter,
    filters_of,
    limit_capabilities,
    reset_signals,
)

GROUPS = Path("/host-cgroup")
"""The host's control groups in the fork server's container."""

KINDS = (
    Namespaces.MOUNTS
    | Namespaces.CGROUPS
    | Namespaces.NAMES
    | Namespaces.IPC
    | Namespaces.PROCESSES
    | Namespaces.NETWORK
)

_FILTERED = "2"
"""Value of the field `Seccomp` of a process with filters."""
_SPECULATION, _MITIGATED = "Speculation_Store_Bypass", "mitigated"

LIMITS = tuple(sorted({getattr(resource, name) for name in dir(resource) if "RLIMIT" in name}))


@dataclass(frozen=True)
class Containment:
    """What a process has by its container, read from outside."""

    process: int
    """A pidfd of the container's first process."""
    groups: str
    """Its control groups, as in `/proc/PID/cgroup`."""
    label: str
    """Its label of a security module; empty without one."""
    limits: Sequence[tuple[int, int]]
    """Soft and hard limits in the order of `LIMITS`."""
    environment: dict[bytes, bytes]
    status: dict[str, str]
    """The fields of `/proc/PID/status`."""
    filters: Sequence[bytes]
    """Seccomp filters, the oldest first."""

    @classmethod
    def of(cls, pid: int, container: str) -> "Containment":
        """Read what contains the process `pid` in the container with the id `container`.

        Raises OSError, and ValueError if the process is in another container.
        """
        files = Path(f"/proc/{pid}")
        process = os.pidfd_open(pid)
        groups = (files / "cgroup").read_text(encoding="utf-8")
        if container not in groups:
            raise ValueError(f"process {pid} is not in container {container}")
        lines = (files / "status").read_text(encoding="utf-8").splitlines()
        status = dict(line.split(":\t", 1) for line in lines)
        found = cls(
            process,
            groups,
            _label(files),
            [resource.prlimit(pid, limit) for limit in LIMITS],
            _environment((files / "environ").read_bytes()),
            status,
            filters_of(pid) if status["Seccomp"] == _FILTERED else (),
        )
        signal.pidfd_send_signal(process, 0)  # raises if it has ended, and its number is another's
        return found

    def take_descriptors(self, numbers: Sequence[int]) -> list[int]:
        """Return copies of the process' descriptors `numbers`."""
        return [descriptor_of(self.process, number) for number in numbers]

    def enter(self) -> None:
        """Move this process, which must have one thread, into control groups and namespaces.

        Only its children are in the namespace of processes. Raises OSError, and ValueError if this
        process is not where the other one is.
        """
        for file in _group_files(self.groups):
            file.write_text("0", encoding="ascii")
        here = Path("/proc/self")
        if (here / "cgroup").read_text(encoding="utf-8") != self.groups:
            raise ValueError("a control group of the container cannot be entered")
        if _label(here) != self.label:
            raise ValueError(f"the container has the security label {self.label!r}")
        for limit, pair in zip(LIMITS, self.limits, strict=True):
            resource.setrlimit(limit, pair)
        enter(self.process, KINDS)
        os.umask(int(self.status["Umask"], 8))
        os.environb.update(self.environment)

    def drop(self, user: int) -> None:
        """Become `user`, with no capability, and with the seccomp filters in force."""
        limit_capabilities(int(self.status["CapBnd"], 16), int(self.status["CapInh"], 16))
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        be_readable()
        confine(self.filters, mitigated=_MITIGATED in self.status.get(_SPECULATION, ""))


def _group_files(text: str) -> Iterable[Path]:
    """Yield the file of each control group in `text`, the content of a `/proc/PID/cgroup`."""
    for line in text.splitlines():
        number, controllers, path = line.split(":", 2)
        if number != "0":
            folder = GROUPS / controllers.removeprefix("name=")
        else:  # version 2: alone, or beside version 1
            folder = GROUPS / "unified" if (GROUPS / "unified").is_dir() else GROUPS
            if not (folder / "cgroup.procs").is_file():
                continue
        yield folder / path.lstrip("/") / "cgroup.procs"


def _label(process: Path) -> str:
    try:
        return (process / "attr/current").read_text(encoding="utf-8")
    except OSError:  # no security module has labels
        return ""


def _environment(content: bytes) -> dict[bytes, bytes]:
    entries = (entry.split(b"=", 1) for entry in content.split(b"\0") if b"=" in entry)
    return dict(entries)


def arrange(descriptors: Sequence[int]) -> None:
    """Make `descriptors` the process' first ones, from 0 on, and close all others."""
    high = [os.dup2(each, 100 + place) for place, each in enumerate(descriptors)]
    for place, each in enumerate(high):
        os.dup2(each, place, inheritable=True)
    close_from(len(high))
    reset_signals()
