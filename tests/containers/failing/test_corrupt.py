"""Flipped bits in encrypted messages of containers: refused, and no step waits for long."""

import pytest

from emulator.core.wire import MISMATCH
from tests.containers.conftest import TINY

pytestmark = [pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(180)]

CORRUPT = "faults:\n  - {kind: corrupt, nodes: [right], at: 2s, lasts: 4s, messages: 20%}\n"


def test_an_encrypted_barrier_goes_on_without_the_lost_updates(play):
    text = TINY.replace("updates: 300, time: 60s", "time: 10s").replace(
        "algorithm: adacomp", "codec: dense, synchronization: {kind: barrier, patience: 2s}"
    )
    run = play(text + "server: {encrypt: true}\n" + CORRUPT)
    (began,), (ended,) = run.said("garble"), run.said("clear")
    assert 2.0 <= began["at"] < 2.3 and 6.0 <= ended["at"] < 6.3
    refused = run.said("refused")
    assert refused and {r["reason"] for r in refused} == {MISMATCH}
    assert {r["node"] for r in refused} == {"right"}
    # of many refusals the last record is written at the run's end
    assert all(began["at"] <= r["at"] <= ended["at"] + 0.5 for r in refused[:-1])
    for node in ("left", "right"):
        at = [record["at"] for record in run.said("update", node=node)]
        assert [each for each in at if 2 < each < 6] and [each for each in at if each > 8.5]
    assert {r["incarnation"] for r in run.said("hello")} == {0}
    assert not run.said("exit") and run.summary["outcome"] == "success"
