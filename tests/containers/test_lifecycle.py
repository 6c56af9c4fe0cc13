"""How runs end: as planned, asked to, or shot; and what is left of them, which is nothing."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from emulator.machine.lock import holder
from tests.containers.conftest import EMULATE, TINY, Outcome, until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]
MANIFEST = "runs/tiny/latest/manifest.json"
ENDLESS = TINY.replace("stop: {updates: 300, time: 60s}", "stop: {time: 10min}")
MANY = 200
"""Versions of which the last is not measured at once."""


@pytest.fixture
def stranger(client):
    """A container and a network that are not ours, and must outlive everything."""
    from emulator.runtimes.docker.images.node_image import require

    name = f"stranger-{os.getpid()}"
    network = client.networks.create(name, internal=True)
    container = client.containers.run(
        require(client).id,
        entrypoint=["sleep", "600"],
        command=[],
        network=name,
        name=name,
        detach=True,
    )
    yield
    container.reload()
    assert container.status == "running"
    container.remove(force=True)
    network.reload()
    network.remove()


def latest(tmp_path):
    return json.loads((tmp_path / "runs/tiny/latest/summary.json").read_text())


def test_a_tiny_run(play):
    run = play(TINY)
    assert run.summary["outcome"] == "success" and run.summary["updates"] == 300
    assert run.summary["final_accuracy"] > run.said("evaluation")[0]["accuracy"]
    assert [record["node"] for record in run.said("hello")] != []
    assert run.said("start")[0]["at"] == 0.0
    # each version that was due is measured, and booked where the model was at that version
    kinds = ("values", "indices", "headers", "framing")
    pushed, moments = [0], [0.0]
    for update in run.said("update"):
        pushed.append(pushed[-1] + sum(update[kind] for kind in kinds))
        moments.append(update["at"])
    booked = [(r["version"], r["at"], r["push_bytes"]) for r in run.said("evaluation")]
    assert booked == [(n, moments[n], pushed[n]) for n in (0, 100, 200, 300)]
    assert run.summary["unmeasured"] == {"count": 0, "versions": []}


def test_versions_are_measured_once_the_devices_have_gone(play):
    """Though the server dies meanwhile, and comes back from its inputs."""
    crash = "faults: [{kind: server-crash, at: 300ms, lasts: 300ms}]\nserver: {durability: update}"
    # a fast host makes 300 updates in less than half a second
    longer = TINY.replace("{every: 100}", "{every: 500, when: after}").replace("300", "1500")
    run = play(longer + crash)
    assert run.summary["outcome"] == "success" and run.summary["updates"] == 1500
    assert len(run.said("recovered")) == 1
    pushed, moments = [0], [0.0]
    for update in run.said("update"):
        kinds = ("values", "indices", "headers", "framing")
        pushed.append(pushed[-1] + sum(update[kind] for kind in kinds))
        moments.append(update["at"])
    booked = [(r["version"], r["at"], r["push_bytes"]) for r in run.said("evaluation")]
    assert booked == [(n, moments[n], pushed[n]) for n in (0, 500, 1000, 1500)]
    assert run.summary["final_accuracy"] > run.said("evaluation")[0]["accuracy"] > 0
    assert run.summary["unmeasured"] == {"count": 0, "versions": []}
    assert {record["node"] for record in run.said("hello")} == {"left", "right"}
    assert all(record["node"] != "evaluator" for record in run.said("pull"))
    assert not (run.folder / "server").exists()


def begin_measured(start, tmp_path):
    """Start a run with a version for each update; return its process, and the versions' folder."""
    process = start(ENDLESS.replace("{every: 100}", "{every: 1, when: after}"))
    versions = tmp_path / "runs/tiny/latest/server/versions"
    until(lambda: len([*versions.glob("*.version")]) > MANY, 60)
    return process, versions


def assert_measured_to_the_last(tmp_path, outcome):
    summary = latest(tmp_path)
    assert (summary["outcome"], summary["unmeasured"]["count"]) == (outcome, 0)
    folder = tmp_path / "runs/tiny/latest"
    scores = Outcome({"run": folder, **summary}).said("evaluation")
    assert [score["version"] for score in scores] == list(range(summary["updates"] + 1))
    assert not (folder / "server").exists() and not (folder / "reports.jsonl").exists()


def test_a_stopped_run_is_measured(start, ours, tmp_path):
    process, _ = begin_measured(start, tmp_path)
    subprocess.run([EMULATE, "stop", "tiny"], cwd=tmp_path, check=True)
    assert process.wait(60) is not None and ours.gone(60)
    assert_measured_to_the_last(tmp_path, "stopped")


def test_a_canceled_run_is_measured_by_a_resume_even_by_a_second_one(
    start, emulate, ours, tmp_path
):
    process, versions = begin_measured(start, tmp_path)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) is not None and ours.gone(60)
    kept, summary = len([*versions.iterdir()]), latest(tmp_path)
    assert summary["outcome"] == "canceled" and summary["updates"] == kept - 1 >= MANY
    assert summary["final_accuracy"] is None and summary["unmeasured"]["count"] == kept
    command = [EMULATE, "resume", "tiny", "--no-report"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=tmp_path, **quiet) as resumed:
        while len([*versions.iterdir()]) == kept:
            assert resumed.poll() is None
        resumed.kill()
    assert ours.gone(60)  # the container ends with its conductor
    assert 0 < len([*versions.iterdir()]) < kept
    done = emulate("resume", "tiny", "--no-report", check=False)
    assert done.returncode == 130 and f"measuring 0 of {kept}" not in done.stdout
    assert_measured_to_the_last(tmp_path, "canceled")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_keeps_what_there_is(start, ours, stranger, tmp_path, number):
    process = start(ENDLESS)
    until(lambda: (tmp_path / "runs/tiny/latest/server/run.jsonl").stat().st_size > 20_000, 30)
    process.send_signal(number)
    assert process.wait(60) is not None and ours.gone(60)
    assert process.returncode == 130
    summary = latest(tmp_path)
    assert summary["outcome"] == "canceled" and summary["updates"] > 0
    assert (tmp_path / "runs/tiny/latest/model.npz").is_file()
    assert not (tmp_path / "runs/tiny/latest/.work").exists()


def test_a_signal_while_containers_start(tmp_path, ours, emulate):
    many = ENDLESS.replace("{name: left}", "{name: left, count: 20}")
    (tmp_path / "scenario.yaml").write_text(many)
    process = subprocess.Popen(
        [EMULATE, "run", "scenario.yaml", "--no-report"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: len(ours()) > 4, 30)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) is not None and ours.gone(60)
    assert process.returncode == 130
    assert latest(tmp_path)["outcome"] == "canceled"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_kernel_is_probed(tmp_path, ours, client, number):
    """A run that has no folder yet leaves nothing; nor does `clean` take what it needs."""
    (tmp_path / "scenario.yaml").write_text(ENDLESS)
    command = [EMULATE, "run", "scenario.yaml", "--no-report"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **quiet) as process:
        try:
            until(lambda: probes(client, process.pid), 30)
            process.send_signal(signal.SIGSTOP)  # or it would go on before it is looked at
            (run,) = probes(client, process.pid)
            clean = [EMULATE, "clean", "--run", run]
            cleaned = subprocess.run(clean, capture_output=True, text=True)
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)
            result = process.communicate(timeout=20)[1]
        finally:
            process.kill()
    assert f"is just starting (process {process.pid})" in cleaned.stdout
    *warnings, last = result.splitlines()
    assert (process.returncode, last) == (130, "emulate: interrupted")
    assert all(line.startswith("warning ") for line in warnings)
    assert not client.api.containers(all=True, filters={"label": f"emulate.run={run}"})
    assert not (tmp_path / "runs").exists()


def probes(client, conductor):
    """The runs' ids of the probes that this process conducts."""
    result = client.api.containers(all=True, filters={"label": "emulate.role=probe"})
    labels = [probe["Labels"] for probe in result]
    locks = {item["emulate.run"]: Path(item.get("emulate.lock", "")) for item in labels}
    return [run for run, lock in locks.items() if holder(lock) == conductor]


def test_stop_from_another_terminal(start, emulate, tmp_path):
    process = start(ENDLESS)
    listed = json.loads(emulate("list", "--json").stdout)
    assert [run["outcome"] for run in listed] == ["running"]
    emulate("stop", "tiny")
    said = process.stdout.read()
    assert process.wait(10) == 0
    assert latest(tmp_path)["outcome"] == "stopped"
    assert "stop: stopped" in said and "canceled" not in said


@pytest.mark.timed  # a run that begins beside removes the network, too
def test_after_kill_9_the_containers_go_by_themselves(
    start, ours, stranger, emulate, client, tmp_path
):
    process = start(ENDLESS)
    os.kill(process.pid, signal.SIGKILL)
    run = json.loads((tmp_path / MANIFEST).read_text())["id"]
    label = {"label": f"emulate.run={run}"}
    until(lambda: not client.api.containers(all=True, filters=label), 60)
    assert len(ours()) == 1  # the network is still there
    clean = ("clean", "--json", "--run", run)
    cleaned = json.loads(emulate(*clean).stdout)
    assert (cleaned["containers"], cleaned["networks"], cleaned["volumes"]) == (0, 1, 0)
    assert json.loads(emulate(*clean).stdout)["networks"] == 0


@pytest.mark.timed  # a run that begins beside removes it, too
def test_a_run_removes_what_a_dead_one_has_left(play, client, tmp_path):
    """Or the engine's addresses would run out: each network has a range of its own."""
    lock = tmp_path / "lock"
    lock.write_text("1")
    marks = {"emulate.run": "dead01", "emulate.lock": str(lock), "emulate.folder": str(tmp_path)}
    network = client.networks.create(f"emulate-{os.getpid()}-dead", internal=True, labels=marks)
    run = play(TINY.replace("updates: 300", "updates: 10"))
    assert run.summary["outcome"] == "success"
    assert not client.networks.list(ids=[network.id])
    assert not lock.exists()


def test_a_worker_that_dies_of_want_is_named(emulate, tmp_path):
    """A device with too little memory for its batch is gone; the others go on without it."""
    for name, memory in (("small", "128MiB"), ("large", "4GiB")):
        profile = f"description: {name}\nsource: a test\nmemory: {memory}\n"
        (tmp_path / f"{name}.yaml").write_text(profile)
    text = TINY.replace("{name: right}", "{name: right, profile: small.yaml}")
    text = text.replace("{name: left}", "{name: left, profile: large.yaml}")
    text = text.replace("digits-mlp", "mnist-cnn").replace("digits", "mnist")
    text = text.replace("algorithm", "batch_size: 1000, algorithm").replace("60s", "10s")
    (tmp_path / "scenario.yaml").write_text(text)
    done = emulate("run", "scenario.yaml", "--no-report", "--json")
    run = Outcome(json.loads(done.stdout))
    (gone,) = run.said("exit")
    assert (gone["node"], gone["cause"]) == ("right", "limit")
    assert gone["reason"].startswith("killed by its own memory limit of 128MiB: if no fault")
    assert run.summary["exits"][0]["node"] == "right"
    assert not any("memory" in reason for reason in run.summary["fidelity"]["reasons"])
    assert {record["node"] for record in run.said("update")} == {"left"}
