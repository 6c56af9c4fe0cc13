"""A run in containers whose packets are captured in the network of each node."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.containers.conftest import EMULATE
from tests.layers import ROOT
from tests.netem.captured import Frame, read

CAPTURE = ROOT / "tests" / "netem" / "capture.py"


class Captured(NamedTuple):
    """A finished run, and all frames of its nodes."""

    folder: Path
    zero: float
    """Time of the run's zero, in seconds since 1970."""
    frames: Mapping[str, list[Frame]]
    """Frames of each node, also of the gateway `bottleneck`, by time."""
    addresses: Mapping[str, str]

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "run.jsonl").read_text().splitlines()]

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads((self.folder / "summary.json").read_text())

    def within(self, node: str, device: str, left: bool, address: str) -> list[Frame]:
        """Return the frames of `node` at a device that come from `address`, or go there."""
        return [
            frame
            for frame in self.frames[node]
            if (frame.device, frame.left) == (device, left)
            and address in (frame.source, frame.target)
        ]

    def rated(self, name: str, way: str) -> list[Frame]:
        """Return the frames of a device behind the queue of its rate."""
        device = "wire" if way == "up" else "wan"
        return self.within(name, device, True, self.addresses["server"])

    def ends(self, name: str, way: str) -> tuple[list[Frame], list[Frame]]:
        """Return the frames of a device that have entered the box, and those that have come."""
        server = self.addresses["server"]
        if way == "up":
            sent = self.within(name, "eth0", True, server)
            return sent, self.within("server", "eth0", False, self.addresses[name])
        return self.within(name, "wan", True, server), self.within(name, "eth0", False, server)


def play_captured(client: Any, folder: Path, text: str) -> Captured:
    """Play the scenario `text` in `folder`, and capture from its zero to its end."""
    (folder / "scenario.yaml").write_text(text)
    run = subprocess.Popen(
        [EMULATE, "run", "scenario.yaml", "--no-report"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    captures = []
    try:
        assert run.stdout is not None
        said = []
        for line in run.stdout:
            said.append(line)
            if "start:" in line:
                break
        else:
            raise AssertionError(f"the run did not begin, exit code {run.wait()}: {said}")
        (made,) = (folder / "runs").glob("*/2*")
        label = f"emulate.run={made.name.rpartition('-')[2]}"
        files, addresses = {}, {}
        for node in client.containers.list(filters={"label": label}, ignore_removed=True):
            name = node.labels.get("emulate.device", node.labels["emulate.role"])
            (network,) = node.attrs["NetworkSettings"]["Networks"].values()
            if network["IPAddress"]:
                addresses[name], files[name] = network["IPAddress"], folder / f"{name}.packets"
                captures.append(_captured(node.attrs["State"]["Pid"], files[name]))
        print(run.stdout.read())
        assert run.wait() == 0
        for one in captures:
            one.communicate()
    finally:
        for process in (run, *captures):
            process.kill()
            process.communicate()
    records = (made / "run.jsonl").read_text().splitlines()
    zero = next(r["zero"] for r in map(json.loads, records) if r["what"] == "start")
    zero += time.time() - time.monotonic()
    frames = {name: read(path) for name, path in files.items()}
    return Captured(made, zero, frames, addresses)


def _captured(process: int, path: Path) -> subprocess.Popen[str]:
    words = ["nsenter", "-t", str(process), "-n", sys.executable, "-I", "-S", CAPTURE, path]
    made = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert made.stdout is not None
    assert made.stdout.readline() == "ready\n"
    return made
