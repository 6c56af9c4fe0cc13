"""This machine: cores, memory, and load."""

import os
import platform
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STAT = Path("/proc/stat")
MEMORY = Path("/proc/meminfo")
PRESSURE = Path("/proc/pressure/cpu")
"""Pressure stall information of the kernel, which not every kernel has."""

LOAD_SAMPLING = 1.0
"""Seconds between two samples of the load."""


@dataclass(frozen=True)
class Host:
    """Capacity of this machine, an upper bound for fleets."""

    name: str
    cores: int
    memory: int
    """Installed memory in bytes."""
    available: int
    """Memory in bytes that is free or can be freed; `memory` where the system does not tell."""
    kernel: str

    @classmethod
    def here(cls) -> "Host":
        """Return the numbers of this machine."""
        memory, available = _memory()
        return cls(
            name=platform.node(),
            cores=cores(),
            memory=memory,
            available=available,
            kernel=platform.release(),
        )

    def plain(self) -> Mapping[str, Any]:
        """Return the numbers that the log keeps, as JSON-compatible values."""
        return {"name": self.name, "cores": self.cores, "memory": self.memory}


def lacks_containers() -> str:
    """Return why no container can be played on this system; empty on Linux."""
    system = platform.system()
    if system == "Linux":
        return ""
    return f"containers need Linux, and this is {system}: play the scenario with --on virtual"


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> tuple[int, int]:
    """Return the bytes of memory installed and available."""
    try:
        lines = [line.split() for line in MEMORY.read_text(encoding="utf-8").splitlines()]
    except OSError:  # not Linux: POSIX tells the installed memory, but not the free memory
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return installed, installed
    # lines such as "MemTotal:  16314168 kB"
    sizes = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) >= 2}
    return sizes["MemTotal"], sizes["MemAvailable"]


class Samples:
    """Samples of a host's load, one for each second."""

    def __init__(self) -> None:
        self.busy: list[float] = []
        """Share of all cores in use."""
        self.pressure: list[float | None] = []
        """For each number in `busy`, the share of the time in which a process waited for a core;
        None where the kernel does not tell."""


class Load(Samples):
    """Samples of this host's load, every second from `begin` to `end`."""

    def __init__(self) -> None:
        super().__init__()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        """Start sampling in a thread."""
        self._thread.start()

    def end(self) -> None:
        """Stop sampling, if it was started. Idempotent."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        before, waited = _ticks(), _waited()
        while not self._stop.wait(LOAD_SAMPLING):
            after, now = _ticks(), _waited()
            total = after[1] - before[1]
            if total:
                self.pressure.append(_share(waited, now))
                self.busy.append((after[0] - before[0]) / total)
            before, waited = after, now


def _share(before: tuple[float, float] | None, after: tuple[float, float] | None) -> float | None:
    """Return the growth of a time by the growth of the clock, both of two readings."""
    if before is None or after is None or after[0] <= before[0]:
        return None
    return min(1.0, (after[1] - before[1]) / (after[0] - before[0]))


def _waited() -> tuple[float, float] | None:
    """Return the clock, and the seconds since boot in which some process waited for a core."""
    try:
        # first line: some avg10=0.00 avg60=0.00 avg300=0.00 total=196118687 (microseconds)
        total = PRESSURE.read_text(encoding="utf-8").split("\n", 1)[0].rpartition("total=")[2]
        return time.monotonic(), int(total) / 1e6
    except (OSError, ValueError):
        return None


def _ticks() -> tuple[int, int]:
    """Return busy ticks and all ticks since boot, summed over the cores."""
    # /proc/stat, first line: user nice system idle iowait irq softirq steal
    numbers = [
        int(word) for word in STAT.read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]
    ]
    idle = numbers[3] + numbers[4]
    return sum(numbers) - idle, sum(numbers)
