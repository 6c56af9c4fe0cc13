"""A server of several containers: each holds layers of its own, and trains as one server does."""

import os
import signal

import numpy as np
import pytest

import emulator
from emulator.core.sharding.server_shards import balanced_shards
from emulator.learning import models
from tests.containers.conftest import Outcome, running, until
from tests.containers.training.sharded_scenario import ALIKE, SHARDS

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]


def test_shards_in_containers_have_the_losses_and_the_model_of_one_server(
    play, tmp_path, monkeypatch
):
    """Of one server in virtual time, to the last bit; evaluations are of consistent cuts."""
    run = play(ALIKE)
    one = emulator.run(
        tmp_path / "scenario.yaml",
        on="virtual",
        runs=tmp_path / "again",
        set={"server.shards": 1},
    )
    whole = Outcome({"run": one.folder})
    for what, key in (("update", "loss"), ("update", "divisor"), ("evaluation", "version")):
        assert sorted(r[key] for r in run.said(what)) == sorted(r[key] for r in whole.said(what))
    mine, other = (np.load(each.folder / "model.npz") for each in (run, whole))
    assert mine["theta"].tobytes() == other["theta"].tobytes()
    assert mine["version"] == 201
    scores = {r["version"]: r["loss"] for r in whole.said("evaluation")}
    for record in run.said("evaluation"):
        assert record["loss"] == pytest.approx(scores[record["version"]], rel=1e-5)
    assert run.said("refused") == run.said("unsent") == []
    assert {record["segments"] for record in run.said("update")} == {SHARDS}
    each_interface_carries_its_share(run)


def each_interface_carries_its_share(run):
    """Check the counters of the shards' interfaces against the parts that they hold."""
    last = {record["node"]: record for record in run.said("traffic")}
    names = [f"server_{number + 1}" for number in range(SHARDS)]
    for way in ("rx", "tx"):
        assert last["server"][way] == sum(last[name][way] for name in names)
    layout = models.find("digits-mlp").layout
    shares = balanced_shards(layout, SHARDS).shares(layout)
    pulled = 4 * layout.size * len(run.said("pull", node="pi-0")) * 3
    evaluated = sum(r["bytes"] for r in run.said("pull", node="evaluator"))
    for name, share, more in zip(names, shares, (evaluated, 0), strict=True):
        assert last[name]["tx"] == pytest.approx(share * pulled + more, rel=0.1)


LONG = """
name: long
training:
  {dataset: digits, model: digits-mlp, algorithm: adacomp-ef, learning_rate: 0.1,
   pull: {kind: delta, values: f16}}
stop: {time: 60s}
evaluate: {every: 2000}
server: {shards: 3}
devices:
  - {name: pi, count: 3, link: {up: {rate: 2mbit, delay: 5ms}, down: {rate: 4mbit, delay: 5ms}}}
"""


@pytest.mark.thorough
def test_a_shard_that_dies_ends_the_run_with_its_name(start, client, tmp_path):
    process = start(LONG)
    (shard,) = (c for c in running(client, tmp_path) if c.name.endswith("server_2"))
    (role,) = (
        int(pid)
        for pid, arguments in shard.top(ps_args="-eo pid,args")["Processes"]
        if "part.role" in arguments
    )
    os.kill(role, signal.SIGKILL)
    said = process.communicate(timeout=60)[0]
    assert "server_2 ended unasked: killed by signal 9" in said
    assert process.returncode == 1
    until(lambda: not running(client, tmp_path), 30)


FAILING = """
# Do shards lose no part when devices fail, and links and messages break?
name: failing
training:
  {dataset: digits, model: digits-mlp, algorithm: adacomp-ef, learning_rate: 0.1,
   pull: {kind: delta, values: f32}}
stop: {time: 25s}
evaluate: {every: 200}
server: {shards: 3, encrypt: true, checkpoint: {every: 5s}}
faults:
  - {kind: crash, nodes: [pi-0], at: 4s, lasts: 3s}
  - {kind: partition, nodes: [pi-1], at: 5s, lasts: 4s}
  - {kind: corrupt, nodes: [pi-2], at: 2s, lasts: 6s, messages: 10%}
  - {kind: leave, nodes: [pi-3], at: 8s, lasts: 3s}
devices:
  - {name: pi, count: 4, link: {up: {rate: 2mbit, delay: 5ms}, down: {rate: 4mbit, delay: 5ms}}}
"""


@pytest.mark.thorough
def test_devices_that_fail_leave_no_half_update(play):
    run = play(FAILING)
    updates = run.said("update")
    assert run.summary["outcome"] == "success"
    assert [record["version"] for record in updates] == [*range(1, len(updates) + 1)]
    assert {record["segments"] for record in updates} == {3}
    for name in ("pi-0", "pi-1", "pi-2", "pi-3"):
        assert any(record["at"] > 15 for record in run.said("update", node=name)), name
    model = np.load(run.folder / "model.npz")
    assert model["version"] == len(updates)
    assert np.isfinite(model["theta"]).all()
    assert len(run.said("checkpoint")) >= 3
    last = run.said("evaluation")[-1]
    assert last["version"] == len(updates)
