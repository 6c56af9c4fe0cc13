"""Runs on three engines of one machine: traffic, faults, records, the dead, and what is left.

What is left is looked at from outside, at each engine.
"""

import json
import os
import signal
from contextlib import closing
from pathlib import Path

import pytest
from docker import DockerClient

from emulator.runtimes.swarm import local_engines
from emulator.runtimes.swarm.local_engines import LocalEngine, LocalEngines
from tests.runtimes.swarm.three_hosts import USUAL, Manager, follow, left, ready, things, until

pytestmark = pytest.mark.docker


def test_a_run_on_three_hosts(emulate_there: Manager, spotless: None) -> None:
    played = emulate_there(*emulate_there.run(1500))
    assert played.returncode == 0, played.stdout + played.stderr
    run = emulate_there.latest
    assert run.summary["outcome"] == "success" and run.summary["runtime"] == "swarm"
    assert run.manifest["hosts"] == {
        "engine-1": ["near"],
        "engine-2": ["far-0", "far-1"],
        "engine-3": ["slow"],
    }
    assert run.manifest["encrypted"] is True
    updates = run.records("update")
    assert set(updates["node"]) == {"near", "far-0", "far-1", "slow"}
    assert run.summary["faults_realised"] == 3
    # the clocks of the three hosts are one clock, and every record says how well that is known
    ahead = run.records("host").groupby("host")
    assert set(ahead.groups) == {"engine-1", "engine-2", "engine-3"}
    known = run.records("host").dropna(subset=["clock_ahead"])
    assert (known["clock_ahead"].abs() <= known["clock_error"] + 1e-3).all()
    # a device is silent between its cut and its end, by the server's clock
    cut = updates[(updates["node"] == "far-0") & updates["at"].between(3.3, 4.9)]
    assert len(cut) <= 1
    # interfaces count what the messages hold, and links delay it, between hosts as within one
    traffic, pulls = run.records("traffic"), run.records("pull")
    for node in ("near", "far-0", "far-1", "slow"):
        last = traffic[traffic["node"] == node].iloc[-1]
        # a model that was sent a second before the last sample has come by then
        sent = pulls[(pulls["node"] == node) & (pulls["at"] < last["at"] - 1)]["bytes"].sum()
        assert last["rx"] > sent > 0
    links = run.records("link").dropna(subset=["delay"]).query("way == 'up'").groupby("node")
    assert {"near"} < set(links.groups) <= {"near", "far-0", "far-1"}
    assert (links["requested_delay"].max() == 0.02).all() and (links["delay"].min() >= 0.02).all()


@pytest.mark.thorough
@pytest.mark.parametrize("dies", ["agent", "engine"])
def test_a_host_that_dies_takes_its_devices_with_it(
    emulate_there: Manager, engines: LocalEngines, dies: str
) -> None:
    host = engines.engines[1]

    def kill() -> None:
        if dies == "engine":
            local_engines.kill(host)
            return
        with closing(DockerClient(base_url=host.socket)) as client:
            for agent in client.containers.list(filters={"label": "emulate.role=agents"}):
                agent.kill("SIGKILL")

    code, said = follow(emulate_there.begin(*emulate_there.run(900)), "start: all 4", kill)
    assert code == 0, said
    run = emulate_there.latest
    assert run.summary["outcome"] == "success" and run.summary["updates"] == 900
    exits = {end["node"]: end["reason"] for end in run.summary["exits"]}
    assert exits.keys() == {"far-0", "far-1"}
    assert all(why.startswith("its host engine-2 is lost") for why in exits.values())
    assert any("host engine-2 stays" in line for line in run.summary["left"])
    others = [things(engine) for engine in (engines.engines[0], engines.engines[2])]
    assert others[1] == {}
    if dies == "agent":  # its devices have ended with it
        assert "containers" not in things(host)
        cleaned = emulate_there("clean")
    else:
        cleaned = emulate_there("clean")
        assert cleaned.returncode == 1
        assert "host engine-2 is down" in cleaned.stderr
        local_engines.start(host)
        until(lambda: "engine-2" in ready(engines.engines[0]))
        cleaned = emulate_there("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert left(engines) == []


@pytest.mark.thorough
def test_a_run_goes_on_after_its_conductor_has_died(
    emulate_there: Manager, engines: LocalEngines, spotless: None
) -> None:
    process = emulate_there.begin(*emulate_there.run(600))
    code, _ = follow(process, "start: all 4", process.kill)
    assert code == -signal.SIGKILL
    # without a conductor the containers end, also those of other hosts
    until(lambda: not any("device" in str(things(each)) for each in engines.engines))
    resumed = emulate_there.resume()
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    summary = emulate_there.latest.summary
    assert (summary["outcome"], summary["updates"]) == ("success", 600)
    versions = emulate_there.latest.records("update")["version"]
    assert [*versions] == [*range(1, 601)]


@pytest.mark.thorough
def test_a_run_goes_on_after_the_server_s_host_has_died(
    emulate_there: Manager, engines: LocalEngines
) -> None:
    manager = engines.engines[0]
    process = emulate_there.begin(*emulate_there.run(600))
    code, said = follow(process, "start: all 4", lambda: local_engines.kill(manager))
    assert code == 1, said
    local_engines.start(manager)
    until(lambda: ready(manager) == {"engine-1", "engine-2", "engine-3"})
    resumed = emulate_there.resume()
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    versions = emulate_there.latest.records("update")["version"]
    assert [*versions] == [*range(1, 601)]
    assert emulate_there("clean").returncode == 0
    assert left(engines) == []


def test_what_check_says_of_the_hosts(emulate_there: Manager) -> None:
    (_, file, *_) = emulate_there.run(10)
    checked = emulate_there("check", file, "--on", "swarm", "--json")
    assert checked.returncode == 0, checked.stderr
    hosts = json.loads(checked.stdout)["hosts"]
    assert hosts["engine-2"] == ["far-0", "far-1"]
    shown = emulate_there("check", file, "--on", "swarm").stdout
    assert "host engine-3: slow" in shown
    assert "one engine has one host" not in shown
    wrong = emulate_there("check", file, "--on", "swarm", "--set", "devices[0].host=attic")
    assert wrong.returncode == 1 and "'attic'" in wrong.stderr


def test_an_engine_without_a_swarm_is_named(emulate_there: Manager, engines: LocalEngines) -> None:
    emulate_there.environment = USUAL | {"DOCKER_HOST": engines.engines[1].socket}
    refused = emulate_there(*emulate_there.run(10))
    assert refused.returncode == 1
    assert "has to be a manager of a swarm, and is a worker of one" in refused.stderr


ROUNDS = """\
name: three-hosts
training:
  {dataset: digits, model: digits-mlp, codec: {kind: topk, keep: 5%}, synchronization: barrier}
evaluate: {every: 100}
stop: {updates: 2400, time: 3min}
server: {relay: host}
devices:
  - {name: near, host: engine-1}
  - {name: far, count: 3, host: engine-2}
  - {name: slow, count: 2, host: engine-3}
"""


def kill_part(engine: LocalEngine, role: str) -> None:
    """Kill the part of the container of `role`, which its supervisor starts again."""
    with closing(DockerClient(base_url=engine.socket)) as client:
        (container,) = client.containers.list(filters={"label": f"emulate.role={role}"})
        top = container.top(ps_args="-eo pid,args")
        (pid,) = [int(pid) for pid, words in top["Processes"] if "part.role" in words]
    os.kill(pid, signal.SIGKILL)


@pytest.mark.thorough
def test_a_relay_brings_each_version_to_its_host_once(
    emulate_there: Manager, engines: LocalEngines, spotless: None
) -> None:
    """Also past the death of a relay, which holds nothing of the run."""
    words = emulate_there.run(400)
    Path(words[1]).write_text(ROUNDS)

    def kill() -> None:
        kill_part(engines.engines[1], "relay")

    code, said = follow(emulate_there.begin(*words), "start: all 6", kill)
    assert code == 0, said
    run = emulate_there.latest
    assert run.summary["outcome"] == "success"
    exits = [end["node"] for end in run.summary["exits"]]
    assert exits == ["relay_engine-2"] and run.summary["exits"][0]["returns"]
    # one of six devices is at the server's host, and there are two relays: three connections
    pulled = run.records("pull")["bytes"].sum()
    assert 0.4 < run.summary["server_tx_bytes"] / pulled < 0.65
    # every step has one update of each device, behind a relay or not
    counts = run.records("update")["node"].value_counts()
    assert set(counts.index) == {"near", "far-0", "far-1", "far-2", "slow-0", "slow-1"}
    assert counts.nunique() == 1
