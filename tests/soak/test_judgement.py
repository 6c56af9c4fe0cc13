"""Bounds of a soak, on made-up samples: growth of 5 % is seen, and a lasting descriptor."""

import pytest

from tests.soak.judgement import complaints, levels, table
from tests.soak.processes import Sample
from tests.soak.soaking import Soak

MB = 1_000_000
SECONDS = range(1800)
FLAT = [Sample(at, 30 * MB, 27, 25) for at in SECONDS]


def soak(**server):
    """Return a soak with two processes; `server` maps a field to a function of the time."""
    samples = [
        sample._replace(**{key: value(sample.at) for key, value in server.items()})
        for sample in FLAT
    ]
    summary = {
        "outcome": "success",
        "updates": 1,
        "faults_realised": 1,
        "duration_s": 1800,
        "exits": [],
        "fault_effects": {"kinds": {}},
    }
    return Soak(summary, {"server": samples, "supervisor of a": FLAT})


def test_a_flat_process_is_in_order():
    assert complaints(soak()) == []
    assert "server" in table(soak())


def test_growth_during_the_warm_up_is_in_order():
    assert complaints(soak(memory=lambda at: 20 * MB + min(at, 300) * MB // 30)) == []


@pytest.mark.parametrize(("grown", "seen"), [(0.04, False), (0.06, True)])
def test_growth_after_the_warm_up_is_seen(grown, seen):
    # from the middle of the first quarter to the middle of the last: three quarters of the growth
    found = soak(memory=lambda at: 30 * MB * (1 + grown / 0.75 * max(0, at - 300) / 1500))
    assert any("server: its memory grew" in each for each in complaints(found)) == seen


def test_a_descriptor_is_seen_and_a_moment_with_more_is_not():
    assert complaints(soak(descriptors=lambda at: 27 + 8 * (at % 5 == 0))) == []
    assert complaints(soak(descriptors=lambda at: 27 + (at > 900 and at % 3 > 0))) == []
    assert "28 descriptors" in complaints(soak(descriptors=lambda at: 27 + (at > 1200)))[0]


def test_connections_that_are_never_closed_are_seen():
    assert "60 connections" in complaints(soak(connections=lambda at: 60))[0]


def test_a_server_that_was_started_anew_counts_once_it_has_settled():
    def process(at):
        return int(at) // 300

    def young(at):
        return 90 * MB if at % 300 < 15 and at >= 300 else 30 * MB

    assert complaints(soak(process=process, memory=young)) == []
    # lives that grow from one to the next, each flat
    found = soak(process=process, memory=lambda at: (30 + process(at)) * MB)
    assert any("server: its memory grew" in each for each in complaints(found))


def test_files_that_grow_are_seen():
    found = soak()
    found.disk = [(at, 20 * MB + 5 * MB * (at % 60 > 50)) for at in SECONDS]
    assert complaints(found) == []
    found.disk = [(at, 20 * MB + at * MB // 20) for at in SECONDS]
    assert complaints(found)[0].startswith("the server's states and inputs grew from ")


def test_a_kind_that_was_never_played_is_seen():
    found = soak()
    found.kinds = {"churn", "server-crash"}
    found.summary["fault_effects"] = {"kinds": {"churn": {}}}
    assert complaints(found) == ["no fault of the kind server-crash was played"]
    found.summary["server_recoveries"] = 2
    assert complaints(found) == []


def test_remains_and_a_failed_run_are_seen():
    found = soak()
    found.remains.append("br-123456789012")
    found.summary["outcome"] = "failed"
    assert complaints(found) == ["the run ended as failed", "left behind: br-123456789012"]
    found.summary |= {"outcome": "success", "exits": [{"node": "a", "reason": "killed"}]}
    found.remains, found.samples["server"] = [], FLAT[:1700]
    assert complaints(found) == [
        "the last sample is of 1699 s, too early",
        "a ended unasked: killed",
    ]
    assert [level.growth for level in levels(found)] == [0.0, 0.0]
