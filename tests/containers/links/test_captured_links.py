"""What the summary says of links, against a capture of the packets at both ends of each link.

Devices, server and gateway are captured in their own networks. A device's packets are seen behind
the queue of its rate, at `wire` upwards, at `wan` downwards, and on both sides of the box.
"""

from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from emulator.runtimes.docker.engine import probing
from emulator.runtimes.docker.images import node_image
from tests.containers.links.captured_play import play_captured
from tests.netem.captured import median_rate, pairs

pytestmark = [pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(200)]

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


def test_a_capture_finds_the_links_of_the_summary(client, ours, tmp_path):
    features = probing.probe(client, node_image.require(client).id)
    if features.netem or not features.tun:
        pytest.skip("with the box alone, packets are seen between the rate and the delay")
    run = play_captured(client, tmp_path, SCENARIO)
    zero, frames, addresses = run.zero, run.frames, run.addresses
    rated, ends, within = run.rated, run.ends, run.within
    rows = {(row["node"], row["way"]): row for row in run.summary["fidelity"]["links"]}
    measured = [
        {**record, "from": zero + record["at"] - record["lasts"], "to": zero + record["at"]}
        for record in run.records
        if record["what"] == "link"
    ]
    server = addresses["server"]
    begin = max(own[0].at for own in frames.values()) + MARGIN
    end = min(own[-1].at for own in frames.values()) - MARGIN

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
