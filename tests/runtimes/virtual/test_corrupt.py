"""Flipped bits in virtual time: refused, counted, and survived by every kind of exchange."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import analysis
from analysis.pages.run_warnings import warnings
from emulator.core.server.parameter_server import ParameterServer
from emulator.core.wire.messages import Update
from emulator.errors import WireError
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

ALL = "faults=[{kind: corrupt, nodes: [b], at: 500ms, lasts: 4s, messages: 100%}]"
"""On a link without a delay: nothing but its own pace keeps the device from asking for ever."""


def records(folder: Path, *overrides: str) -> list[dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    path, _, _ = played(folder, *overrides, text=WORLD)
    return list(read(path / "run.jsonl"))


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.mostly_slow
@pytest.mark.parametrize("part", PARTS)
def test_messages_that_all_have_flipped_bits_cost_few_events(tmp_path: Path, part: str) -> None:
    """Of a device without a link's delay, at most a thousand refusals in 100 s: ten a second."""
    words = ALL.replace("lasts: 4s", "lasts: 100s"), "stop.time=101s", *PARTS[part]
    _, summary, _ = played(tmp_path, *words[:2], *_without_faults(words[2:]), text=WORLD)
    assert 900 < summary["refused"] < 1020


def _without_faults(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if not word.startswith("faults")]


@pytest.mark.slow
def test_a_run_tells_whose_messages_all_had_flipped_bits(tmp_path: Path) -> None:
    folder, _, _ = played(tmp_path, ALL, "stop.time=5s", text=WORLD)
    (warning,) = warnings(analysis.read(folder))
    assert "messages were refused, from b" in warning


def test_a_device_in_quarantine_gets_no_answer_to_a_question_with_flipped_bits(
    tmp_path: Path,
) -> None:
    rule = "server.quarantine={refusals: 3, within: 1s, lasts: 500ms}"
    heard = records(tmp_path, ALL, "stop.time=5s", rule)
    begins = [r["at"] for r in heard if r["what"] == "quarantine" and r["until"]]
    counts = [r.get("count", 1) for r in heard if r["what"] == "refused"]
    # the refusals that bring it into quarantine, and at most a question that came again by itself
    assert begins and sum(counts) <= 4 * len(begins)


SHORT = "faults=[{kind: corrupt, nodes: [b], at: 2s, lasts: 1s, messages: 100%}]"


AWAITED = {
    **{part: PARTS[part] for part in ("in segments", "cut", "durable")},
    "barrier": ("training.synchronization={kind: barrier, patience: 20s}",),
    "local-sgd": ("training.synchronization={kind: local-sgd, steps: 2, patience: 20s}",),
    "softsync": ("training.synchronization=softsync",),
}


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("part", AWAITED)
def test_a_device_takes_part_again_soon_after_its_quarantine(tmp_path: Path, part: str) -> None:
    rule = "server.quarantine={refusals: 3, within: 1s, lasts: 3s}"
    heard = records(tmp_path, SHORT, "stop.time=8s", *AWAITED[part], rule)
    begin, until = next((r["at"], r["until"]) for r in heard if r["what"] == "quarantine")
    assert 2 <= begin < 3 and until == pytest.approx(begin + 3)
    pulls = [r["at"] for r in heard if r["what"] == "pull" and r["node"] == "b"]
    # its time-out is 30 s: the server has told it
    assert min(at for at in pulls if at > begin) < until + 0.1
    updates = sorted({r["at"] for r in heard if r["what"] == "update" and r["at"] > begin})
    assert max(later - at for at, later in pairwise(updates)) < 2


LATE = (
    "faults=[{kind: slow, nodes: [b], at: 2s, lasts: 3s, factor: 10%}]",
    "training.synchronization={kind: local-sgd, steps: 2, patience: 1s}",
)
RULE = "server.quarantine={refusals: 1, within: 1s, lasts: 3s}"


def test_a_slow_device_whose_updates_come_too_late_goes_into_no_quarantine(tmp_path: Path) -> None:
    heard = records(tmp_path, *LATE, RULE, "stop.time=10s")
    refused = [r["reason"] for r in heard if r["what"] == "refused" and r["node"] == "b"]
    assert refused and all("too late" in reason for reason in refused)
    assert not [r for r in heard if r["what"] == "quarantine"]


def test_without_checksums_the_server_tells_of_the_end_of_a_quarantine_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = ParameterServer.receive

    def doubting(server: ParameterServer, message: Any, now: float) -> Any:
        if isinstance(message, Update) and message.node == "b" and 2 < now < 3:
            raise WireError("made up: flipped bits would need checksums")
        return receive(server, message, now)

    monkeypatch.setattr(ParameterServer, "receive", doubting)
    heard = records(tmp_path, LATE[1], RULE, "stop.time=10s")
    (until,) = [r["until"] for r in heard if r.get("until") is not None]
    pulls = [r["at"] for r in heard if r["what"] == "pull" and r["node"] == "b"]
    assert min(at for at in pulls if at > until - 2) < until + 1


def test_nobody_waits_for_a_device_that_is_down_when_its_quarantine_ends(tmp_path: Path) -> None:
    rule = "server.quarantine={refusals: 3, within: 1s, lasts: 3s}"
    faults = SHORT[:-1] + ", {kind: crash, nodes: [b], at: 3.5s, lasts: 4s}]"
    kind = "training.synchronization={kind: barrier, patience: 20s}"
    heard = records(tmp_path, faults, "stop.time=10s", kind, rule)
    alone = [r["at"] for r in heard if r["what"] == "update" and r["node"] == "a"]
    assert len([at for at in alone if 5.5 < at < 7.5]) > 5
