"""This machine: cores, memory, and load."""

import os
import platform
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STAT = Path("/proc/stat")
MEMORY = Path("/proc/meminfo")

SAMPLING = 1.0
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
        lines = [line.split() for line in MEMORY.read_text().splitlines()]
    except OSError:  # not Linux: POSIX tells the installed memory, but not the free memory
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return installed, installed
    # lines such as "MemTotal:  16314168 kB"
    sizes = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) >= 2}
    return sizes["MemTotal"], sizes["MemAvailable"]


class Load:
    """Samples of the share of all cores in use, every second from `begin` to `end`."""

    def __init__(self) -> None:
        self.busy: list[float] = []
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
        before = _ticks()
        while not self._stop.wait(SAMPLING):
            after = _ticks()
            total = after[1] - before[1]
            if total:
                self.busy.append((after[0] - before[0]) / total)
            before = after


def _ticks() -> tuple[int, int]:
    """Return busy ticks and all ticks since boot, summed over the cores."""
    # /proc/stat, first line: user nice system idle iowait irq softirq steal
    numbers = [int(word) for word in STAT.read_text().split("\n", 1)[0].split()[1:9]]
    idle = numbers[3] + numbers[4]
    return sum(numbers) - idle, sum(numbers)
