"""The kernel's counts of a container's want of memory: limits reached, and processes killed."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path("/sys/fs/cgroup")
"""Where a container finds its own control group, in version 1 and in version 2 of them."""

VERSION_1 = Path("memory/memory.oom_control")
VERSION_2 = Path("memory.events")


class Counts(NamedTuple):
    """Counts since the container began."""

    kills: int = 0
    """Processes of the container that the kernel killed for want of memory, whosever it was."""
    limits: int | None = None
    """Times that the container's own limit refused it memory; None: version 1 does not tell."""

    @classmethod
    def read(cls, root: Path = ROOT) -> "Counts":
        """Read both counts; without control groups nothing is counted."""
        events = _values(root / VERSION_2)
        if "oom_kill" in events:
            return cls(events["oom_kill"], events.get("oom", 0))
        return cls(_values(root / VERSION_1).get("oom_kill", 0))


def cause(before: Counts, after: Counts) -> str:
    """Return why a process was killed between two readings.

    `limit`: its container's memory limit; `host`: the host ran out of memory; `memory`: one of the
    two; empty: the kernel killed nothing for want of memory.
    """
    if after.kills <= before.kills:
        return ""
    if before.limits is None or after.limits is None:
        return "memory"
    return "limit" if after.limits > before.limits else "host"


def _values(file: Path) -> dict[str, int]:
    """Read lines of a name and a number; none of a file that is missing."""
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
        return {name: int(number) for name, number in lines}
    except (OSError, ValueError):
        return {}
