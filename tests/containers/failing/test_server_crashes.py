"""The server's process is killed in its container, by a fault or by a stranger, and comes back."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from emulator.runtimes.docker.engine.cleanup import clean_up
from tests.containers.conftest import EMULATE, TINY, Outcome, running, until

pytestmark = [pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(180)]
LOAD = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
"""Factor by which other work slows a start down."""
TIMELY = TINY.replace("left}", "left, profile: {cpu: 40%}}").replace(
    "right}", "right, profile: {cpu: 40%}}"
)
"""Two devices that leave the host time to act at the planned moments."""
STREET = """
bottlenecks: [{name: street, up: {rate: 20mbit, delay: 2ms}, members: [left, right]}]
"""
STEPS = "steps: [{at: 1s, rate: 10mbit}, {at: 9s, rate: 5mbit}]"
DURABLE = TINY.replace("updates: 300, time: 60s", "time: 16s").replace(
    "devices:",
    """server: {durability: update}
faults:
  - {kind: server-crash, at: 3s, lasts: 1500ms}
devices:""",
)


def server_process(client, tmp_path) -> int:
    """The id of the server's process on this host."""
    (container,) = running(client, tmp_path, role="server")
    pids = [int(row[1]) for row in container.top(ps_args="-ef")["Processes"]]
    (part,) = [pid for pid in pids if b"emulator.node.part.role" in cmdline(pid)]
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


def test_a_run_whose_conductor_died_is_resumed(start, emulate, client, tmp_path):
    text = TIMELY.replace("updates: 300, time: 60s", "time: 11s").replace(
        "devices:",
        """server: {durability: update}
faults:
  - {kind: crash, nodes: [left], at: 3s, lasts: 3s}
  - {kind: partition, nodes: [right], at: 7500ms, lasts: 500ms}
devices:""",
    )
    text = text.replace("right,", f"right, link: {{up: {{rate: 12mbit, {STEPS}}}}},") + STREET
    process = start(text)
    folder = tmp_path / "runs/tiny/latest"
    log = folder / "server/run.jsonl"
    until(lambda: log.read_bytes().count(b'"update"') > 30, 60)
    until(lambda: b'"kill"' in (folder / "reports.jsonl").read_bytes(), 60)
    process.kill()
    process.wait()
    until(lambda: not running(client, tmp_path), 60)  # the containers end by themselves
    before = [json.loads(line) for line in log.read_bytes().splitlines()]
    emulate("resume", "tiny", "--no-report")
    run = Outcome({"run": folder, **json.loads((folder / "summary.json").read_text())})
    assert run.summary["outcome"] == "success" and run.summary["stop"] == "time"
    assert run.summary["duration_s"] == pytest.approx(11.0, abs=0.5)
    updates = run.said("update")
    assert [u["version"] for u in updates] == list(range(1, len(updates) + 1))
    (recovered,) = run.said("recovered")
    old = [u for u in before if u["what"] == "update"]
    # an update is in the journal before it is in the log
    assert 0 <= recovered["version"] - len(old) <= 1 and recovered["lost"] == 0
    assert 0 <= recovered["at"] - before[-1]["at"] < 0.5  # its time stood still
    assert len(updates) > len(old) + 30
    hellos = run.said("hello", node="right")
    assert [hello["incarnation"] for hello in hellos] == [0, 1]
    first, again = run.said("kill", node="left")
    (boot,) = run.said("boot", node="left")
    assert first["at"] < recovered["at"] <= again["at"] < boot["at"]
    assert abs(boot["at"] - 6.0) < 0.5 and abs(run.said("sever")[0]["at"] - 7.5) < 0.5
    assert not (folder / "server").exists()
    check_lives(run, recoveries=1)
    changes = {round(change["at"]): change for change in run.said("link_change", node="right")}
    assert changes.keys() == {1, 9}  # neither lost nor repeated
    assert max(change["late"] for change in changes.values()) < 0.3
    line = run.said("traffic", node="street")
    assert line[0]["at"] < recovered["at"] < line[-1]["at"]
    for way in ("rx", "tx"):
        assert [sample[way] for sample in line] == sorted(sample[way] for sample in line)
    ours = sum(run.said("traffic", node=node)[-1]["tx"] for node in ("left", "right"))
    # each node's last second before the conductor's death is counted by nobody
    assert line[-1]["tx"] == pytest.approx(ours, rel=0.1)
    assert "again" not in first and again["again"] is True
    effects = run.summary["fault_effects"]
    assert {kind: own["count"] for kind, own in effects["kinds"].items()} == {
        "crash": 1,
        "partition": 1,
    }
    assert effects["kinds"]["crash"]["seconds"] == pytest.approx(boot["at"] - first["at"], abs=1e-3)
    assert run.summary["faults_planned"] == run.summary["faults_realised"] == 2


def check_lives(run: Outcome, recoveries: int) -> None:
    """Check the records of a run that was resumed: its clock, its counters, and its model."""
    *records, stop = run.records
    times = [record["at"] for record in records]
    assert times == sorted(times) and stop["what"] == "stop"
    places = [n for n, record in enumerate(records) if record["what"] == "recovered"]
    assert len(places) == recoveries
    begun = next(n for n, record in enumerate(records) if record["what"] == "start")
    made = 0
    for record in records[begun:]:
        if record["what"] == "update":
            made += 1
            assert record["version"] == made
        elif record["what"] == "recovered":
            assert record["lost"] == made - record["version"]
            made = record["version"]
    assert run.summary["updates"] == made
    for node in ("server", "evaluator", "left", "right"):
        samples = run.said("traffic", node=node)
        for way in ("rx", "tx"):
            counted = [sample[way] for sample in samples]
            assert counted == sorted(counted), (node, way)
        for place in places:  # none of the boots, while the clock stood still
            later = [sample["at"] for sample in samples if sample["at"] > records[place]["at"]]
            assert later and later[0] - records[place]["at"] < 2.0 * LOAD
    assert run.summary["server_rx_bytes"] >= run.summary["push_bytes"]["total"]
    assert run.summary["server_tx_bytes"] >= run.summary["pull_bytes"]


@pytest.mark.timeout(400)  # three starts of containers
def test_a_run_with_states_alone_goes_on_from_its_last_moment(start, emulate, client, tmp_path):
    text = TIMELY.replace("updates: 300, time: 60s", "time: 14s").replace(
        "devices:",
        """server: {durability: {every: 1h}}
faults:
  - {kind: partition, nodes: [right], at: 2s, lasts: 9s}
  - {kind: pause, nodes: [left], at: 2s, lasts: 1s}
devices:""",
    )
    process = start(text)
    folder = tmp_path / "runs/tiny/latest"
    reports = folder / "reports.jsonl"
    for number in (1, 2):
        mark = b'"resume"' if number == 1 else b'"again":true'
        until(lambda mark=mark: reports.is_file() and mark in reports.read_bytes(), 90)
        time.sleep(2.0)
        process.kill()
        process.wait()
        until(lambda: not running(client, tmp_path), 60)  # the containers end by themselves
        if number == 1:
            process = subprocess.Popen([EMULATE, "resume", "tiny", "--no-report"], cwd=tmp_path)
    emulate("resume", "tiny", "--no-report")
    run = Outcome({"run": folder, **json.loads((folder / "summary.json").read_text())})
    assert run.summary["outcome"] == "success" and run.summary["stop"] == "time"
    check_lives(run, recoveries=2)
    first, second = run.said("recovered")
    assert first["version"] == 0 and first["lost"] > 0 and first["at"] > 4.8
    assert second["at"] > first["at"] + 1.5
    severed = run.said("sever", node="right")
    assert ["again" in record for record in severed] == [False, True, True]
    (mended,) = run.said("mend", node="right")
    assert abs(mended["at"] - 11.0) < 0.5
    cut = [u for u in run.said("update", node="right") if 3.0 < u["at"] < 10.9]
    assert not [u for u in cut if min(abs(u["at"] - r["at"]) for r in (first, second)) > 0.5]
    effects = run.summary["fault_effects"]["kinds"]
    assert {kind: own["count"] for kind, own in effects.items()} == {"partition": 1, "pause": 1}
    assert effects["partition"]["seconds"] == pytest.approx(9.0, abs=0.5)


def test_without_durability_a_resumption_says_what_it_would_need(start, emulate, client, tmp_path):
    process = start(TINY.replace("updates: 300, time: 60s", "time: 60s"))
    process.kill()
    process.wait()
    done = emulate("resume", "tiny", check=False)
    assert done.returncode == 1
    clean_up(client, (tmp_path / "runs/tiny/latest").resolve().name.rpartition("-")[2])
    assert "without server.durability" in done.stderr and "durability: update" in done.stderr


def test_a_run_whose_server_lost_its_container_is_resumed(start, emulate, client, tmp_path):
    durable = TINY.replace("updates: 300, time: 60s", "time: 12s")
    process = start(durable.replace("devices:", "server: {durability: update}\ndevices:"))
    folder = (tmp_path / "runs/tiny/latest").resolve()
    run = folder.name.rpartition("-")[2]
    log = folder / "server/run.jsonl"
    until(lambda: log.read_bytes().count(b'"update"') > 30, 60)
    client.containers.get(f"emulate-{run}-server").kill()
    said = process.stdout.read()
    assert process.wait() == 1
    assert "server ended unasked" in said and f"`emulate resume {run}` goes on with it" in said
    failed = Outcome({"run": folder, **json.loads((folder / "summary.json").read_text())})
    assert failed.summary["outcome"] == "failed" and failed.summary["resumable"]
    made = len(failed.said("update"))
    with np.load(folder / "model.npz") as model:
        assert model["version"] == made > 30
    assert "go on with it" not in emulate("resume", "tiny", "--no-report").stderr
    whole = Outcome({"run": folder, **json.loads((folder / "summary.json").read_text())})
    assert whole.summary["outcome"] == "success" and "resumable" not in whole.summary
    updates = whole.said("update")
    assert [u["version"] for u in updates] == list(range(1, len(updates) + 1))
    assert len(updates) > made + 30 and whole.said("recovered")[0]["lost"] == 0
    assert [gone["node"] for gone in whole.said("exit")] == ["server"]
    assert not (folder / "server").exists()
