"""The control group of a container: its memory and processor time, limited and used."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path("/sys/fs/cgroup")
"""The container's own control group, in version 1 and version 2 of control groups."""

_MEMORY_1, _MEMORY_2 = Path("memory/memory.oom_control"), Path("memory.events")
_CPU_1, _CPU_2 = (Path("cpu/cpu.stat"), Path("cpuacct/cpuacct.usage")), Path("cpu.stat")
_PRESSURE = Path("cpu.pressure")

# -- memory ----------------------------------------------------------------------------------------


class MemoryCounts(NamedTuple):
    """Counts of events, since the container began, in which it ran out of memory."""

    kills: int = 0
    """Processes of the container that the kernel killed because the container or the host ran out
    of memory."""
    limits: int | None = None
    """Allocations that the container's own limit refused; None: version 1 has no such count."""

    @classmethod
    def read(cls, root: Path = ROOT) -> "MemoryCounts":
        """Read both counts below `root`; without control groups return zeros."""
        events = _values(root / _MEMORY_2)
        if "oom_kill" in events:
            return cls(events["oom_kill"], events.get("oom", 0))
        return cls(_values(root / _MEMORY_1).get("oom_kill", 0))


def memory_limit(root: Path = ROOT) -> int | None:
    """Return the container's memory limit in bytes; None without a limit."""
    for file in (root / "memory.max", root / "memory" / "memory.limit_in_bytes"):
        try:
            return int(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # of the other version, or `max`
            continue
    return None


def memory_cause(before: MemoryCounts, after: MemoryCounts) -> str:
    """Return why a process was killed between two readings.

    `limit`: the memory limit of its container; `host`: the host ran out of memory; `memory`: one of
    these two; empty: the kernel killed no process for lack of memory.
    """
    if after.kills <= before.kills:
        return ""
    if before.limits is None or after.limits is None:
        return "memory"
    return "limit" if after.limits > before.limits else "host"


# -- processor time --------------------------------------------------------------------------------


def cpu_quota(root: Path = ROOT) -> float | None:
    """Return the cores that the control group below `root` allows; None without a quota."""
    try:
        if (root / "cpu.max").is_file():
            share, period = (root / "cpu.max").read_text(encoding="utf-8").split()
        else:
            share = (root / "cpu/cpu.cfs_quota_us").read_text(encoding="utf-8")
            period = (root / "cpu/cpu.cfs_period_us").read_text(encoding="utf-8")
        cores = int(share) / int(period)  # `max` in version 2, and -1 in version 1: no quota
    except (OSError, ValueError):
        return None
    return cores if cores > 0 else None


def cpu_use(root: Path = ROOT) -> list[float] | None:
    """Return the processor time of the container, its waiting time at its quota, and the time in
    which any of its processes waited for a core, at the quota or beside it, in seconds.

    None without control groups. Version 1 and version 2 of them are read; the last number is left
    out where the kernel does not tell, as in version 1.
    """
    try:
        stat = _values(root / _CPU_2)
        if "usage_usec" in stat:
            use = [stat["usage_usec"] / 1e6, stat.get("throttled_usec", 0) / 1e6]
            return use + _pressure(root / _PRESSURE)
        waited, used = (root / file for file in _CPU_1)
        return [
            int(used.read_text(encoding="utf-8")) / 1e9,
            _values(waited).get("throttled_time", 0) / 1e9,
        ]
    except (OSError, ValueError):
        return None


def _pressure(file: Path) -> list[float]:
    """Return the seconds of pressure in `file`, of the line `some`; empty where there is none."""
    try:
        # first line: some avg10=0.00 avg60=0.00 avg300=0.00 total=196118687 (microseconds)
        return [
            int(file.read_text(encoding="utf-8").split("\n", 1)[0].rpartition("total=")[2]) / 1e6
        ]
    except (OSError, ValueError):  # a kernel without PSI, or with psi=0: the file cannot be read
        return []


def _values(file: Path) -> dict[str, int]:
    """Read the lines of `file` with a name and a number; return {} if reading fails."""
    try:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        return {words[0]: int(words[1]) for words in lines if len(words) == 2}
    except (OSError, ValueError):
        return {}
