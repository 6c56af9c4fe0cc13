"""What this machine is, and how busy it has been."""

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
    """The numbers that bound what can be emulated here."""

    name: str
    cores: int
    memory: int
    """Bytes."""
    available: int
    """Bytes that are free or can be freed; all of `memory` where the system does not say."""
    kernel: str

    @classmethod
    def here(cls) -> "Host":
        memory, available = _memory()
        return cls(
            name=platform.node(),
            cores=cores(),
            memory=memory,
            available=available,
            kernel=platform.release(),
        )

    def plain(self) -> Mapping[str, Any]:
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
    """Return the bytes of memory installed, and those available."""
    try:
        lines = [line.split() for line in MEMORY.read_text().splitlines()]
    except OSError:  # no Linux: POSIX knows the memory, and nobody what of it is free
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return installed, installed
    found = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) >= 2}
    return found["MemTotal"], found["MemAvailable"]


class Load:
    """Samples the share of all cores in use, once a second, from `begin` to `end`."""

    def __init__(self) -> None:
        self.busy: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """End the samples, if they were begun. Idempotent."""
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
    """Busy and all ticks since boot, over all cores."""
    numbers = [int(word) for word in STAT.read_text().split("\n", 1)[0].split()[1:9]]
    idle = numbers[3] + numbers[4]
    return sum(numbers) - idle, sum(numbers)
