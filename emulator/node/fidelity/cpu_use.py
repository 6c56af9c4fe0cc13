"""The processor time of a container, by its own control group."""

from pathlib import Path

from ..memory import ROOT

VERSION_2 = Path("cpu.stat")
VERSION_1 = Path("cpu/cpu.stat"), Path("cpuacct/cpuacct.usage")


def cpu_use(root: Path = ROOT) -> list[float] | None:
    """Return the processor time of the container and its waiting time at its quota, in seconds.

    None without control groups. Version 1 and version 2 of them are read.
    """
    try:
        stat = _values(root / VERSION_2)
        if "usage_usec" in stat:
            return [stat["usage_usec"] / 1e6, stat.get("throttled_usec", 0) / 1e6]
        waited, used = (root / file for file in VERSION_1)
        return [int(used.read_text()) / 1e9, _values(waited).get("throttled_time", 0) / 1e9]
    except (OSError, ValueError):
        return None


def _values(file: Path) -> dict[str, int]:
    if not file.is_file():
        return {}
    lines = (line.split() for line in file.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) == 2}
