"""The processor time of a container, by its own control group."""

from pathlib import Path

from ..part.memory import ROOT

VERSION_2, PRESSURE = Path("cpu.stat"), Path("cpu.pressure")
VERSION_1 = Path("cpu/cpu.stat"), Path("cpuacct/cpuacct.usage")


def cpu_use(root: Path = ROOT) -> list[float] | None:
    """Return the processor time of the container, its waiting time at its quota, and the time in
    which any of its processes waited for a core, at the quota or beside it, in seconds.

    None without control groups. Version 1 and version 2 of them are read; the last number is left
    out where the kernel does not tell, as in version 1.
    """
    try:
        stat = _values(root / VERSION_2)
        if "usage_usec" in stat:
            use = [stat["usage_usec"] / 1e6, stat.get("throttled_usec", 0) / 1e6]
            return use + _pressure(root / PRESSURE)
        waited, used = (root / file for file in VERSION_1)
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
    if not file.is_file():
        return {}
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) == 2}
