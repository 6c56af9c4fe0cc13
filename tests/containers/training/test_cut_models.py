"""Containers that train a cut model: devices hold the first layers, the server the others."""

import json

import numpy as np
import pytest

from emulator.core.cut.activation_values import crossing_bytes
from emulator.core.plan import Cut
from emulator.learning.models import find

from ..conftest import Outcome
from ..same_order import replay

pytestmark = [pytest.mark.docker, pytest.mark.timeout(400)]

SCENARIO = """
name: cut
seed: 5
training: {dataset: mnist, model: MODEL, algorithm: bsp CUT}
evaluate: {every: 1000}
stop: {updates: UPDATES, time: 60s}
devices:
  - {name: peer, count: DEVICES}
"""
ROUNDING = 1e-5
"""Relative difference of losses that sums of float32 in another order may make in `EARLY` rounds.

A ReLU that such a difference turns on changes later losses by up to 1e-2.
"""
EARLY, ROUNDS = 6, 12


def scenario(model="mnist-cnn", cut="", updates=40, devices=2):
    section = f", fully_connected: {cut}" if cut else ""
    parts = {"MODEL": model, " CUT": section, "UPDATES": updates, "DEVICES": devices}
    text = SCENARIO
    for name, value in parts.items():
        text = text.replace(name, str(value))
    return text


def losses(run):
    """Return the losses of each device, in their order."""
    updates = run.said("update")
    return {
        node: [update["loss"] for update in updates if update["node"] == node]
        for node in {update["node"] for update in updates}
    }


def assert_bytes(run, model, cut, rows=10):
    """Check the bytes of each message against the products, and the interface against their sum."""
    sizes = crossing_bytes(find(model), cut, rows)
    part = 4 * find(model).layout.part((1, cut.layer)).size
    heads = 60 * sizes.messages
    for record in run.said("activations"):
        assert 0 < record["up"] - sizes.up < heads
        assert 0 < record["down"] - sizes.down < heads
    for record in run.said("update"):
        assert record["values"] == part
        assert record["headers"] + record["framing"] < 60
    assert all(0 < pull["bytes"] - part < 60 for pull in run.said("pull") if not evaluates(pull))
    summary = run.summary
    crossed = summary["activation_bytes"]
    received = summary["push_bytes"]["total"] + crossed["up"]
    sent = summary["pull_bytes"] + summary["evaluation_pull_bytes"] + crossed["down"]
    assert summary["server_rx_bytes"] == pytest.approx(received, rel=0.05)
    assert summary["server_tx_bytes"] == pytest.approx(sent, rel=0.05)


def evaluates(pull):
    return pull["node"] == "evaluator"


def assert_fresh(run):
    """Check that the server's layers made each step in the moment of its forward passes."""
    assert run.said("refused") == run.said("unsent") == []
    assert {record["staleness"] for record in run.said("activations")} == {0}
    assert len(run.said("activations")) >= len(run.said("update")) == run.summary["updates"]


@pytest.fixture
def play_twice(play, tmp_path, monkeypatch):
    """Play scenario text in containers, and in virtual time with the arrivals in the same order.

    Both runs have the same losses and the same final model, to the last bit.
    """

    def run(text):
        played = play(text)
        again = replay(tmp_path / "scenario.yaml", played, tmp_path / "again", monkeypatch)
        summary = json.loads((again.folder / "summary.json").read_text())
        virtual = Outcome({**summary, "run": again.folder})
        assert losses(played) == losses(virtual)
        assert np.array_equal(final_model(played), final_model(virtual))
        return played

    return run


def final_model(run):
    return np.load(run.folder / "model.npz")["theta"]


@pytest.mark.parametrize(
    ("model", "devices"),
    [("mnist-cnn", 2), pytest.param("mnist-lenet", 4, marks=pytest.mark.thorough)],
)
def test_merged_layers_train_as_unmerged_ones_wherever_labels_are(play_twice, model, devices):
    """Labels that stay at home cost an exchange more, and change no loss."""
    merged = play_twice(scenario(model, "{place: server}", ROUNDS * devices, devices))
    whole = play_twice(scenario(model, "", ROUNDS * devices, devices))
    assert merged.summary["outcome"] == whole.summary["outcome"] == "success"
    assert_fresh(merged)
    assert_bytes(merged, model, Cut(2))
    left, right = losses(merged), losses(whole)
    assert left.keys() == right.keys() and len(left) == devices
    assert len(left["peer-0"]) == ROUNDS
    assert_close(left, right)
    assert final_model(merged).size == find(model).layout.size
    cut = "{place: server, labels: local}"
    local = play_twice(scenario(model, cut, ROUNDS * devices, devices))
    assert_fresh(local)
    assert_bytes(local, model, Cut(2, labels="local"))
    assert_close(losses(local), left)


def assert_close(left, right):
    for node, values in left.items():
        assert values[:EARLY] == pytest.approx(right[node][:EARLY], rel=ROUNDING)


def test_half_precision_halves_the_activations(play):
    run = play(scenario(cut="{place: {after: conv1}, values: f16}", updates=60))
    assert_fresh(run)
    assert_bytes(run, "mnist-cnn", Cut(2, values="f16"))
    values = [update["loss"] for update in run.said("update")]
    assert sum(values[-10:]) < 0.8 * sum(values[:10])


FAULTS = """
# Do the groups go on while a member is down, and another one cut off?
name: cut-under-faults
seed: 5
training:
  dataset: mnist
  model: mnist-cnn
  codec: {kind: topk, keep: 1%}
  synchronization: {kind: groups, groups: 2, patience: 2s}
  fully_connected: {place: server}
evaluate: {every: 1000}
stop: {time: 11s}
devices:
  - {name: peer, count: 4, link: {up: {rate: 50mbit}, down: {rate: 50mbit}}}
faults:
  - {kind: crash, nodes: [peer-0], at: 2s, lasts: 2s}
  - {kind: partition, nodes: [peer-3], at: 3s, lasts: 3s}
"""


def test_groups_go_on_when_members_crash_or_are_cut_off(play):
    run = play(FAULTS)
    assert (run.summary["outcome"], run.summary["stop"]) == ("success", "time")
    assert {record["staleness"] for record in run.said("activations")} == {0}
    assert run.summary["faults_realised"] == 2
    begun = {record["node"] for record in run.records if record.get("begins")}
    assert begun == {"peer-0", "peer-3"}
    for node in ("peer-0", "peer-1", "peer-2", "peer-3"):
        last = max(update["at"] for update in run.said("update", node=node))
        assert last > 7, f"{node} pushed last at {last} s"
    stops = {update["at"] for update in run.said("update") if 2 < update["at"] < 6}
    assert len(stops) > 5  # the others did not wait for the end of the faults
