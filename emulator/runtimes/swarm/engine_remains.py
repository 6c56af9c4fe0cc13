"""Processes, mounts, control groups and sockets of local engines, found from outside and removed.

An engine is never asked: whatever killed it, and whenever, the same things are found by their
places. All of this needs root.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ...errors import HostError
from .engine_network import NAMESPACES

_PATIENCE = 20.0
"""Seconds in which killed processes end, and the kernel gives up what they held."""
_LOOK = 0.02

_PROCESSES = Path("/proc")
_MOUNTS = Path("/proc/self/mountinfo")
_SHIMS = Path("/run/containerd/s")
"""Sockets of containerd's shims, of all engines of the machine."""


def members(namespace: str, group: str) -> Iterator[int]:
    """Yield the processes in the network `namespace`, and those in the control group `group` or
    below it."""
    network = _identity(NAMESPACES / namespace)
    for folder in _PROCESSES.iterdir():
        if folder.name.isdigit() and _is_member(folder, network, group):
            yield int(folder.name)


def _is_member(process: Path, network: tuple[int, int] | None, group: str) -> bool:
    try:
        if network is not None and _identity(process / "ns" / "net") == network:
            return True
        # lines such as "4:memory:/emulate-0badcafe/1/0f3a...", or "0::/..." of version 2
        lines = (process / "cgroup").read_text(encoding="utf-8").splitlines()
        paths = {line.split(":", 2)[2] for line in lines}
        return any(f"{path}/".startswith(f"{group}/") for path in paths) and not _is_dead(process)
    except (OSError, IndexError):  # it ended meanwhile
        return False


def _is_dead(process: Path) -> bool:
    """Return whether `process` has ended, and its parent has not yet asked how."""
    state = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    return state.split()[0] in ("Z", "X")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of the file at `path`; None without a file."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def kill_members(namespace: str, group: str) -> None:
    """Kill all `members`, also those that start while others are killed. Raises HostError if
    some do not end."""
    ends = time.monotonic() + _PATIENCE
    while left := [*members(namespace, group)]:
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > ends:
            raise HostError(f"processes of local engines do not end: {left}")
        time.sleep(_LOOK)


def unmount(folder: Path) -> None:
    """Undo all mounts at `folder` and below it, the innermost first."""
    text = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    places = [_unescaped(line.split()[4]) for line in text.splitlines()]
    below = [place for place in places if Path(place).is_relative_to(folder)]
    if below:  # later mounts may be on top of earlier ones
        called = ["umount", "--lazy", "--no-canonicalize", *reversed(below)]
        done = subprocess.run(called, capture_output=True, text=True, encoding="utf-8")
        if done.returncode:
            raise HostError(f"cannot unmount {folder}: {done.stderr.strip()}")


def _unescaped(place: str) -> str:
    """Return `place`, in which the kernel writes a space as `\\040`, as the path that it is."""
    return place.encode("latin-1", "surrogateescape").decode("unicode_escape")


def remove_shim_sockets(state: Path) -> None:
    """Remove the sockets of the shims whose bundles are below `state`, a folder of containerd."""
    for address in state.glob("io.containerd.runtime.v*/*/*/address"):
        with suppress(OSError):
            socket = Path(address.read_text(encoding="utf-8").removeprefix("unix://"))
            if socket.parent == _SHIMS:
                socket.unlink()


def remove_groups(group: str) -> None:
    """Remove the control group `group` with the groups below it, in each hierarchy.

    Raises HostError if the kernel keeps one.
    """
    ends = time.monotonic() + _PATIENCE
    while left := [each for each in _groups(group) if not _removed(each)]:
        if time.monotonic() > ends:
            raise HostError(f"control groups of local engines cannot be removed: {left}")
        time.sleep(_LOOK)


def _groups(group: str) -> Iterator[Path]:
    """Yield the folders of `group` and below it, in every hierarchy, the innermost first."""
    for line in _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        fields = line.split()
        if " - cgroup" in line:
            top = Path(fields[4]) / group.lstrip("/")
            for folder, _, _ in os.walk(top, topdown=False):
                yield Path(folder)


def _removed(group: Path) -> bool:
    """Remove the empty control group `group`; return whether it is gone."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # killed processes hold it a moment longer
        return False
    return True
