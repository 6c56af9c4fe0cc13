"""A server of several containers: each holds layers of its own, and trains as one server does."""

import json
import os
import signal
import time

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


def part_of(client, tmp_path, name):
    """Return the process of the part of the container `name` on this host."""
    (shard,) = (c for c in running(client, tmp_path) if c.name.endswith(f"-{name}"))
    rows = shard.top(ps_args="-eo pid,args")["Processes"]
    (role,) = (int(pid) for pid, arguments in rows if "part.role" in arguments)
    return role


def finished(process, tmp_path, name):
    """Wait for the end of `emulate run`; return the run, and what it has said."""
    said = process.communicate(timeout=200)[0]
    folder = tmp_path / f"runs/{name}/latest"
    summary = json.loads((folder / "summary.json").read_text())
    return Outcome({"run": folder.resolve(), **summary}), said


def goes_through_versions(run, name="update"):
    """Check that no update is missing or doubled, and that `model.npz` has the last version."""
    updates = run.said("update")
    assert [record["version"] for record in updates] == [*range(1, len(updates) + 1)]
    assert not any(record["lost"] for record in run.said("recovered"))
    assert np.load(run.folder / "model.npz")["version"] == len(updates)


FAR = "{rate: 20mbit, delay: 10ms}"
"""A side of a link on which a round takes at least 40 ms."""
DURABLE = ALIKE.replace("server: {", "server: {durability: update, ")


def test_killed_shards_leave_the_model_of_one_server(start, client, tmp_path):
    """A follower and the leader die; then a fault kills all at once. In rounds the model is that of
    one server without any death, to the last bit."""
    text = DURABLE.replace("updates: 201", "updates: 1800").replace("every: 67", "every: 600")
    text = text.replace("devices:", "faults: [{kind: server-crash, at: 15s, lasts: 1s}]\ndevices:")
    text = text.replace("count: 3", f"count: 3, link: {{up: {FAR}, down: {FAR}}}")
    process = start(text)
    log = tmp_path / "runs/sharded/latest/server/run.jsonl"
    until(lambda: log.exists() and log.read_bytes().count(b'"update"') > 20, 60)
    os.kill(part_of(client, tmp_path, "server_2"), signal.SIGKILL)
    seen = log.read_bytes().count(b'"update"')
    until(lambda: log.read_bytes().count(b'"update"') > seen + 30, 60)
    os.kill(part_of(client, tmp_path, "server"), signal.SIGKILL)
    run, _ = finished(process, tmp_path, "sharded")
    assert run.summary["outcome"] == "success"
    goes_through_versions(run)
    gone = {(record["node"], record["code"]) for record in run.said("exit")}
    assert gone == {("server", -9), ("server_2", -9)}
    assert all(record["returns"] for record in run.said("exit"))
    assert [record["node"] for record in run.said("kill")] == ["server"]
    assert run.summary["server_recoveries"] == 2
    one = emulator.run(
        tmp_path / "scenario.yaml",
        on="virtual",
        runs=tmp_path / "again",
        set={"server.shards": 1, "server.durability": "none", "faults": []},
    )
    mine, other = (np.load(each / "model.npz") for each in (run.folder, one.folder))
    assert mine["version"] == other["version"]
    assert mine["theta"].tobytes() == other["theta"].tobytes()


ENDURING = """
# Do shards go on through the deaths of each of them, with devices that pull patches?
name: enduring
training:
  {dataset: digits, model: digits-mlp, algorithm: adacomp-ef, learning_rate: 0.1,
   pull: {kind: delta, values: f32}}
stop: {time: 40s}
evaluate: {every: 200}
server: {shards: 3, durability: update, encrypt: true, checkpoint: {every: 3s}}
faults:
  - {kind: server-crash, at: 20s, lasts: 2s}
devices:
  - {name: pi, count: 4, link: {up: {rate: 2mbit, delay: 5ms}, down: {rate: 4mbit, delay: 5ms}}}
"""


@pytest.mark.thorough
def test_each_shard_is_killed_again_and_again(start, client, tmp_path):
    process = start(ENDURING)
    log = tmp_path / "runs/enduring/latest/server/run.jsonl"
    until(lambda: log.exists() and log.read_bytes().count(b'"update"') > 20, 60)
    for name in ("server_2", "server_3", "server", "server_2", "server", "server_3"):
        until(lambda name=name: _there(client, tmp_path, name), 30)
        os.kill(part_of(client, tmp_path, name), signal.SIGKILL)
        time.sleep(3.0)
    run, said = finished(process, tmp_path, "enduring")
    assert run.summary["outcome"] == "success", said
    goes_through_versions(run)
    assert len(run.said("exit")) >= 5 and run.summary["server_recoveries"] >= 2
    assert max(record["at"] for record in run.said("update")) > 35
    assert run.said("evaluation")[-1]["version"] == len(run.said("update"))


def _there(client, tmp_path, name):
    try:
        return part_of(client, tmp_path, name)
    except ValueError:  # it is down
        return False


@pytest.mark.thorough
def test_a_run_with_shards_is_resumed_after_its_conductor_died(start, emulate, client, tmp_path):
    process = start(
        ENDURING.replace("40s", "15s").replace("at: 20s, lasts: 2s", "at: 10s, lasts: 1s")
    )
    folder = tmp_path / "runs/enduring/latest"
    log = folder / "server/run.jsonl"
    until(lambda: log.exists() and log.read_bytes().count(b'"update"') > 40, 60)
    process.kill()
    process.wait()
    until(lambda: not running(client, tmp_path), 60)
    before = log.read_bytes().count(b'"update"')
    emulate("report", "enduring")  # draws what is known; the model is that of the shards' files
    model = np.load(folder / "model.npz")
    assert before <= model["version"] <= before + 1
    emulate("resume", "enduring", "--no-report")
    run = Outcome({"run": folder, **json.loads((folder / "summary.json").read_text())})
    assert run.summary["outcome"] == "success"
    goes_through_versions(run)
    assert len(run.said("update")) > before + 40
    assert run.summary["server_recoveries"] == 2


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
    os.kill(part_of(client, tmp_path, "server_2"), signal.SIGKILL)
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
