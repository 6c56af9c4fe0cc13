"""What contains a container's first process, taken on by another process.

A worker that is forked elsewhere enters the control groups, namespaces and limits of its container,
and gives up every right that its supervisor's child would not have. What `runc` and the supervisor
do for a worker that is executed is done here once more, so the two must be equal in every field of
/proc that tells rights: `tests/containers/test_forked_workers.py` compares them.
"""

import os
import resource
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

LIMITS = tuple(sorted({getattr(resource, name) for name in dir(resource) if "RLIMIT" in name}))


@dataclass(frozen=True)
class Containment:
    """What a process has by its container, read from outside."""

    pid: int
    """The container's first process, as the host counts."""
    process: int
    """Its pidfd."""
    groups: Sequence[Path]
    """Files that move a process into its control groups."""
    limits: Sequence[tuple[int, int]]
    """Soft and hard limits in the order of `LIMITS`."""
    environment: dict[bytes, bytes]
    bounding: int
    inheritable: int
    """Capabilities, as sets of bits."""
    umask: int
    profile: str
    """Profile of AppArmor; empty without one."""

    @classmethod
    def of(cls, pid: int, container: str) -> "Containment":
        """Read what contains the process `pid` in the container with the id `container`.

        Raises OSError, and ValueError if the process is in another container.
        """
        files = Path(f"/proc/{pid}")
        process = os.pidfd_open(pid)
        if container not in (groups := (files / "cgroup").read_text(encoding="utf-8")):
            os.close(process)
            raise ValueError(f"process {pid} is not in container {container}")
        status = dict(
            line.split(":\t", 1)
            for line in (files / "status").read_text(encoding="utf-8").splitlines()
        )
        return cls(
            pid,
            process,
            list(_group_files(groups)),
            [resource.prlimit(pid, limit) for limit in LIMITS],
            _environment((files / "environ").read_bytes()),
            int(status["CapBnd"], 16),
            int(status["CapInh"], 16),
            int(status["Umask"], 8),
            _profile(files / "attr/current"),
        )

    def enter(self) -> None:
        """Move this process, which must have one thread, into control groups and namespaces.

        Only its children are in the namespace of processes.
        """
        for file in self.groups:
            file.write_text("0", encoding="ascii")
        for limit, pair in zip(LIMITS, self.limits, strict=True):
            resource.setrlimit(limit, pair)
        enter(self.process, KINDS)
        os.umask(self.umask)
        os.environb.update(self.environment)

    def drop(self, user: int, filters: Iterable[bytes]) -> None:
        """Become `user`, with no capability, and with profile and seccomp `filters` in force."""
        if self.profile:
            order = f"changeprofile {self.profile}"
            Path("/proc/self/attr/current").write_text(order, encoding="ascii")
        limit_capabilities(self.bounding, self.inheritable)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        be_readable()
        confine(filters)


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


def _profile(file: Path) -> str:
    """Return the name of the AppArmor profile in `file`, which a kernel without AppArmor lacks."""
    try:
        name = file.read_text(encoding="utf-8").rstrip("\0\n").removesuffix(" (enforce)")
    except OSError:
        return ""
    return "" if name == "unconfined" else name


def _environment(content: bytes) -> dict[bytes, bytes]:
    entries = (entry.split(b"=", 1) for entry in content.split(b"\0") if b"=" in entry)
    return dict(entries)


def take_descriptors(process: int, numbers: Sequence[int]) -> list[int]:
    """Return copies of the descriptors `numbers` of the pidfd `process`."""
    return [descriptor_of(process, number) for number in numbers]


def arrange(descriptors: Sequence[int]) -> None:
    """Make `descriptors` the process' first ones, from 0 on, and close all others."""
    high = [os.dup2(each, 100 + place) for place, each in enumerate(descriptors)]
    for place, each in enumerate(high):
        os.dup2(each, place, inheritable=True)
    close_from(len(high))
    reset_signals()
