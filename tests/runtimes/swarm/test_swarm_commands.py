"""Commands beside `run` and `resume`, on three engines; a node that is down before the start."""

import json
import time
from contextlib import closing
from pathlib import Path

import pytest
from docker import DockerClient

from emulator.runtimes.swarm import local_engines
from emulator.runtimes.swarm.local_engines import LocalEngine, LocalEngines
from tests.runtimes.swarm.three_hosts import Manager, follow, left, ready, things, until

pytestmark = [pytest.mark.docker, pytest.mark.thorough]

ENDLESS = 10**6
"""Updates of a run that another command ends."""


def assert_bounded(engine: LocalEngine) -> None:
    """Assert that the engine, and the kernel, hold the agent to its limits."""
    with closing(DockerClient(base_url=engine.socket)) as client:
        (agent,) = client.containers.list(filters={"label": "emulate.role=agents"})
        settings, process = agent.attrs["HostConfig"], agent.attrs["State"]["Pid"]
    assert (settings["Memory"], settings["PidsLimit"]) == (512 << 20, 64)
    assert "NoNewPrivs:\t1\n" in Path(f"/proc/{process}/status").read_text()


def test_a_run_is_listed_followed_and_stopped(
    emulate_there: Manager, engines: LocalEngines, spotless: None
) -> None:
    runs = ("--runs", str(emulate_there.folder / "runs"))
    said: dict[str, str] = {}

    def look() -> None:
        followed = emulate_there.begin("logs", "-f", "three-hosts", *runs)
        said["list"] = emulate_there("list", "--json", *runs).stdout
        cleaned = emulate_there("clean")
        assert cleaned.returncode == 0, cleaned.stderr
        said["clean"] = cleaned.stdout
        assert_bounded(engines.engines[1])
        stopped = emulate_there("stop", "three-hosts", *runs)
        assert stopped.returncode == 0, stopped.stderr
        said["stop"] = stopped.stdout
        said["logs"], _ = followed.communicate(timeout=30)
        assert followed.returncode == 0

    code, told = follow(emulate_there.begin(*emulate_there.run(ENDLESS)), "start: all 4", look)
    assert code == 0, told
    (row,) = json.loads(said["list"])
    assert row["outcome"] == "running"
    left_alone = [line for line in said["clean"].splitlines() if line.startswith("left alone")]
    assert len(left_alone) == 1 and f"run {row['id']} is being played" in left_alone[0]
    assert "outcome      stopped" in said["stop"]
    assert "start: all 4" in said["logs"] and "stop: stopped" in said["logs"]
    assert emulate_there.latest.summary["outcome"] == "stopped"
    assert emulate_there.latest.summary["left"] == []
    (row,) = json.loads(emulate_there("list", "--json", *runs).stdout)
    assert row["outcome"] == "stopped" and row["updates"] > 0


def test_runs_on_a_swarm_are_compared_and_drawn(emulate_there: Manager, spotless: None) -> None:
    runs = ("--runs", str(emulate_there.folder / "runs"))
    for seed in ("3", "4"):
        played = emulate_there(*emulate_there.run(80, "--set", f"seed={seed}"))
        assert played.returncode == 0, played.stdout + played.stderr
    rows = json.loads(emulate_there("list", "--json", *runs).stdout)
    compared = emulate_there("compare", *(row["id"] for row in rows), "--json", *runs)
    assert compared.returncode == 0, compared.stderr
    assert [row["updates"] for row in json.loads(compared.stdout)] == [80, 80]
    drawn = emulate_there.folder / "drawn"
    ids = [row["id"] for row in rows]
    compared = emulate_there("compare", *ids, "--out", str(drawn), *runs)
    assert compared.returncode == 0 and (drawn / "compare.html").is_file(), compared.stderr
    reported = emulate_there("report", ids[0], *runs)
    assert reported.returncode == 0, reported.stderr
    page = next(emulate_there.folder.glob(f"runs/three-hosts/*-{ids[0]}/report.html")).read_text()
    assert all(f"engine-{number}" in page for number in (1, 2, 3))


def test_clean_by_force_ends_a_run_at_all_hosts(
    emulate_there: Manager, engines: LocalEngines, spotless: None
) -> None:
    def clean() -> None:
        cleaned = emulate_there("clean", "--force")
        assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
        until(lambda: not any("containers" in things(each) for each in engines.engines), 10.0)

    code, told = follow(emulate_there.begin(*emulate_there.run(ENDLESS)), "start: all 4", clean)
    assert code == 1, told
    assert emulate_there.latest.summary["outcome"] == "failed"


def test_a_host_that_is_down_before_the_start_is_named_and_others_play(
    emulate_there: Manager, engines: LocalEngines
) -> None:
    manager, _, third = engines.engines
    local_engines.kill(third)
    begun = time.monotonic()
    early = emulate_there(*emulate_there.run(80))  # the manager does not know it yet
    assert early.returncode == 1, early.stdout
    assert "engine-3" in early.stderr and "is down" in early.stderr
    assert time.monotonic() - begun < 45.0
    until(lambda: ready(manager) == {"engine-1", "engine-2"})
    assert left(engines) == []
    late = emulate_there(*emulate_there.run(80))
    assert late.returncode == 1 and "slow: its host engine-3 is down" in late.stderr
    checked = emulate_there("check", late.args[4], "--on", "swarm")
    assert checked.returncode == 1 and "slow: its host engine-3 is down" in checked.stderr
    moved = ("--set", "devices[2].host=engine-2")
    played = emulate_there(*emulate_there.run(80, *moved))
    assert played.returncode == 0, played.stdout + played.stderr
    hosts = emulate_there.latest.manifest["hosts"]
    assert hosts == {"engine-1": ["near"], "engine-2": ["far-0", "far-1", "slow"]}
    assert left(engines) == []
    local_engines.start(third)
    until(lambda: "engine-3" in ready(manager))
