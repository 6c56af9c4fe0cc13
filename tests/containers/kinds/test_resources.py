"""Kinds of faults that take processor time or memory from a device, seen from outside."""

from statistics import median

import pytest

from tests.containers.kinds.conftest import CLOCKS
from tests.containers.kinds.fleet import END, TAKEN

pytestmark = [pytest.mark.docker, pytest.mark.thorough, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    ("node", "begin", "end", "quotas"),
    [("throttled", 8.6, 13.6, [1.0, 0.25, 1.0]), ("quota", 11.2, 15.2, [0.4, 0.1, 0.4])],
)
def test_a_slow_device_has_a_share_of_its_quota(fleet, node, begin, end, quotas):
    """Through a crash, too: a device that boots is as slow as before."""
    own, *changed = quotas
    assert fleet.samples[node][-1].quota == own
    slow, *lifts, back = fleet.changes(node, lambda look: look.quota)
    assert [slow.value, back.value] == changed
    # memory is taken outside the quota, if somebody looked just then
    assert {lift.value for lift in lifts} <= ({None, slow.value} if node == "quota" else set())
    assert slow.within(begin) and back.within(end)
    throttle, unthrottle = fleet.said("throttle", node=node) + fleet.said("unthrottle", node=node)
    assert throttle["setting"] == {"factor": 0.25} and throttle["fault"] == "slow"
    assert (throttle["planned"], unthrottle["planned"]) == (begin, end)


def test_a_quota_holds_from_the_run_s_zero(fleet):
    """Before, a device boots with the whole host."""
    quotas = {
        node: [(look.at, look.quota) for look in looks] for node, looks in fleet.samples.items()
    }
    limited = {node for node, looks in quotas.items() if looks[-1][1] is not None}
    assert {"throttled", "quota", "calm"} <= limited
    for node in limited:
        assert quotas[node][0][0] < 0 and quotas[node][0][1] is None, node
        assert None not in [quota for at, quota in quotas[node] if 0 <= at < 2.0], node


def test_a_slow_device_crashes_and_boots(fleet):
    assert [what for what, _ in fleet.acts("throttled")] == [
        "throttle",
        "kill",
        "boot",
        "unthrottle",
    ]
    assert fleet.incarnations("throttled") == [0, 1]


def test_a_device_may_draw_that_it_is_slow(fleet):
    begins, ends = fleet.said("throttle", node="hot"), fleet.said("unthrottle", node="hot")
    assert begins and len(begins) - len(ends) in (0, 1)
    for begin, end in zip(begins, ends, strict=False):
        assert begin["planned"] == begin["at"] and end["at"] - begin["at"] > 1.95
    seen = fleet.changes("hot", lambda look: look.quota)
    assert {change.value for change in seen} == {0.5, 1.0}
    assert len(seen) == len(begins) + len(ends)
    assert not fleet.said("throttle", node="calm")


def test_a_straggler_waits_before_each_gradient(fleet):
    """Also in its next incarnation; the gradients themselves take as long as ever."""
    assert fleet.acts("straggler") == [
        *[("lag", 3.8), ("kill", 6.2), ("boot", 7.4), ("catch_up", 17.8)],
    ]
    (lag,) = fleet.said("lag")
    assert lag["setting"] == {"delay": {"fixed": 0.8}} and lag["fault"] == "straggler"
    for since, until in ((4.1, 6.2), (7.4, 17.8)):
        pulls = [record["at"] for record in fleet.said("pull", node="straggler")]
        steps = [
            update["at"] - max(at for at in pulls if at < update["at"])
            for update in fleet.updates("straggler", since, until)
            if any(since < at < update["at"] for at in pulls)
        ]
        assert steps and min(steps) > 0.8 and median(steps) < 1.0 + 0.15  # the link's delay
    computing = [record["compute"] for record in fleet.updates("straggler", 4.1, 17.8)]
    assert median(computing) < 0.4
    after = [record["at"] for record in fleet.updates("straggler", 18.7, 20.4)]
    assert len(after) > 2 and len(fleet.updates("calm", 4.3, 8.0)) > 5
    assert fleet.incarnations("straggler") == [0, 1]


def test_a_device_that_overheats_computes_more_slowly(fleet):
    """Ten times, within 60 ms of computing, and as fast as before once the fault is over."""
    assert fleet.acts("heated") == [("heat", 6.6), ("cool", 18.6)]
    (heat,) = fleet.said("heat")
    assert heat["setting"] == {"slowdown": 10.0, "heats": 0.06, "cools": 60.0}
    before, hot, after = (
        median(update["compute"] for update in fleet.updates("heated", since, until))
        for since, until in ((0.0, 6.6), (12.0, 18.6), (19.5, END))
    )
    assert hot > 4 * max(before, after)


def test_a_worker_stands_still_while_its_quota_is_lifted(fleet):
    looks = [look for look in fleet.samples["quota"] if look.at > 0]
    assert all(look.stopped for look in looks if look.quota is None)
    (press,), (release,) = (fleet.said(what, node="quota") for what in ("press", "release"))
    for since, until in ((press["at"], release["planned"]), (release["at"], END)):
        assert not [look.at for look in looks if look.stopped and since + 1.0 < look.at < until]
    assert fleet.updates("quota", press["at"], 20.4) and fleet.incarnations("quota") == [0]


PRESSED = [
    ("quota", 12.2, 14.6, 0.3, 256 << 20),
    ("small", 15.0, 22.0, 0.75, 256 << 20),
    ("large", 16.0, 23.0, 0.75, 512 << 20),
]


@pytest.mark.parametrize(("node", "begin", "end", "share", "limit"), PRESSED)
def test_memory_is_held_once_it_is_on_record(fleet, node, begin, end, share, limit):
    """By the kernel's count of bytes, seen from outside."""
    (press,), (release,) = (fleet.said(what, node=node) for what in ("press", "release"))
    looks, taken = fleet.samples[node], share * limit
    before = [look.memory for look in looks if look.at < begin - CLOCKS][-1]
    first = next(look.memory for look in looks if look.at > press["at"] + CLOCKS)
    after = next(look.memory for look in looks if look.at > release["at"] + CLOCKS)
    own = 0 if node == "small" else before  # whose worker is killed
    assert before < own + 0.95 * taken < first, (before, first)
    assert after < first - 0.9 * taken, (first, after)
    assert press["setting"] == {"share": share}


def test_memory_is_taken_and_released(fleet):
    """Both devices have the same pressure, and one has the memory for it."""
    for node, begin, end in (("small", 15.0, 22.0), ("large", 16.0, 23.0)):
        assert list(fleet.acts(node)) == [("press", begin), ("release", end)]
        taken, *again, released = fleet.changes(node, lambda look: look.pressers)
        assert taken.value == 1 and taken.within(begin, TAKEN)
        assert released.value == 0 and released.within(end, TAKEN)
        # the kernel may kill the other process beside the worker; it is soon there again
        if again:
            killed, anew = again
            assert node == "small" and anew.at - killed.before < 1.0
        (press,) = fleet.said("press", node=node)
        assert press["setting"] == {"share": 0.75} and press["fault"] == "memory"


def test_a_worker_without_memory_is_killed_and_boots_when_it_is_released(fleet):
    (end,) = fleet.said("exit")
    assert (end["node"], end["code"], end["cause"]) == ("small", -9, "limit")
    assert 15.0 <= end["at"] < 21.9  # the other process has to start
    down, up = fleet.changes("small", lambda look: look.part)
    assert down.value is None and abs(down.at - end["at"]) < 0.3
    assert up.value and up.within(22.0, TAKEN)
    assert fleet.incarnations("small") == [0, 1] and set(fleet.incarnations("large")) == {0}
    times = [record["at"] for record in fleet.said("update", node="small")]
    assert not [at for at in times if end["at"] + 0.5 < at < 22.0] and times[-1] > 22.0
    assert fleet.changes("large", lambda look: look.part) == []


def test_every_container_may_open_the_files_that_the_probe_found(fleet):
    asked, given = zip(*fleet.files.values(), strict=True)
    assert len(fleet.files) > 26 and set(asked) == set(given) and len(set(given)) == 1
