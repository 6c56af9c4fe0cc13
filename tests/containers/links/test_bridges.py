"""A run on several bridges: every device trains with the server, whose link is one link."""

import json

import pytest

from emulator.runs.conductor import ProgressView
from emulator.runtimes.docker.play_containers import play
from emulator.scenario import cores_and_memory, loads
from tests.containers.conftest import left

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

SCENARIO = """
name: bridges
training: {{dataset: digits, model: digits-mlp, algorithm: adacomp, learning_rate: 0.1}}
evaluate: {{every: 50}}
stop: {{updates: 120, time: 60s}}
server: {{link: {link}}}
devices:
  - {{name: home, count: 5, profile: {{memory: 256MiB}}, link: {{up: {{rate: 5mbit, delay: 5ms}}}}}}
"""


@pytest.mark.parametrize("link", ["{}", "{up: {rate: 20mbit, delay: 5ms}}"], ids=["plain", "boxed"])
def test_every_device_of_several_bridges_trains(client, tmp_path, monkeypatch, link):
    monkeypatch.setattr(cores_and_memory, "PORTS", 4)  # 5 devices and the evaluator: two bridges
    folder, _ = play(loads(SCENARIO.format(link=link)), tmp_path, ProgressView())
    records = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    senders = {each["node"] for each in records if each["what"] == "update"}
    assert senders == {f"home-{number}" for number in range(5)}
    sent = sum(
        each["tx"] for each in records if each["what"] == "traffic" and each["node"] == "server"
    )
    assert sent > 0
    assert not left(client, tmp_path)
