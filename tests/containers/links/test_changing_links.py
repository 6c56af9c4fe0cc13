"""Links that change while containers train: both runtimes take the same time for the transfers."""

from itertools import pairwise
from math import inf
from statistics import mean
from typing import NamedTuple

import pytest

from tests.containers.host_pace import judged

pytestmark = [pytest.mark.docker, pytest.mark.thorough, pytest.mark.timeout(400)]

BOUNDS = [(4, 14), (18, 33), (37, 58)]
"""Emulated seconds in which one rate holds, without the first seconds of each."""
TEXT = """
# Does a transfer take as long in containers as in virtual time while the link changes?
name: changing
seed: 3
training: {dataset: digits, model: digits-mlp, algorithm: asgd}
evaluate: {every: 1000}
stop: {time: 60s}
virtual: {learner: none, step: 5ms}
devices:
  - name: stepping
    link:
      up: {rate: 400kbit, delay: 20ms, steps: [{at: 15s, rate: 1mbit}, {at: 35s, rate: 200kbit}]}
      down: {rate: 2mbit, delay: 20ms}
  - name: tracing
    link:
      up: {rate: 2mbit, delay: 20ms}
      down:
        delay: 20ms
        trace: {samples: "0 1000000, 15 300000, 35 2000000, end 60"}
"""
NODES = ("stepping", "tracing")


def test_both_runtimes_agree_on_a_changing_link(play):
    virtual = play(TEXT, "--on", "virtual")

    def beside():
        docker = play(TEXT)
        assert docker.summary["outcome"] == virtual.summary["outcome"] == "success"
        changes = docker.said("link_change")
        assert {record["node"] for record in changes} == set(NODES)
        real, exact = cycles(docker), cycles(virtual)
        shares = {when: real[when] / exact[when] for when in exact}
        return Beside(shares, max(record["late"] for record in changes))

    judged(beside, agree)


class Beside(NamedTuple):
    """The seconds from update to update as shares of those in virtual time, by node and begin, and
    the largest lateness of a change."""

    shares: dict
    late: float


def agree(found, longer):
    in_time = found.late < 0.1 * longer
    return in_time and all(0.9 < share < 1.1 * longer for share in found.shares.values())


def cycles(run):
    return {(node, begin): cycle(run, node, begin, end) for node in NODES for begin, end in BOUNDS}


def cycle(run, node, begin, end):
    """Return the mean seconds from update to update of `node` between two times; infinity where
    updates are missing."""
    times = [record["at"] for record in run.said("update", node=node)]
    inside = [at for at in times if begin <= at < end]
    # The slowest cycle takes 1.8 s: a window of 10 s has five of its updates, or six.
    if len(inside) < 5:
        return inf
    return mean(after - before for before, after in pairwise(inside))
