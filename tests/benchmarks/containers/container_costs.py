"""Processor time of containers and interrupts while a run goes on, from the kernel's counters."""

import os
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

CPUACCT = Path("/sys/fs/cgroup/cpuacct/docker")
"""Counters of containers, of cgroups of version 1."""
STAT = Path("/proc/stat")
EVERY = 2.0
"""Seconds between two samples."""

Sample = tuple[float, dict[str, float]]
"""The host's monotonic time, and seconds of a core used so far: by role, and by interrupts."""


class ContainerCosts(threading.Thread):
    """Samples the processor time of running containers until `end`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._ended, self._samples = threading.Event(), list[Sample]()

    def run(self) -> None:
        while not self._ended.wait(EVERY):
            self._samples.append((time.monotonic(), _used()))

    def end(self) -> None:
        """Take no more samples."""
        self._ended.set()
        self.join()

    def between(self, begin: float, end: float) -> Mapping[str, float]:
        """Return the cores in use between two monotonic times, by role; empty without samples."""
        inside = [sample for sample in self._samples if begin <= sample[0] <= end]
        if len(inside) < 2:
            return {}
        (first, before), (last, after) = inside[0], inside[-1]
        return {role: (after[role] - before.get(role, 0.0)) / (last - first) for role in after}


def _used() -> dict[str, float]:
    used: dict[str, float] = defaultdict(float)
    listed = ["docker", "ps", "--no-trunc", "--format", "{{.ID}} {{.Names}}"]
    for line in subprocess.run(listed, capture_output=True, text=True).stdout.splitlines():
        container, name = line.split()
        role = name.split("-", 2)[-1]
        role = role if role in ("server", "evaluator", "packet_box") else "devices"
        try:
            used[role] += int((CPUACCT / container / "cpuacct.usage").read_text()) / 1e9
        except OSError:
            continue  # it ended
    # of the words after "cpu", the sixth and the seventh: ticks of interrupts
    ticks = STAT.read_text().split("\n", 1)[0].split()[6:8]
    used["interrupts"] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return used
