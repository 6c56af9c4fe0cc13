"""Containers that die unasked: on record with the reason, and the run goes on without them."""

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress

import pytest
from docker.errors import APIError

from emulator.machine.kernel import room_in_memory
from emulator.runtimes.docker.images.node_image import require
from emulator.scenario import demand, loads
from tests.containers.conftest import EMULATE, TINY, Outcome, running, until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]
ENDLESS = TINY.replace("updates: 300, time: 60s", "time: 10min")
WORLD = TINY.replace("updates: 300, time: 60s", "time: 6s").replace(
    "{name: right}", "{name: shot}\n  - {name: unplugged}"
)


def containers(client, tmp_path, node):
    """The container of the node in this test's run, once it is there."""
    return [one for one in running(client, tmp_path) if one.name.endswith(f"-{node}")]


def latest(tmp_path):
    folder = tmp_path / "runs/tiny/latest"
    return Outcome({"run": folder, **json.loads((folder / "summary.json").read_text())})


@pytest.mark.timed  # the run must not end before its containers have
def test_deaths_are_on_record_and_the_evaluator_comes_back(start, client, tmp_path):
    process, wanted = start(WORLD), demand(loads(WORLD))
    files = room_in_memory(tmp_path)  # about: other work may write there, too
    limits = {"server": wanted.server_limit, "evaluator": wanted.evaluator_limit}
    (shot,) = containers(client, tmp_path, "shot")
    (unplugged,) = containers(client, tmp_path, "unplugged")
    (evaluator,) = containers(client, tmp_path, "evaluator")
    for node, limit in limits.items():
        (container,) = containers(client, tmp_path, node)
        more = container.attrs["HostConfig"]["Memory"] - limit
        assert more == 0 if node == "evaluator" or not files else more > 0
    processes = evaluator.top(ps_args="-eo pid,args")["Processes"]
    (measuring,) = [int(pid) for pid, words in processes if "emulator.node.part.role" in words]
    os.kill(measuring, signal.SIGKILL)
    shot.kill()
    (name,) = unplugged.attrs["NetworkSettings"]["Networks"]
    client.networks.get(name).disconnect(unplugged)
    result = process.stdout.read()
    run = latest(tmp_path)
    reasons = {end["node"]: end["reason"] for end in run.said("exit")}
    assert reasons["shot"] == "somebody ended its container through Docker (signal 9)"
    assert "exit code 1: the network interface eth0 is gone" in reasons["unplugged"]
    ended = {end["node"]: end.get("returns", False) for end in run.summary["exits"]}
    assert ended == {"shot": False, "unplugged": False, "evaluator": True}
    assert reasons["evaluator"] == "killed by signal 9" and ended.keys() == reasons.keys()
    assert run.summary["evaluator_restarts"] == 1 and run.summary["final_accuracy"]
    first, again = run.said("hello", node="evaluator")
    assert (first["incarnation"], again["incarnation"]) == (0, 1)
    assert run.said("evaluation")[-1]["scored"] > again["at"]
    assert run.summary["outcome"] == "success"
    busy = "short of processor time"  # other work on the host
    assert not [reason for reason in run.summary["fidelity"]["reasons"] if busy not in reason]
    assert "evaluator ended unasked" in result and "its supervisor starts it again" in result
    assert "WARNING      shot ended unasked" in result
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


@pytest.fixture
def kill(client, tmp_path):
    """Returns a function that kills the process of a node as soon as it is another one."""
    seen = set()

    def killed(node, most):
        """Kill processes of `node`, up to `most`; return how many."""
        (container,) = containers(client, tmp_path, node)
        left, patience = most, time.monotonic() + 60
        with suppress(APIError):  # the container has ended
            while left and time.monotonic() < patience:
                processes = container.top(ps_args="-eo pid,args")["Processes"] or ()
                new = {int(pid) for pid, words in processes if "emulator.node.part.role" in words}
                for pid in new - seen:
                    os.kill(pid, signal.SIGKILL)
                    seen.add(pid)
                    left -= 1
        return most - left

    return killed


def test_a_server_that_dies_five_times_in_a_row_ends_the_run(start, kill, tmp_path):
    """It comes back after four deaths, as the evaluator does; a fifth within 20 s is the last."""
    process = start(ENDLESS.replace("devices:", "server: {durability: update}\ndevices:"))
    folder = tmp_path / "runs/tiny/latest"
    assert kill("evaluator", 4) == kill("server", 4) == 4
    log = folder / "server/run.jsonl"
    until(lambda: b'"recovered"' in log.read_bytes(), 60)
    made = log.read_bytes().count(b'"update"')
    until(lambda: log.read_bytes().count(b'"update"') > made + 10, 60)
    assert kill("server", 5)  # one is enough within 20 s of the first
    said = process.stdout.read()
    assert process.wait() == 1
    assert "server ended unasked" in said
    run = latest(tmp_path)
    assert run.summary["outcome"] == "failed" and run.summary["resumable"]
    assert "it died 5 times within 20 s, and is not started again" in run.summary["detail"] + said
    ends = run.said("exit", node="server")
    deaths = [end["at"] for end in ends]
    assert [end.get("returns", False) for end in ends] == [True] * (len(ends) - 1) + [False]
    assert len(ends) >= 5 and deaths[-1] - deaths[-5] <= 20.0
    assert [end["returns"] for end in run.said("exit", node="evaluator")] == [True] * 4
    assert run.summary["server_recoveries"] >= 1 and run.summary["evaluator_restarts"] == 4


@pytest.mark.thorough
def test_an_evaluator_that_dies_five_times_in_a_row_ends_the_run(start, kill, tmp_path):
    process = start(ENDLESS)
    assert kill("evaluator", 5) == 5
    said = process.stdout.read()
    assert process.wait() == 1
    run = latest(tmp_path)
    assert run.summary["outcome"] == "failed" and run.summary["stop"] == "failed"
    assert "it died 5 times within 60 s, and is not started again" in run.summary["detail"] + said
    returns = [end.get("returns", False) for end in run.said("exit", node="evaluator")]
    assert returns == [True] * 4 + [False]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB for the run's folders."""
    place = tmp_path / "runs"
    place.mkdir()
    if (
        os.getuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place]).returncode
    ):
        pytest.skip("only root may mount a file system")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.parametrize("durability", ["none", "update"])
def test_a_full_disk_ends_the_run_in_one_line(durability, emulate, ours, small_disk, tmp_path):
    durable = f"server: {{durability: {durability}}}\ndevices:"
    (tmp_path / "scenario.yaml").write_text(ENDLESS.replace("devices:", durable))
    done = emulate("run", "scenario.yaml", "--no-report", check=False)
    assert done.returncode == 1
    assert "No space left on device: make room, and `emulate report" in done.stderr
    assert "Traceback" not in done.stderr and done.stderr.count("\n") <= 2
    assert not ours.left()


def test_a_folder_that_is_removed_ends_the_run_in_one_line(start, tmp_path):
    process = start(ENDLESS)
    shutil.rmtree((tmp_path / "runs/tiny/latest").resolve())
    *_, last = process.stdout.read().splitlines()
    assert process.wait(60) == 1
    assert last.startswith("emulate: the run's folder") and last.endswith("while the run went on")


@pytest.mark.timed  # a run that begins beside removes the network, too
def test_a_stranger_on_the_network_is_a_warning(start, emulate, client, tmp_path, ours):
    """A run that went well is a success, whatever of it cannot be removed."""
    process = start(ENDLESS.replace("10min", "2s"))
    run = json.loads((tmp_path / "runs/tiny/latest/manifest.json").read_text())["id"]
    stranger = client.containers.run(
        require(client).id,
        entrypoint=["sleep", "600"],
        command=[],
        network=f"emulate-{run}-wan",
        name=f"stranger-{run}",
        detach=True,
    )
    try:
        result = process.stdout.read()
        assert process.wait() == 0
        assert f"WARNING      network emulate-{run}-wan stays" in result
        assert f"attached: stranger-{run}" in result
        assert len(ours()) == 1
        assert emulate("clean", "--run", run, check=False).returncode == 1
        stranger.reload()
        assert stranger.status == "running"
    finally:
        stranger.remove(force=True)
    assert json.loads(emulate("clean", "--run", run, "--json").stdout)["networks"] == 1
