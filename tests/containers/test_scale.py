"""Forty devices on a small host: how soon all of them work, and what each costs in memory."""

import json
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.containers.conftest import EMULATE, Outcome

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

FORTY = """
# Are forty devices up and at work within 45 s?
name: forty
training: {dataset: mnist, model: mnist-cnn, algorithm: adacomp}
evaluate: {every: 1000000}
stop: {time: 25s}
devices:
  - {name: home, count: 40}
"""
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


class Forty(NamedTuple):
    """A run of the fleet, and what was seen of it."""

    run: Outcome
    began: float
    """When the command began, on the host's clock."""
    ended: float
    sizes: dict[str, list[int]]
    """Private bytes of three devices' processes, by role."""

    @property
    def first(self) -> dict[str, float]:
        """Time of the first update of each device."""
        return {update["node"]: update["at"] for update in reversed(self.run.said("update"))}


@pytest.fixture(scope="module")
def forty(client, tmp_path_factory) -> Forty:
    folder = tmp_path_factory.mktemp("forty")
    (folder / "scenario.yaml").write_text(FORTY)
    watch = Watch(client, folder)
    watch.daemon = True
    watch.start()
    began = time.time()
    done = subprocess.run(
        [EMULATE, "run", "scenario.yaml", "--json", "--no-report"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr
    ended = time.time()
    watch.join(5)
    return Forty(Outcome(json.loads(done.stdout)), began, ended, watch.sizes)


@pytest.mark.thorough
def test_forty_devices_are_at_work_soon(forty):
    # the log was last written when the run stopped, which dates its zero on the host's clock
    zero = until_stop(forty.run.folder) - forty.run.summary["duration_s"]
    assert forty.began < zero < forty.ended
    assert zero + max(forty.first.values()) - forty.began < 45


def test_forty_devices_take_little_memory(forty):
    assert len(forty.first) == 40
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
