"""The kernel's counts of events in which a container ran out of memory."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path("/sys/fs/cgroup")
"""The container's own control group, in version 1 and version 2 of control groups."""

VERSION_1 = Path("memory/memory.oom_control")
VERSION_2 = Path("memory.events")


class Counts(NamedTuple):
    """Counts of events since the container began."""

    kills: int = 0
    """Processes of the container that the kernel killed because the container or the host ran out
    of memory."""
    limits: int | None = None
    """Allocations that the container's own limit refused; None: version 1 has no such count."""

    @classmethod
    def read(cls, root: Path = ROOT) -> "Counts":
        """Read both counts below `root`; without control groups return zeros."""
        events = _values(root / VERSION_2)
        if "oom_kill" in events:
            return cls(events["oom_kill"], events.get("oom", 0))
        return cls(_values(root / VERSION_1).get("oom_kill", 0))


def limit(root: Path = ROOT) -> int | None:
    """Return the container's memory limit in bytes; None without a limit."""
    for file in (root / "memory.max", root / "memory" / "memory.limit_in_bytes"):
        try:
            return int(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # of the other version, or `max`
            continue
    return None


def cause(before: Counts, after: Counts) -> str:
    """Return why a process was killed between two readings.

    `limit`: the memory limit of its container; `host`: the host ran out of memory; `memory`: one of
    these two; empty: the kernel killed no process for lack of memory.
    """
    if after.kills <= before.kills:
        return ""
    if before.limits is None or after.limits is None:
        return "memory"
    return "limit" if after.limits > before.limits else "host"


def _values(file: Path) -> dict[str, int]:
    """Read the lines of `file`, a name and a number in a line; return {} if reading fails."""
    try:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        return {name: int(number) for name, number in lines}
    except (OSError, ValueError):
        return {}
