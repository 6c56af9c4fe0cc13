"""Runs in segments learn what a whole run learns, bit for bit, with every codec and pull."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.virtual_world import played

TEXT = """
# Do segments change what is learnt?
name: cut
seed: 4
training: {dataset: digits, model: digits-mlp, batch_size: 8, codec: dense}
evaluate: {every: 1000}
stop: {updates: 25}
virtual: {learner: numpy, step: 20ms, boot: 50ms, layers: {forward: [1, 2, 1], backward: [2, 4, 2]}}
devices:
  - {name: home, link: fios}
"""
SCHEDULES = ["layer-by-layer", "ibatch", "{kind: dynacomm, replan: 3}"]
CODECS = [
    "{kind: topk, keep: 5%, values: int8, indices: auto}",
    pytest.param("{kind: threshold, threshold: 0.01}", marks=pytest.mark.slow),
    "{kind: dgc, keep: 1%, warm_up: 1}",
    "{kind: dryden, keep: 5%}",
    "{kind: strom, threshold: 0.01}",
    "adacomp-residual",
    pytest.param("onebit", marks=pytest.mark.slow),
    "ef-signsgd",
    pytest.param("signsgd", marks=pytest.mark.slow),
    "terngrad",
]


def updates(runs: Path, *overrides: str) -> list[dict[str, Any]]:
    """The records of the updates of a run."""
    folder, summary, _ = played(runs, *overrides, text=TEXT)
    assert summary["outcome"] == "success"
    records = map(json.loads, (folder / "run.jsonl").read_text().splitlines())
    return [record for record in records if record["what"] == "update"]


def assert_the_same_is_learnt(runs: Path, *overrides: str) -> None:
    """Compare loss and entries of each update of each schedule with those of a whole run."""
    whole = updates(runs, *overrides)
    assert len(whole) == 25
    for schedule in SCHEDULES:
        cut = updates(runs, *overrides, f"training.schedule={schedule}")
        for one, other in zip(whole, cut, strict=True):
            assert (other["loss"], other["entries"]) == (one["loss"], one["entries"])


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
def test_segments_change_no_bit_of_what_is_learnt(codec: str, tmp_path: Path) -> None:
    assert_the_same_is_learnt(tmp_path, f"training.codec={codec}")


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["{kind: topk, keep: 5%}", "terngrad"])
def test_nor_do_they_with_error_feedback(codec: str, tmp_path: Path) -> None:
    assert_the_same_is_learnt(tmp_path, f"training.codec={codec}", "training.error_feedback=true")


@pytest.mark.mostly_slow
@pytest.mark.parametrize("values", ["f32", "f16"])
@pytest.mark.parametrize("kind", ["dense", "delta"])
def test_nor_do_they_with_coded_pulls(kind: str, values: str, tmp_path: Path) -> None:
    pull = f"training.pull={{kind: {kind}, values: {values}}}"
    assert_the_same_is_learnt(tmp_path, "training.codec={kind: topk, keep: 2%}", pull)
