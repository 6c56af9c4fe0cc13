"""How many entries of the host's tables a device takes: read from its container, as root.

    python -m tests.benchmarks.containers.host_tables [DEVICES [LINK]]       (default: 20 '{}')

LINK is a link in YAML, for example `{up: {rate: 5mbit, delay: 10ms}}`. The engine's files are those
of all its containers: they mean something while it has no others.
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from emulator.log.records import Record, StartRecord
from emulator.machine.kernel_tables import engine_files
from emulator.runtimes.docker.engine.cleanup import ROLE
from emulator.runtimes.docker.engine.cleanup import SCENARIO as LABEL
from emulator.runtimes.docker.engine.client import connect
from emulator.runtimes.docker.play_containers import play
from emulator.scenario import Timed, loads

SCENARIO = """
name: host-tables
training: {{dataset: mnist, model: mnist-cnn, algorithm: adacomp}}
evaluate: {{every: 100000}}
stop: {{time: 15s}}
devices:
  - {{name: home, count: {devices}, profile: {{memory: 512MiB}}, link: {link}}}
"""
LATER = 5.0
"""Seconds from the run's zero to the look at the tables."""


class Watch:
    """A view that looks at the tables some seconds after the run has begun."""

    def __init__(self) -> None:
        self.client, self.due = connect(), float("inf")
        self.before, self.files = engine(), own_files()

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None: ...

    def record(self, record: Record) -> None:
        if isinstance(record, StartRecord):
            self.due = time.monotonic() + LATER

    def beat(self, now: float) -> None:
        if time.monotonic() >= self.due:
            self.due = float("inf")
            self._look()

    def _look(self) -> None:
        roles: dict[str, list[int]] = {}
        for item in self.client.containers.list(filters={"label": f"{LABEL}=host-tables"}):
            roles.setdefault(item.labels[ROLE], []).append(item.attrs["State"]["Pid"])
        print("of one       neighbours     tasks")
        for role, found in roles.items():
            held, tasks = mean(map(neighbours, found)), mean(map(threads, found))
            print(f"{role:12} {held:10.1f} {tasks:9.1f}")
        containers = sum(map(len, roles.values()))
        more = (engine() - self.before) / containers, (own_files() - self.files) / containers
        print(f"files of a container: {more[0]:.1f} in the engine, {more[1]:.1f} in this process")


def neighbours(pid: int) -> int:
    """The IPv4 neighbours in the process's network that are not permanent."""
    words = f"nsenter --target {pid} --net ip -4 neigh show nud all".split()
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return sum("PERMANENT" not in line for line in shown)


def threads(pid: int) -> int:
    """The threads of the container with this first process, and of its shim."""
    return sum(len([*Path(f"/proc/{each}/task").iterdir()]) for each in (parent(pid), *family(pid)))


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


def family(pid: int) -> Iterator[int]:
    """The process, and its descendants."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from family(int(child))


def engine() -> int:
    found = engine_files()
    return found.used if found else 0


def own_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("devices", nargs="?", type=int, default=20, help="devices of the fleet")
    parser.add_argument("link", nargs="?", default="{}", help="link of each, in YAML")
    asked = parser.parse_args()
    measure(asked.devices, asked.link)


def measure(devices: int, link: str) -> None:
    """Play a run of `devices` devices on `link`, and print a line for each table."""
    watch: Any = Watch()
    with tempfile.TemporaryDirectory() as runs:
        play(loads(SCENARIO.format(devices=devices, link=link)), Path(runs), watch)


if __name__ == "__main__":
    main()
