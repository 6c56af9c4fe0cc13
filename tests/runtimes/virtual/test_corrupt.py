"""Flipped bits in virtual time: refused, counted, and survived by every kind of exchange."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plain_records import read
from tests.fakes.virtual_world import played

WORLD = """
name: noisy
seed: 3
training: {dataset: digits, model: digits-mlp, batch_size: 8, learning_rate: 0.1, codec: dense}
evaluate: {every: 100}
stop: {time: 60s}
virtual: {learner: numpy, step: 100ms, boot: 500ms, serve: 0s,
  layers: {forward: [1, 1, 1], backward: [1, 1, 1]}}
devices:
  - {name: a, link: {up: {rate: 8mbit, delay: 10ms}, down: {rate: 8mbit, delay: 10ms}}}
  - {name: b}
"""
CORRUPT = "faults=[{kind: corrupt, nodes: [a], at: 10s, lasts: 20s, messages: 20%}]"

PARTS = {
    "whole": (),
    "nothing learnt": ("virtual.learner=none",),
    "patches": ("training.pull=delta",),
    "in segments": ("training.schedule=layer-by-layer",),
    "cut": ("training.fully_connected={place: {after: 1}}",),
    "barrier": ("training.synchronization={kind: barrier, patience: 5s}",),
    "durable": ("server.durability=update",),
    "a crash meanwhile": (
        "faults=[{kind: corrupt, nodes: [a], at: 10s, lasts: 20s, messages: 20%},"
        " {kind: crash, nodes: [a], at: 15s, lasts: 2s}]",
    ),
}


def records(folder: Path, *overrides: str) -> list[dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    path, _, _ = played(folder, *overrides, text=WORLD)
    return list(read(path / "run.jsonl"))


@pytest.mark.parametrize("part", PARTS)
def test_flipped_bits_are_refused_and_the_run_goes_on(tmp_path: Path, part: str) -> None:
    heard = records(tmp_path, CORRUPT, *PARTS[part])
    refused = [record for record in heard if record["what"] == "refused"]
    assert sum(record.get("count", 1) for record in refused) >= 5
    assert {record["node"] for record in refused} == {"a"}
    reasons = {record["reason"] for record in refused}
    # an update whose first piece was refused misses this piece
    others = {reason for reason in reasons if "checksum" not in reason}
    assert len(others) < len(reasons)
    assert all(part == "in segments" and "expected layers" in other for other in others)
    # of many refusals the rest is recorded at the end
    assert all(10 <= record["at"] <= 31 or record["at"] == 60 for record in refused)
    updates = [r["at"] for r in heard if r["what"] == "update" and r["node"] == "a"]
    assert len([at for at in updates if 10 < at < 30]) > 5
    assert len([at for at in updates if at > 35]) > 20
    assert [record["at"] for record in heard if record["what"] == "stop"] == [60]


def test_the_log_has_the_fault_and_the_same_seed_the_same_bytes(tmp_path: Path) -> None:
    first, again = (records(tmp_path / name, CORRUPT) for name in "ab")
    assert first == again
    flips = [r for r in first if r["what"] in ("garble", "clear")]
    assert [(r["what"], r["at"], r.get("setting")) for r in flips] == [
        ("garble", 10.0, {"share": 0.2}),
        ("clear", 30.0, None),
    ]


def test_messages_carry_checksums_from_the_start_and_only_with_the_fault(tmp_path: Path) -> None:
    def pulls(folder: Path, *overrides: str) -> set[int]:
        heard = records(folder, "stop={time: 5s}", *overrides)
        return {record["bytes"] for record in heard if record["what"] == "pull"}

    plain, checked = pulls(tmp_path / "plain"), pulls(tmp_path / "checked", CORRUPT)
    assert min(checked) == min(plain) + 6 and max(checked) == max(plain) + 6
