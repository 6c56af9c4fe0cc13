"""The server's process is killed in its container, by a fault or by a stranger, and comes back."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from emulator.runtimes.docker.cleanup import clean_up
from tests.containers.conftest import TINY, Outcome, until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]
LOAD = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
"""Factor by which other work slows a start down."""
DURABLE = TINY.replace("updates: 300, time: 60s", "time: 30s").replace(
    "devices:",
    """server: {durability: update}
faults:
  - {kind: server-crash, at: 3s, lasts: 1500ms}
devices:""",
)


def server_process(client, tmp_path) -> int:
    """The id of the server's process on this host."""
    ours = [
        container
        for container in client.containers.list(filters={"label": "emulate.folder"})
        if container.labels["emulate.folder"].startswith(str(tmp_path))
        and container.name.endswith("-server")
    ]
    (container,) = ours
    pids = [int(row[1]) for row in container.top(ps_args="-ef")["Processes"]]
    (part,) = [pid for pid in pids if b"emulator.node.role" in cmdline(pid)]
    return part


def cmdline(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_killed_server_goes_on_with_every_update(start, client, tmp_path):
    process = start(DURABLE)
    log = tmp_path / "runs/tiny/latest/server/run.jsonl"
    until(lambda: log.exists() and b'"recovered"' in log.read_bytes(), 60)
    time.sleep(2.0)
    os.kill(server_process(client, tmp_path), signal.SIGKILL)  # this time by a stranger
    process.stdout.read()
    process.wait()
    folder = tmp_path / "runs/tiny/latest"
    run = Outcome({"run": folder, **json.loads((folder / "summary.json").read_text())})
    down, up = [r for r in run.records if r.get("fault") == "server-crash"]
    assert (down["what"], up["what"]) == ("kill", "boot")
    assert abs(down["at"] - 3.0) < 0.3 and abs(up["at"] - 4.5) < 0.3
    first, second = run.said("recovered")
    assert first["lost"] == second["lost"] == 0
    assert first["at"] - up["at"] < 3.0 * LOAD
    (gone,) = run.said("exit")
    assert (gone["node"], gone["code"]) == ("server", -9)
    assert second["at"] - gone["at"] < 3.0 * LOAD
    updates = run.said("update")
    assert [u["version"] for u in updates] == list(range(1, len(updates) + 1))
    assert not [u for u in updates if down["at"] < u["at"] < up["at"]]
    for recovered in (first, second):
        later = [u["at"] for u in updates if u["at"] > recovered["at"]]
        assert later and later[0] - recovered["at"] < 3.0 * LOAD
    assert run.summary["outcome"] == "success"
    assert run.summary["updates"] == len(updates) and run.summary["server_recoveries"] == 2
    assert not (folder / "server").exists()


def test_a_run_whose_conductor_died_is_resumed(start, emulate, tmp_path):
    text = TINY.replace("updates: 300, time: 60s", "time: 16s").replace(
        "devices:",
        """server: {durability: update}
faults:
  - {kind: crash, nodes: [left], at: 3s, lasts: 7s}
  - {kind: partition, nodes: [right], at: 12s, lasts: 500ms}
devices:""",
    )
    process = start(text)
    folder = tmp_path / "runs/tiny/latest"
    log = folder / "server/run.jsonl"
    until(lambda: log.read_bytes().count(b'"update"') > 30, 60)
    until(lambda: b'"kill"' in (folder / "reports.jsonl").read_bytes(), 60)
    process.kill()
    process.wait()
    time.sleep(3.0)  # the containers end by themselves
    before = [json.loads(line) for line in log.read_bytes().splitlines()]
    emulate("resume", "tiny", "--no-report")
    run = Outcome({"run": folder, **json.loads((folder / "summary.json").read_text())})
    assert run.summary["outcome"] == "success" and run.summary["stop"] == "time"
    assert run.summary["duration_s"] == pytest.approx(16.0, abs=0.5)
    updates = run.said("update")
    assert [u["version"] for u in updates] == list(range(1, len(updates) + 1))
    (recovered,) = run.said("recovered")
    old = [u for u in before if u["what"] == "update"]
    assert recovered["version"] == len(old) and recovered["lost"] == 0
    assert 0 <= recovered["at"] - before[-1]["at"] < 0.5  # its time stood still
    assert len(updates) > len(old) + 30
    hellos = run.said("hello", node="right")
    assert [hello["incarnation"] for hello in hellos] == [0, 1]
    first, again = run.said("kill", node="left")
    (boot,) = run.said("boot", node="left")
    assert first["at"] < recovered["at"] <= again["at"] < boot["at"]
    assert abs(boot["at"] - 10.0) < 0.5 and abs(run.said("sever")[0]["at"] - 12.0) < 0.5
    assert not (folder / "server").exists()


def test_without_durability_a_resumption_says_what_it_would_need(start, emulate, client, tmp_path):
    process = start(TINY.replace("updates: 300, time: 60s", "time: 60s"))
    process.kill()
    process.wait()
    done = emulate("resume", "tiny", check=False)
    assert done.returncode == 1
    clean_up(client, (tmp_path / "runs/tiny/latest").resolve().name.rpartition("-")[2])
    assert "without server.durability" in done.stderr and "durability: update" in done.stderr
