"""Devices that lie in virtual time: what the server's model makes of it, and for how long."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.fakes.plain_records import read
from tests.fakes.virtual_world import played

WORLD = """
name: liar
seed: 3
training: {dataset: digits, model: digits-mlp, batch_size: 8, learning_rate: 0.1, codec: dense}
evaluate: {every: 100}
stop: {updates: 3}
virtual: {learner: numpy, step: 100ms, boot: 500ms, serve: 0s, tcp: false,
  layers: {forward: [1, 1, 1], backward: [1, 1, 1]}}
devices: [{name: a}]
"""

PARTS = {
    "whole": (),
    "with a memory": ("training.codec={kind: topk, keep: 100%}", "training.error_feedback=true"),
    "in segments": ("training.schedule=layer-by-layer",),
    "cut": ("training.fully_connected={place: {after: 1}}",),
}


def model(folder: Path, updates: int, *overrides: str) -> NDArray[np.float32]:
    folder.mkdir()
    stop = f"stop.updates={updates}"
    path, summary, _ = played(folder, *(stop, *overrides), text=WORLD)
    assert summary["updates"] == updates
    with np.load(path / "model.npz") as saved:
        names = [name for name in saved.files if saved[name].dtype == np.float32]
        return np.concatenate([saved[name].ravel() for name in names])


@pytest.mark.parametrize("part", PARTS)
def test_a_lie_from_the_next_gradient_on_changes_the_model(tmp_path: Path, part: str) -> None:
    """The gradients begin at 0, 0.1 and 0.2 s: the second one is a lie, the third is not."""
    lie = "faults=[{kind: byzantine, nodes: [a], at: 50ms, lasts: 100ms, by: 2}]"
    overrides = PARTS[part]
    first = model(tmp_path / "1", 1, *overrides)
    honest = model(tmp_path / "2", 2, *overrides)
    lied = model(tmp_path / "3", 2, *overrides, lie)
    moved, turned = honest - first, lied - first
    if part == "cut":  # the server's layers learn from activations, which are honest
        own = np.abs(turned - moved) > 1e-9
        assert 0 < own.sum() < own.size
        moved, turned = moved[own], turned[own]
    np.testing.assert_allclose(turned, -2 * moved, rtol=1e-3, atol=1e-7)


def test_the_log_has_the_lie_and_its_end(tmp_path: Path) -> None:
    faults = "faults=[{kind: byzantine, lie: noise, nodes: [a], at: 50ms, lasts: 100ms}]"
    folder, _, _ = played(tmp_path, faults, text=WORLD)
    lies = [r for r in read(folder / "run.jsonl") if r["what"] in ("falsify", "reform")]
    common = {"node": "a", "fault": "byzantine"}
    setting = {"lie": "noise", "by": 10.0}
    assert lies == [
        {"what": "falsify", "at": 0.05, **common, "begins": True, "planned": 0.05}
        | {"setting": setting},
        {"what": "reform", "at": 0.15, **common, "begins": False, "planned": 0.15},
    ]


def test_a_device_that_boots_goes_on_lying(tmp_path: Path) -> None:
    crash = "{kind: crash, nodes: [a], at: 250ms, lasts: 1s}"
    lie = "{kind: byzantine, lie: same-value, by: 1, nodes: [a], at: 50ms}"
    faults = f"faults=[{crash}, {lie}]"
    first, last = model(tmp_path / "1", 1, faults), model(tmp_path / "5", 5, faults)
    np.testing.assert_allclose(last - first, -0.1 * 4, rtol=1e-4)


@pytest.mark.slow
def test_a_trimmed_mean_withstands_a_liar_that_turns_the_mean(tmp_path: Path) -> None:
    overrides = (
        *("devices[0].count=7", "stop.updates=350", "training.synchronization=barrier"),
        "faults=[{kind: byzantine, nodes: [a-6], at: 0s, by: 20}]",
    )
    accuracies = {}
    for aggregation in ("mean", "{kind: trimmed-mean, trim: 20%}", "{kind: krum, liars: 1}"):
        chosen = f"training.aggregation={aggregation}"
        folder = tmp_path / str(len(accuracies))
        folder.mkdir()
        _, summary, _ = played(folder, *overrides, chosen, text=WORLD)
        accuracies[aggregation] = summary["final_accuracy"] or 0.0
    mean, *robust = accuracies.values()
    assert mean < 0.3
    assert min(robust) > mean + 0.3, accuracies
