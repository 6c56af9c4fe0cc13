"""What the summary says of links, against a capture of the packets at both ends of each link.

Devices, server and gateway are captured in their own networks. A device's packets are seen behind
the queue of its rate, at `wire` upwards, at `wan` downwards, and on both sides of the box.
"""

import json
import subprocess
import sys
import time
from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from emulator.runtimes.docker.engine import probing
from emulator.runtimes.docker.images import node_image
from tests.layers import ROOT
from tests.netem.captured import median_rate, pairs, read

pytestmark = [pytest.mark.docker, pytest.mark.timeout(200)]

CAPTURE = ROOT / "tests" / "netem" / "capture.py"
SCENARIO = """
# Does a capture of the packets find the links that the summary tells of?
name: captured
training: {dataset: mnist, model: mnist-mlp, algorithm: asgd, learning_rate: 0.05}
evaluate: {every: 1000000}
stop: {time: 24s}
devices:
  - {name: rated, link: {up: {rate: 8mbit, delay: 25ms}, down: {rate: 8mbit, delay: 40ms}}}
  - {name: shaky, link: {up: {delay: 40ms, jitter: 5ms}, down: {delay: 25ms, jitter: 4ms}}}
  - {name: lossy, link: {up: {rate: 6mbit, loss: 2%}, down: {rate: 6mbit, loss: 3%}}}
  - name: stepping
    link:
      up: {rate: 8mbit, steps: [{at: 7s, rate: 3mbit}, {at: 14s, rate: 6mbit}]}
      down: {rate: 6mbit, steps: [{at: 6s, rate: 12mbit}, {at: 13s, rate: 4mbit}]}
  - {name: member}
bottlenecks:
  - {name: street, up: {rate: 6mbit}, down: {rate: 9mbit}, members: [member]}
faults:
  - {kind: pause, nodes: [shaky], at: 1s}
"""
STEPS = {
    "up": [(0, 8e6), (7, 3e6), (14, 6e6), (24, 0)],
    "down": [(0, 6e6), (6, 12e6), (13, 4e6), (24, 0)],
}
RATE, MEAN, DEVIATION, LOSS = 0.03, 8e-4, 0.15, 0.003
"""Most differences: of a rate, by share; of a delay, in seconds; of a jitter, by share; of a
loss."""
FEW = 10
"""Fewest echoes of a record that is compared: the ten seconds of a window have twenty."""
MARGIN = 0.5
"""Seconds at both ends of a capture in which a packet may be seen at one end only."""


@pytest.fixture
def capture(client, start, tmp_path):
    """Play scenario text; return rows of the summary, records of links, frames and address of each
    node, and the time of the run's zero."""

    def run(text):
        process = start(text)
        (folder,) = (tmp_path / "runs/captured").glob("2*")
        label = f"emulate.run={folder.name.rpartition('-')[2]}"
        files, addresses = {}, {}
        for node in client.containers.list(filters={"label": label}):
            name = node.labels.get("emulate.device", node.labels["emulate.role"])
            (network,) = node.attrs["NetworkSettings"]["Networks"].values()
            if network["IPAddress"]:
                addresses[name], files[name] = network["IPAddress"], tmp_path / f"{name}.packets"
                captures.append(_captured(node.attrs["State"]["Pid"], files[name]))
        process.stdout.read()
        assert process.wait() == 0
        for one in captures:
            one.communicate()
        fidelity = json.loads((folder / "summary.json").read_text())["fidelity"]
        rows = {(row["node"], row["way"]): row for row in fidelity["links"]}
        records = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
        zero = next(record["zero"] for record in records if record["what"] == "start")
        zero += time.time() - time.monotonic()
        measured = [
            {**record, "from": zero + record["at"] - record["lasts"], "to": zero + record["at"]}
            for record in records
            if record["what"] == "link"
        ]
        return rows, measured, {name: read(path) for name, path in files.items()}, addresses, zero

    captures = []
    yield run
    for one in captures:
        one.kill()
        one.wait()


def _captured(process, path):
    words = ["nsenter", "-t", str(process), "-n", sys.executable, "-I", "-S", CAPTURE, path]
    made = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert made.stdout.readline() == "ready\n"
    return made


def test_a_capture_finds_the_links_of_the_summary(client, capture):
    features = probing.probe(client, node_image.require(client).id)
    if features.netem or not features.tun:
        pytest.skip("with the box alone, packets are seen between the rate and the delay")
    rows, measured, frames, addresses, zero = capture(SCENARIO)
    server = addresses["server"]
    begin = max(own[0].at for own in frames.values()) + MARGIN
    end = min(own[-1].at for own in frames.values()) - MARGIN

    def within(name, device, left, address):
        """Return the frames of `name` at a device that come from `address`, or go there."""
        return [
            frame
            for frame in frames[name]
            if (frame.device, frame.left) == (device, left)
            and address in (frame.source, frame.target)
        ]

    def rated(name, way):
        """Return a device's frames behind the queue of its rate."""
        return within(name, "wire" if way == "up" else "wan", True, server)

    def ends(name, way):
        """Return a device's frames that have entered the box, and those that have come."""
        if way == "up":
            own = within(name, "eth0", True, server)
            return own, within("server", "eth0", False, addresses[name])
        return within(name, "wan", True, server), within(name, "eth0", False, server)

    differences, compared = {}, set()
    for name in ("rated", "lossy"):
        for way in ("up", "down"):
            rate = rows[name, way]["rate"]
            found = median_rate(rated(name, way), rate["requested"])
            differences["rate", name, way] = rate["achieved"] / found - 1
    for way, steps in STEPS.items():
        rate, passed = rows["stepping", way]["rate"], rated("stepping", way)
        for (at, asked), (until, _) in pairwise(steps):
            own = [frame for frame in passed if at + MARGIN < frame.at - zero < until - MARGIN]
            differences["step", way, at] = median_rate(own, asked) / asked - 1
        differences["rate", "stepping", way] = rate["achieved"] / rate["requested"] - 1
    for way, there in (("up", "server"), ("down", "member")):
        passed = [
            frame
            for frame in within("bottleneck", "eth0", True, addresses["member"])
            if frame.target == addresses[there]
        ]
        rate = rows["street", way]["rate"]
        found = median_rate(passed, rate["requested"])
        differences["rate", "street", way] = rate["achieved"] / found - 1
    for way in ("up", "down"):
        sent, came = ends("lossy", way)
        if way == "up":  # the queue behind the box, which may overflow, loses none by chance
            came = within("lossy", "wan", False, server)
        sent = [frame for frame in sent if begin <= frame.at <= end]
        _, lost = pairs(sent, came)
        loss = rows["lossy", way]["loss"]["achieved"]
        print("lossy", way, loss, lost / len(sent))
        assert abs(loss - lost / len(sent)) < LOSS
        sent, came = ends("shaky", way)
        for told in measured:
            if (told["node"], told["way"]) == ("shaky", way) and told.get("echoes", 0) >= FEW:
                if told["from"] < begin or told["to"] > end:
                    continue
                inside = [frame for frame in sent if told["from"] <= frame.at <= told["to"]]
                delays, _ = pairs([frame for frame in inside if frame.echo], came)
                print("shaky", way, told, len(delays), fmean(delays), pstdev(delays))
                assert abs(told["delay"] - fmean(delays)) < MEAN
                assert told["jitter"] == pytest.approx(pstdev(delays), rel=DEVIATION)
                compared.add(way)
    assert compared == {"up", "down"}
    print(differences)
    assert max(map(abs, differences.values())) < RATE
