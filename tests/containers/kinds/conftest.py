"""One run of a fleet under all kinds of faults, watched from outside, for all tests in here."""

import itertools
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.containers.conftest import EMULATE, Outcome
from tests.containers.host_pace import judged
from tests.containers.kinds.fleet import DILATION, FLEET, LATE
from tests.containers.kinds.observer import LinkSample, Observer, Sample
from tests.fakes.virtual_world import played

CLOCKS = 0.02
"""Seconds by which the observer's clock and that of the run may differ."""
LINKED = {"degraded": False, "rated": False, "lossy": True, "preset": False}
"""Devices with links that are watched, and whether nft's rules are."""


class Change(NamedTuple):
    """A change that was seen from outside: it happened between two looks."""

    before: float
    """Time of the last look with the old value."""
    at: float
    """Time of the first look with the new value."""
    value: Any
    late: float
    """Seconds after its planned time in which it had to happen."""

    def within(self, planned: float, late: float | None = None) -> bool:
        """Return whether the change can have happened from `planned` to `late` seconds later."""
        latest = planned + (self.late if late is None else late)
        return self.before <= latest and self.at >= planned - CLOCKS


def emulated(look: Sample, zero: float) -> Sample:
    """Return `look` with its time and its cores as the run counts them: emulated, as `zero` is."""
    quota = None if look.quota is None else look.quota * DILATION
    return look._replace(at=look.at / DILATION - zero, quota=quota)


class WatchedRun(Outcome):
    """A finished run in containers, with all that was seen of the containers meanwhile."""

    late = LATE
    """Emulated seconds after its planned time in which an action had to be done on this host."""

    def __init__(self, summary, observer: Observer):
        super().__init__(summary)
        # devices go on, and report, until the containers are removed
        end = summary["duration_s"] + 0.3
        self.records = [record for record in self.records if record["at"] <= end]
        self.parts = observer.parts
        self.files = observer.files
        (start,) = self.said("start")
        self.samples: dict[str, list[Sample]] = {
            node: [emulated(sample, start["zero"]) for sample in samples]
            for node, samples in observer.samples.items()
        }
        self.links: dict[str, list[LinkSample]] = {
            node: [look._replace(at=look.at / DILATION - start["zero"]) for look in looks]
            for node, looks in observer.links.items()
        }

    def __repr__(self) -> str:
        return f"the latest action came {self.latest():.2f} s late"

    def latest(self) -> float:
        """Return the largest lateness of an action. Memory may take longer, and is left out."""
        done = [r for r in self.records if "begins" in r and r["what"] != "press"]
        return max(r["at"] - r["planned"] for r in done)

    def acts(self, node: str) -> list[tuple[str, float]]:
        """Return kind and planned time of each action on `node`, in the order of the log."""
        return [(r["what"], r["planned"]) for r in self.of(node)]

    def of(self, node: str) -> list[dict]:
        """Return the records of actions on `node`, in the order of the log."""
        return [r for r in self.records if "begins" in r and r["node"] == node]

    def updates(self, node: str, since: float, until: float) -> list[dict]:
        """Return the records of updates from `node` between two times."""
        return [r for r in self.said("update", node=node) if since < r["at"] < until]

    def changes(self, node: str, value: Callable[[Sample], Any], since=0.0) -> list[Change]:
        """Return the changes of `value` at `node` from `since` to the end of the run."""
        looks = [
            look for look in self.samples[node] if since <= look.at < self.summary["duration_s"]
        ]
        pairs = itertools.pairwise(looks)
        return [
            Change(before.at, after.at, value(after), self.late)
            for before, after in pairs
            if value(before) != value(after)
        ]

    def link_changes(self, node: str, value: Callable[[str], Any]) -> list[Change]:
        """Return the changes of `value` in the texts on the link of `node`, during the run."""
        looks = [look for look in self.links[node] if 0 <= look.at < self.summary["duration_s"]]
        pairs = itertools.pairwise(looks)
        return [
            Change(before.at, after.at, value(after.text), self.late)
            for before, after in pairs
            if value(before.text) != value(after.text)
        ]

    def sent(self, node: str, since: float, until: float) -> int:
        """Return the bytes that the interface of `node` sent between two times."""
        looks = [look.sent for look in self.samples[node] if since <= look.at <= until]
        return looks[-1] - looks[0]

    def incarnations(self, node: str) -> list[int]:
        """Return the incarnation of each hello of `node`."""
        return [r["incarnation"] for r in self.said("hello", node=node)]


@pytest.fixture(scope="session")
def fleet(client, tmp_path_factory) -> WatchedRun:
    """The run of the fleet in containers; no process and no part of it is left."""
    return judged(lambda: _played(client, tmp_path_factory.mktemp("fleet")), _punctual)


def _punctual(run: WatchedRun, longer: float) -> bool:
    run.late = LATE * longer  # the tests give each action as long
    return run.latest() < run.late


def _played(client, folder: Path) -> WatchedRun:
    """Play the fleet in `folder`, and watch it."""
    (folder / "scenario.yaml").write_text(FLEET)
    observer = Observer(client, folder, LINKED)
    observer.start()
    try:
        done = subprocess.run(
            [EMULATE, "run", "scenario.yaml", "--json", "--no-report"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=270,
        )
    finally:
        observer.end()
    assert done.returncode == 0, done.stderr
    return WatchedRun(json.loads(done.stdout), observer)


class VirtualTwin:
    """The run of the same fleet in virtual time."""

    def __init__(self, folder: Path):
        self.folder = folder
        lines = (folder / "run.jsonl").read_text().splitlines()
        self.records = [json.loads(line) for line in lines]

    of = WatchedRun.of


@pytest.fixture(scope="session")
def twin(tmp_path_factory) -> VirtualTwin:
    folder, summary, _ = played(tmp_path_factory.mktemp("twin"), text=FLEET)
    assert summary["outcome"] == "success"
    return VirtualTwin(folder)


def ended(pids: set[int], seconds: float) -> bool:
    """Wait up to `seconds` until no process of `pids` is left; return whether that came true."""
    until = time.monotonic() + seconds
    while any(_of_a_node(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def _of_a_node(pid: int) -> bool:
    try:
        return b"emulator.node" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
