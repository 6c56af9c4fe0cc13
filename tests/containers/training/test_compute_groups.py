"""Compute groups on real containers, with a crash inside a group and a cut device."""

from itertools import pairwise

import pytest

pytestmark = [pytest.mark.docker, pytest.mark.timeout(120)]

GROUPED = """
# Does a group go on without a dead member, and without waiting for another group?
name: grouped
training:
  dataset: digits
  model: digits-mlp
  codec: dense
  batch_size: 9
  synchronization: {kind: groups, groups: 2, patience: 2s}
evaluate: {every: 100000}
stop: {time: 10s}
devices:
  - {name: near, count: 2}
  - name: far
    count: 2
    link: {up: {rate: 20mbit, delay: 20ms}, down: {rate: 20mbit, delay: 20ms}}
faults:
  - {kind: crash, nodes: [near-0], at: 3s}
  - {kind: partition, nodes: [far-1], at: 4s, lasts: 4s}
"""


def test_groups_go_on_without_the_dead(play):
    run = play(GROUPED)
    assert run.summary["outcome"] == "success"
    groups = {"near-0": 0, "near-1": 0, "far-0": 1, "far-1": 1}
    updates = run.said("update")
    assert {record["node"] for record in updates} == groups.keys()
    assert all(record["group"] == groups[record["node"]] for record in updates)
    # the patience of a group passes once; then it steps without the dead member
    times = {number: [r["at"] for r in updates if r["group"] == number] for number in (0, 1)}
    for number, at in times.items():
        longest = max(later - before for before, later in pairwise(at))
        assert 1.5 < longest < 4.5, number
    late = [record for record in updates if record["at"] > 7]
    assert {record["node"] for record in late if record["group"] == 0} <= {"near-1"}
    # a group of two has a step of two updates at one time, equally stale
    early = [r for r in updates if r["at"] < 3]
    pairs = list(zip(early[::2], early[1::2], strict=False))
    assert pairs and all(a["at"] == b["at"] and a["group"] == b["group"] for a, b in pairs)
    assert any(record["staleness"] for record in early), "groups do not wait for each other"
