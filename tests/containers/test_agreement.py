"""Containers and virtual time tell the same of one scenario: to the byte, or within per cents."""

import json
from typing import Any, NamedTuple

import pytest

from analysis import read
from tests.containers import quickstart
from tests.containers.conftest import TINY
from tests.containers.host_pace import Pace, judged, pace, stolen, wait
from tests.layers import ROOT

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timed,
    pytest.mark.tensorflow,
    pytest.mark.timeout(1200),
]

QUICKSTART = ROOT / "scenarios" / "quickstart.yaml"
PROMISED = 0.10
"""Largest difference in updates per second, as docs/why.md promises for a host that keeps its
pace."""
WITHIN, PUNCTUAL = 300, 0.5
"""Seconds that the quickstart takes at most, and in which a fault has to be done; both without a
dilation."""
SETTLED = 10
"""Number of last evaluations with a median accuracy that two runs have in common."""


class Both(NamedTuple):
    """A scenario's runs in both runtimes, their differences, and the host's pace beside them."""

    difference: dict[str, float]
    docker: Any
    virtual: Any
    beside: Pace

    @property
    def fidelity(self):
        return self.docker.summary["fidelity"]

    def __repr__(self):
        facts = self.difference, self.beside, self.fidelity["reasons"]
        return f"{self.docker.folder.name}: {facts}"


@pytest.fixture
def both(emulate):
    """Play a scenario in both runtimes."""

    def play(file, *overrides):
        before = wait()
        with stolen() as taken:
            done = emulate("compare", "--runtimes", file, *overrides, "--json", timeout=800)
            meanwhile = taken()
        result = json.loads(done.stdout)
        beside = pace(result, before, wait(), meanwhile)
        docker, virtual = read(result["docker"]), read(result["virtual"])
        differences = {row["quantity"]: row["difference"] for row in result["agreement"]}
        return Both(differences, docker, virtual, beside)

    return play


@pytest.mark.thorough
def test_the_quickstart(both, emulate):
    """One play of four minutes: two devices fail, and the runtimes still agree.

    A host that is too small for the fleet says so in the run, and then plays it at half the speed.
    """
    reasons = []

    def play():
        found = both(QUICKSTART, *(["--set", "time.dilation=2"] if reasons else []))
        reasons[:] = found.fidelity["reasons"]
        emulate("report", found.docker.folder)
        tell_the_same(*found)
        return found

    judged(play, takes_its_time)


def takes_its_time(found, _longer):
    """Return whether the run kept the README's times, and agrees with virtual time in the rate of
    updates and in staleness."""
    within = quickstart.seconds(found.docker.folder) < WITHIN * found.fidelity.get("dilation", 1)
    difference = found.difference
    return (
        within
        and found.fidelity["latest_fault_s"] < PUNCTUAL
        and found.beside.explains(difference["updates_per_second"], PROMISED)
        and abs(difference["pull_bytes"]) < 0.10
        and abs(difference["staleness_median"]) <= 1
    )


def tell_the_same(difference, docker, virtual, _beside):
    """Check the README's promises first, then that both runtimes tell the same."""
    quickstart.check(docker.folder)
    assert (docker.folder.parent / "latest").resolve() == virtual.folder.resolve()  # played last
    assert difference["faults"] == 0 and len(virtual.records("kill")) == 1
    assert abs(difference["push_bytes_per_update"]) < 0.01  # a gap's code depends on the gradient
    assert abs(settled_accuracy(virtual) - settled_accuracy(docker)) < 0.01
    assert all(len(pushes) == 1 for run in (docker, virtual) for pushes in weights(run).values())
    assert agree_where_both_know(weights(docker), weights(virtual))


def test_bytes_are_equal_where_they_do_not_depend_on_the_gradient(both, tmp_path):
    """The times of a computation change no byte, so none is measured."""
    file = tmp_path / "scenario.yaml"
    file.write_text(
        f"{TINY.replace('adacomp', 'asgd')}virtual: {{step: 1ms, boot: 1s, serve: 1ms}}\n"
    )
    _, docker, virtual, _ = both(file)
    assert agree_where_both_know(weights(docker, "indices"), weights(virtual, "indices"))
    for run in (docker, virtual):
        assert all(len(pushes) == 1 for pushes in weights(run, "indices").values())
        pulls = run.records("pull")
        dense = run.summary["dense_push_bytes"] / run.summary["updates"]
        assert abs(pulls["bytes"] - dense).max() < 40  # both hold every parameter once


def settled_accuracy(run):
    """Return the median accuracy of the last `SETTLED` evaluations.

    Containers and virtual time apply updates in orders that differ, so single evaluations differ by
    the noise of stochastic gradients: half a point here from one to the next, three points now and
    then.
    """
    return run.records("evaluation")["accuracy"].tail(SETTLED).median()


def weights(run, *more):
    """What pushes weighed, kind by kind, by who pushed and how long its version is in a head."""
    updates = run.records("update")
    based = updates["version"] - 1 - updates["staleness"]
    length = based.map(lambda version: sum(version >= limit for limit in (128, 256, 65_536)))
    kinds = ["entries", "values", "headers", "framing", *more]
    return {
        key: set(own[kinds].itertuples(index=False, name=None))
        for key, own in updates.groupby(["node", length])
    }


def agree_where_both_know(one, other):
    common = one.keys() & other.keys()
    assert len(common) > len({node for node, _ in one})
    return all(one[key] == other[key] for key in common)
