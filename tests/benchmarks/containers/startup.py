"""What it takes to start devices in containers, until all have said hello.

    python -m tests.benchmarks.containers.startup [DEVICES [CPU]]       (default: 20 100%)

CPU times of single processes do not count what else the host does meanwhile; the engine's do, if it
has other runs, and so do the host's seconds of a core and its memory.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from emulator.log.lines import read
from emulator.log.records import HelloRecord, Record, StartRecord
from emulator.runtimes.docker.engine.cleanup import ROLE
from emulator.runtimes.docker.engine.cleanup import SCENARIO as LABEL
from emulator.runtimes.docker.engine.client import connect
from emulator.runtimes.docker.play_containers import play
from emulator.scenario import Timed, loads

from .. import books

SCENARIO = """
name: startup
training: {{dataset: mnist, model: mnist-cnn, algorithm: adacomp}}
evaluate: {{every: 100000}}
stop: {{updates: 1}}
devices:
  - name: home
    count: {devices}
    profile: {{cpu: {cpu}, memory: 512MiB}}
    link: {{up: {{rate: 5mbit, delay: 10ms}}, down: {{rate: 20mbit, delay: 10ms}}}}
"""
PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")


class Watch:
    """A view that looks at the books when the run begins."""

    def __init__(self) -> None:
        self.client, self.began = connect(), time.monotonic()
        self.engine, self.step = engine(), ""
        self.host, self.memory, self.took = busy(), books.available(), 0.0
        self.boots: list[float] = []
        self.shims: list[float] = []

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None:
        if text != self.step:
            print(f"{time.monotonic() - self.began:6.1f} s  {text}")
        self.step = text

    def record(self, record: Record) -> None:
        if isinstance(record, StartRecord):
            self.engine, self.host = engine() - self.engine, busy() - self.host
            self.took, self.memory = time.monotonic() - self.began, self.memory - books.available()
            marks = {"label": [f"{LABEL}=startup", f"{ROLE}=device"]}
            ids = [item["Id"] for item in self.client.api.containers(filters=marks)]
            pids = [self.client.api.inspect_container(item)["State"]["Pid"] for item in ids]
            self.boots = [used(pid) for pid in pids]
            self.shims = [shim(pid) for pid in pids]

    def beat(self, now: float) -> None: ...


def used(pid: int) -> float:
    """CPU seconds of the control group that the process is in."""
    for line in (PROC / str(pid) / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            return int((GROUPS / "cpuacct" / path[1:] / "cpuacct.usage").read_text()) / 1e9
    usage = (GROUPS / path[1:] / "cpu.stat").read_text().split()[1]
    return int(usage) / 1e6


def shim(pid: int) -> float:
    """CPU seconds of the process's parent, and of the children that it has had."""
    return sum(ticks(int(stat(pid)[1]), 11, 15))


def engine() -> float:
    pids = [int(item.name) for item in PROC.iterdir() if item.name.isdigit()]
    names = {pid: (PROC / str(pid) / "comm") for pid in pids}
    ours = [p for p, name in names.items() if said(name) in ("dockerd", "containerd")]
    return sum(sum(ticks(pid, 11, 15)) for pid in ours)


def busy() -> float:
    """Seconds of a core in which the host has not been idle."""
    words = (PROC / "stat").read_text().splitlines()[0].split()[1:8]
    user, nice, system, _, _, *interrupts = (int(word) / 100 for word in words)
    return user + nice + system + sum(interrupts)


def said(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def stat(pid: int) -> list[str]:
    return (PROC / str(pid) / "stat").read_text().rpartition(") ")[2].split()


def ticks(pid: int, first: int, last: int) -> list[float]:
    return [int(word) / 100 for word in stat(pid)[first:last]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("devices", nargs="?", type=int, default=20, help="devices of the fleet")
    parser.add_argument("cpu", nargs="?", default="100%", help="share of a core of each")
    asked = parser.parse_args()
    measure(asked.devices, asked.cpu)


def measure(devices: int, cpu: str) -> None:
    """Start `devices` devices with `cpu` of a core each, and print what that took."""
    watch = Watch()
    with tempfile.TemporaryDirectory() as runs:
        text = SCENARIO.format(devices=devices, cpu=cpu)
        folder, _ = play(loads(text), Path(runs), watch)
        log = read(folder / "run.jsonl")
        hellos = [record.at for record in log if isinstance(record, HelloRecord)]
    boots: Any = sorted(watch.boots)
    print(f"boot    {boots[0]:.2f} to {boots[-1]:.2f} s of CPU, median {median(boots):.2f}")
    print(f"engine  {watch.engine / (devices + 2):.2f} s of CPU for each container")
    print(f"shim    {median(watch.shims):.2f} s of CPU for each container")
    print(f"host    {watch.took:.1f} s, {watch.host:.1f} s of a core, until all had said hello")
    print(f"memory  {watch.memory / devices / 2**20:.1f} MiB of the host for each device")
    print(f"hellos  within {max(hellos) - min(hellos):.1f} s")


if __name__ == "__main__":
    main()
