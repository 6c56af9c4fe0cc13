"""Crashes that keep the state, in virtual time: a lone device learns as if it had never crashed."""

from pathlib import Path

import pytest

from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import played

WORLD = """
name: keeping
seed: 3
training: {{dataset: digits, model: digits-mlp, batch_size: 8, {codec}}}
evaluate: {{every: 1000}}
stop: {{updates: 60}}
virtual: {{learner: numpy, step: 100ms, boot: 50ms, serve: 0s, tcp: false}}
devices: [{{name: a, link: {{down: {{delay: 30ms}}}}}}]
faults: [{faults}]
"""
CODECS = [
    "codec: {kind: topk, keep: 5%}, error_feedback: true",
    "codec: {kind: qsgd, levels: 4}",
    "codec: {kind: dgc, keep: 1%}",
    "codec: dense",
]
CRASHES = ", ".join(
    f"{{kind: crash, nodes: [a], at: {at}ms, lasts: 300ms%s}}" for at in (1000, 2333, 3666)
)


def losses(tmp_path: Path, codec: str, faults: str) -> list[tuple[float, int]]:
    folder, _, _ = played(tmp_path, text=WORLD.format(codec=codec, faults=faults))
    records: list[PlainRecord] = list(read(folder / "run.jsonl"))
    assert len([r for r in records if r["what"] == "hello" and r["node"] == "a"]) == (
        4 if faults else 1
    )
    return [(r["loss"], r["values"] + r["indices"]) for r in records if r["what"] == "update"]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("codec", CODECS)
def test_a_device_that_keeps_its_state_sends_the_same_updates(tmp_path: Path, codec: str) -> None:
    calm = losses(tmp_path, codec, "")
    assert losses(tmp_path, codec, CRASHES % ((", keeps: state",) * 3)) == calm
    assert losses(tmp_path, codec, CRASHES % (("",) * 3)) != calm
