"""Forty devices on a small host: how soon all of them work, and what each costs in memory."""

import json
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.containers.conftest import EMULATE, Outcome

pytestmark = [
    *(pytest.mark.docker, pytest.mark.timed, pytest.mark.thorough),
    pytest.mark.timeout(180),
]

FORTY = """
# How soon are forty devices at work?
name: forty
training: {dataset: mnist, model: mnist-cnn, algorithm: adacomp}
evaluate: {every: 1000000}
stop: {time: 25s}
devices:
  - {name: home, count: 40}
"""
MANY = 6
"""Seconds until forty devices work, at most, over those until four do: a start has a part that no
device adds to."""
MIB = 1 << 20


def private(pid):
    """Bytes that only this process maps."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    sizes = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
    return (sizes["Private_Clean:"] + sizes["Private_Dirty:"]) * 1024


def processes(client, name):
    """Process id to command line, as the host sees them."""
    top = client.api.top(name)
    pid, command = top["Titles"].index("PID"), top["Titles"].index("CMD")
    return {int(row[pid]): row[command] for row in top["Processes"]}


class Watch(threading.Thread):
    """Looks into one of the containers once it has worked for a while."""

    def __init__(self, client, folder):
        super().__init__()
        self.client, self.folder = client, folder
        self.sizes = {}

    def run(self):
        log = self.folder / "runs/forty/latest/server/run.jsonl"
        while not (log.is_file() and log.stat().st_size > 100_000):
            time.sleep(0.5)
        run = json.loads((self.folder / "runs/forty/latest/manifest.json").read_text())["id"]
        for number in range(3):
            for pid, command in processes(self.client, f"emulate-{run}-home-{number}").items():
                role = "worker" if "emulator.node.part.role" in command else "supervisor"
                self.sizes.setdefault(role, []).append(private(pid))


class Fleet(NamedTuple):
    """A run of the fleet, and what was seen of it."""

    run: Outcome
    began: float
    """When the command began, on the host's clock."""
    ended: float

    @property
    def first(self) -> dict[str, float]:
        """Time of the first update of each device."""
        return {update["node"]: update["at"] for update in reversed(self.run.said("update"))}

    @property
    def waited(self) -> float:
        """Seconds from the command until all devices have made an update."""
        # the log was last written when the run stopped, which dates its zero on the host's clock
        zero = until_stop(self.run.folder) - self.run.summary["duration_s"]
        assert self.began < zero < self.ended
        return zero + max(self.first.values()) - self.began


def started(folder: Path, *overrides: str) -> Fleet:
    """Play the fleet in `folder`."""
    (folder / "scenario.yaml").write_text(FORTY)
    began = time.time()
    done = subprocess.run(
        [EMULATE, "run", "scenario.yaml", "--json", "--no-report", *overrides],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr
    return Fleet(Outcome(json.loads(done.stdout)), began, time.time())


class Watched(NamedTuple):
    fleet: Fleet
    sizes: dict[str, list[int]]
    """Private bytes of three devices' processes, by role."""


@pytest.fixture(scope="module")
def forty(client, tmp_path_factory) -> Watched:
    folder = tmp_path_factory.mktemp("forty")
    watch = Watch(client, folder)
    watch.daemon = True
    watch.start()
    fleet = started(folder)
    watch.join(5)
    return Watched(fleet, watch.sizes)


def test_forty_devices_are_at_work_soon(forty, tmp_path):
    """By this host's own time for four devices."""
    four = started(tmp_path, "--set", "devices[0].count=4", "--set", "stop.time=5s")
    print(f"{forty.fleet.waited:.1f} s until forty devices worked, {four.waited:.1f} s until four")
    assert forty.fleet.waited < MANY * four.waited


def test_forty_devices_take_little_memory(forty):
    assert len(forty.fleet.first) == 40
    print({role: [size // MIB for size in sizes] for role, sizes in forty.sizes.items()})
    assert len(forty.sizes["worker"]) == 3
    assert max(forty.sizes["worker"]) <= 100 * MIB
    assert max(forty.sizes["supervisor"]) <= 16 * MIB


def until_stop(folder):
    """When the model was written, right after the stop."""
    return (folder / "model.npz").stat().st_mtime


def test_the_host_is_clean_afterwards(ours):
    dangling = subprocess.run(["pgrep", "-f", "emulator.node"], capture_output=True, text=True)
    assert dangling.stdout == ""
