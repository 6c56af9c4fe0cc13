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


@dataclass(frozen=True)
class Host:
    """The numbers that bound what can be emulated here."""

    name: str
    cores: int
    memory: int
    """Bytes."""
    available: int
    """Bytes that are free or can be freed."""
    kernel: str

    @classmethod
    def here(cls) -> "Host":
        memory = _meminfo()
        return cls(
            name=platform.node(),
            cores=len(os.sched_getaffinity(0)),
            memory=memory.get("MemTotal", 0),
            available=memory.get("MemAvailable", 0),
            kernel=platform.release(),
        )

    def plain(self) -> Mapping[str, Any]:
        return {"name": self.name, "cores": self.cores, "memory": self.memory}


def _meminfo() -> dict[str, int]:
    lines = (line.split() for line in MEMORY.read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) >= 2}


class Load:
    """Samples the share of all cores in use, once a second, in the background."""

    def __init__(self) -> None:
        self.busy: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        before = _ticks()
        while not self._stop.wait(1.0):
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
