"""Engines of one machine are hosts of a Swarm: alone, mortal, and gone at the end."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient
from docker.errors import APIError

from emulator.errors import HostError
from emulator.runtimes.docker.images import node_image
from emulator.runtimes.swarm import engine_network, local_engines
from emulator.runtimes.swarm.local_engines import LocalEngine, LocalEngines
from tests.fakes.typed_commands import Emulate
from tests.runtimes.swarm.conftest import Command, cluster_command
from tests.runtimes.swarm.traces import traces, traces_of_one

SLEEPER: dict[str, Any] = {
    "image": node_image.name(),
    "entrypoint": ["sleep", "600"],
    "labels": {"here": "yes"},
    "detach": True,
}


@contextmanager
def opened(engine: LocalEngine) -> Iterator[DockerClient]:
    client = DockerClient(base_url=engine.socket)
    try:
        yield client
    finally:
        client.close()


def until(condition: Callable[[], bool], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, f"not within {seconds} s"
        time.sleep(0.1)


def states(manager: DockerClient) -> dict[str, str]:
    """Return the state of each node by its host name."""
    nodes = manager.api.nodes()
    return {node["Description"]["Hostname"]: node["Status"]["State"] for node in nodes}


# -- without engines -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [("up",), ("up", "--dask"), ("--local", "3"), ("down", "--local", "3"), ("down", "--dask")],
)
def test_words_that_do_not_belong_together(emulate: Emulate, words: tuple[str, ...]) -> None:
    result = emulate("cluster", *words)
    assert result.code == 2 and "emulate cluster up --local N" in result.err


def test_nothing_is_up(emulate: Emulate) -> None:
    assert emulate("cluster").out == "no cluster is up on this machine\n"
    assert json.loads(emulate("cluster", "--json").out) == {"dask": None, "swarm": None}
    for _ in range(2):
        result = emulate("cluster", "down")
        assert (result.code, result.out) == (0, "no cluster is up on this machine\n")


def test_engines_need_root(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    result = emulate("cluster", "up", "--local", "2")
    assert result.code == 1 and "run this command as root" in result.err


def test_engines_need_programs(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(local_engines, "PATHS", "/nonexistent")
    result = emulate("cluster", "up", "--local", "2")
    assert (
        result.code == 1 and "the program dockerd: as root on Debian, `apt-get inst" in result.err
    )


def test_engines_need_the_usual_engine(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its image is sent to them: nothing is begun without it."""
    monkeypatch.setattr(local_engines, "_check", lambda number: None)
    result = emulate("cluster", "up", "--local", "2")
    assert result.code == 1 and "no Docker engine answers" in result.err
    assert local_engines.current() is None


def test_the_network_is_one_without_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = json.dumps([{"dst": "default"}, {"dst": "10.99.7.128/25"}, {"dst": "10.99.8.0/23"}])
    done = subprocess.CompletedProcess([], 0, routes, "")
    monkeypatch.setattr(engine_network, "_run", lambda command: done)
    assert str(engine_network.EngineNetwork("00000007")._free()) == "10.99.10.0/24"
    assert str(engine_network.EngineNetwork("000000ff")._free()) == "10.99.255.0/24"
    routes = json.dumps([{"dst": "10.0.0.0/8"}])
    done = subprocess.CompletedProcess([], 0, routes, "")
    with pytest.raises(HostError, match=r"routes to all of 10\.99"):
        engine_network.EngineNetwork("00000007")._free()


# -- the cluster of all tests ----------------------------------------------------------------------


@pytest.mark.docker
@pytest.mark.thorough
def test_the_engines_are_hosts_of_one_swarm(engines: LocalEngines) -> None:
    """And each has the node image, by which it needs nothing from outside, nor reaches it."""
    first = engines.engines[0]
    with opened(first) as manager:
        assert states(manager) == dict.fromkeys(("engine-1", "engine-2", "engine-3"), "ready")
        roles = {n["Description"]["Hostname"]: n["Spec"]["Role"] for n in manager.api.nodes()}
        assert roles == {"engine-1": "manager", "engine-2": "worker", "engine-3": "worker"}
    socket.create_connection((first.address, 2377), timeout=5).close()
    for engine in engines.engines:
        with opened(engine) as client:
            node_image.require(client)
            with pytest.raises(APIError):
                client.images.pull("debian", "none")


@pytest.mark.docker
@pytest.mark.thorough
def test_a_network_spans_the_engines(engines: LocalEngines) -> None:
    first, second, third = engines.engines
    with opened(first) as manager, opened(second) as here, opened(third) as there:
        network = manager.networks.create("span", driver="overlay", attachable=True, internal=True)
        sleeper = None
        try:
            sleeper = here.containers.run(name="far", network="span", **SLEEPER)
            code = "import socket; socket.create_connection(('far', 9), 5)"
            command = ["-c", f"try: {code}\nexcept ConnectionRefusedError: print('it answers')"]
            options = {"entrypoint": "python3", "network": "span", "remove": True}
            said = there.containers.run(node_image.name(), command, **options)
            assert said == b"it answers\n"
        finally:
            if sleeper is not None:
                sleeper.remove(force=True)
            network.remove()


@pytest.mark.docker
@pytest.mark.thorough
def test_an_engine_that_loses_power_is_down_and_comes_back(engines: LocalEngines) -> None:
    first, _, third = engines.engines
    with opened(third) as client:
        sleeper = client.containers.run(name="doomed", **SLEEPER)
        process = client.api.inspect_container("doomed")["State"]["Pid"]
    assert Path("/proc", str(process)).exists()
    kinds = {each.split()[0] for each in traces_of_one(third)}
    assert kinds == {"file", "mount", "process", "group"}
    local_engines.kill(third)
    assert traces_of_one(third) == set()
    assert not third.up() and first.up()
    until(lambda: not Path("/proc", str(process)).exists(), 5)
    local_engines.kill(third)  # once more does no harm
    with opened(first) as manager:
        until(lambda: states(manager)["engine-3"] == "down", 40)
        local_engines.start(third)
        until(lambda: states(manager)["engine-3"] == "ready", 40)
    with opened(third) as client:
        (known,) = client.containers.list(all=True, filters={"label": "here=yes"})
        assert (known.id, known.status) == (sleeper.id, "exited")
        known.remove()


@pytest.mark.docker
@pytest.mark.thorough
def test_the_image_is_sent_to_the_engines_that_lack_it(
    engines: LocalEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EMULATE_CACHE")
    _, second, third = engines.engines
    with opened(second) as client:
        client.images.remove(node_image.name())
    command = [sys.executable, "-m", "emulator", "images"]
    for engine in (second, third):
        command += ["--to", engine.socket]
    for done in ("sent", "known"):
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert f"{done} to unix://{second.socket.removeprefix('unix://')}" in said.replace(
            "is ", ""
        )
        assert f"is known to {third.socket}" in said
    with opened(second) as client:
        node_image.require(client)
        container = client.containers.run(node_image.name(), entrypoint="true", remove=True)
        assert container == b""


# -- clusters that end early -----------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Command]:
    run = cluster_command(tmp_path)
    yield run
    run("down")


@pytest.mark.docker
@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_half_made_cluster_leaves_nothing(
    run: Command, tmp_path: Path, number: signal.Signals
) -> None:
    """By itself at Ctrl-C, and by `down` if nothing could be done."""
    command = [sys.executable, "-m", "emulator", "cluster", "up", "--local", "2"]
    process = subprocess.Popen(
        command, stderr=subprocess.DEVNULL, env=os.environ | {"EMULATE_CACHE": str(tmp_path)}
    )
    state, log = (tmp_path / "cluster" / "swarm" / name for name in ("state.json", "engine-1/log"))
    until(lambda: log.exists() and b"API listen" in log.read_bytes(), 60)
    engine = LocalEngine(**json.loads(state.read_text())["engines"][0])
    process.send_signal(number)
    process.wait()
    if number == signal.SIGKILL:
        assert any("dockerd" in each for each in traces(engine))
        assert "engine-1 up" in run().stdout
        assert "already" in run("up", "--local", "1").stderr
        assert run("down").stdout == "ended the engines\n"
    assert traces(engine) == set()
    assert not state.parent.exists()


@pytest.mark.docker
@pytest.mark.thorough
def test_down_needs_no_engine(run: Command, tmp_path: Path) -> None:
    """With a container and its mounts, after kill -9 of all that the engine is, and no state."""
    assert run("up", "--local", "1").returncode == 0
    folder = tmp_path / "cluster" / "swarm"
    state = folder / "state.json"
    engine = LocalEngine(**json.loads(state.read_text())["engines"][0])
    with opened(engine) as client:
        client.containers.run(name="left", **SLEEPER)
        process = client.api.inspect_container("left")["State"]["Pid"]
    sockets = {
        Path(file.read_text().removeprefix("unix://"))
        for file in Path("/run").glob(
            f"{engine.namespace.rsplit('-', 1)[0]}/1/containerd/*/*/*/address"
        )
    }
    assert sockets and all(each.exists() for each in sockets)
    os.kill(int((folder / "engine-1" / "pid").read_text()), signal.SIGKILL)
    until(lambda: not engine.up(), 5)
    state.unlink()
    assert "half made" in run().stdout
    assert run("down").stdout == "ended the engines\n"
    assert traces(engine) == set()
    assert not folder.exists() and not any(each.exists() for each in sockets)
    until(lambda: not Path("/proc", str(process)).exists(), 5)
    assert run("down").stdout == "no cluster is up on this machine\n"
