"""Containers that die unasked: on record with the reason, and the run goes on without them."""

import json
import subprocess
import time

import pytest

from tests.containers.conftest import EMULATE, TINY, Outcome, until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(120)]
WORLD = TINY.replace("updates: 300, time: 60s", "time: 8s").replace(
    "{name: right}", "{name: shot}\n  - {name: unplugged}"
)


def containers(client, tmp_path, device):
    """The container that plays the device in this test's run, once it is there."""
    label = [f"emulate.device={device}"]
    found = client.containers.list(filters={"label": label}, ignore_removed=True)
    return [c for c in found if c.labels["emulate.folder"].startswith(str(tmp_path))]


def latest(tmp_path):
    folder = tmp_path / "runs/tiny/latest"
    return Outcome({"run": folder, **json.loads((folder / "summary.json").read_text())})


def test_devices_that_are_shot_or_unplugged_are_told_of(start, client, tmp_path):
    process = start(WORLD)
    (shot,) = containers(client, tmp_path, "shot")
    (unplugged,) = containers(client, tmp_path, "unplugged")
    shot.kill()
    (name,) = unplugged.attrs["NetworkSettings"]["Networks"]
    client.networks.get(name).disconnect(unplugged)
    told = process.stdout.read()
    run = latest(tmp_path)
    reasons = {end["node"]: end["reason"] for end in run.said("exit")}
    assert reasons["shot"] == "somebody ended its container through Docker (signal 9)"
    assert "exit code 1: the network interface eth0 is gone" in reasons["unplugged"]
    assert {end["node"] for end in run.summary["exits"]} == reasons.keys() == {"shot", "unplugged"}
    assert run.summary["outcome"] == "success" and run.summary["fidelity"]["kept_up"]
    assert "WARNING      shot ended unasked" in told
    assert {record["node"] for record in run.said("update") if record["at"] > 4} == {"left"}


def test_a_device_that_is_shot_before_the_start_ends_the_run_at_once(client, tmp_path, ours):
    many = WORLD.replace("{name: left}", "{name: left, count: 6}")
    (tmp_path / "scenario.yaml").write_text(many)
    process = subprocess.Popen(
        [EMULATE, "run", "scenario.yaml", "--no-report"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        until(lambda: containers(client, tmp_path, "shot"), 60)
        containers(client, tmp_path, "shot")[0].kill()
        shot = time.monotonic()
        error = process.stderr.read()
    assert process.wait() == 1
    assert time.monotonic() - shot < 20
    assert "shot ended unasked: somebody ended its container through Docker" in error
    assert latest(tmp_path).summary["outcome"] == "failed"
