"""Every shipped link preset, failure profile and device profile plays in containers."""

import json

import pytest

from tests.cover import LIBRARY
from tests.cover.dealt_fleets import each
from tests.pages.documented_keys import DOCUMENTED

pytestmark = [pytest.mark.docker, pytest.mark.timeout(200)]

SECONDS = {"link": 25, "failures": 10, "profile": 10}
"""Duration of the run of each key: a device on a LoRa link takes 20 s for its first update, any
other device some two."""
RESTS = "faults: [{kind: straggler, nodes: all, delay: 1s, at: 0s}]\n"
"""Leaves the host time, as a fleet would train on all its cores for nothing."""
AWAY = {"phone-charging-at-night", "commuter-phone"}
"""Profiles whose devices may be away when a run begins."""
GARBLED = {"faulty-router"}
"""Profiles that flip bits, and whose messages may be refused."""


@pytest.mark.parametrize("key", LIBRARY)
def test_a_device_with_each_profile_trains(play, key):
    run = play(each(LIBRARY[key], key, SECONDS[key]) + RESTS)
    assert run.summary["outcome"] == "success"
    assert {record["node"] for record in run.said("refused")} <= GARBLED
    manifest = json.loads((run.folder / "manifest.json").read_text())
    assert run.summary.keys() <= DOCUMENTED["summary"] | {"run"}
    assert manifest.keys() <= DOCUMENTED["manifest"]
    pushed = {record["node"] for record in run.said("update")}
    assert set(LIBRARY[key]) - pushed <= (AWAY if key == "failures" else set())
    assert {record["node"] for record in run.said("hello")} >= set(LIBRARY[key]) - AWAY
