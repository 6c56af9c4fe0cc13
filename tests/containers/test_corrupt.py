"""Flipped bits in the messages of containers: refused, counted, survived."""

import pytest

from emulator.core.checksum import MISMATCH
from tests.containers.conftest import TINY

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

CORRUPT = "faults:\n  - {kind: corrupt, nodes: [right], at: 4s, lasts: 6s, messages: 20%}\n"


def test_flipped_bits_are_refused_and_the_device_goes_on(play):
    run = play(TINY.replace("updates: 300, time: 60s", "time: 14s") + CORRUPT)
    (began,), (ended,) = run.said("garble"), run.said("clear")
    assert (began["planned"], ended["planned"]) == (4.0, 10.0)
    assert began["setting"] == {"share": 0.2} and began["fault"] == "corrupt"
    print("late", began["at"] - 4, ended["at"] - 10)
    refused = run.said("refused")
    number = sum(record.get("count", 1) for record in refused)
    print("refused", number)
    assert number >= 5 and {record["node"] for record in refused} == {"right"}
    assert {r["reason"] for r in refused} == {MISMATCH}
    # of many refusals the last record is written at the run's end
    assert all(began["at"] <= r["at"] <= ended["at"] + 0.5 for r in refused[:-1])
    updates = [r["at"] for r in run.said("update", node="right")]
    assert [at for at in updates if 4.5 < at < 9.5] and [at for at in updates if at > 10.5]
    assert {r["incarnation"] for r in run.said("hello")} == {0}
    assert not run.said("exit") and run.summary["outcome"] == "success"


def test_a_barrier_goes_on_without_the_lost_updates(play):
    text = TINY.replace("updates: 300, time: 60s", "time: 16s").replace(
        "algorithm: adacomp", "codec: dense, synchronization: {kind: barrier, patience: 2s}"
    )
    run = play(text + CORRUPT)
    assert run.said("refused")
    for node in ("left", "right"):
        at = [record["at"] for record in run.said("update", node=node)]
        assert [each for each in at if 4 < each < 10] and [each for each in at if each > 13]
    assert run.summary["outcome"] == "success"
