"""The server's process is killed in its container, by a fault or by a stranger, and comes back."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

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
