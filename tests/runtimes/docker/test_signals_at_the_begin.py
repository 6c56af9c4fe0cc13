"""A signal while containers are made: a line at once, and an end behind the engine's answers."""

import json
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.machine.host import Load
from emulator.node.part.server_chores import HELLOS
from emulator.runs.cancel import Canceled, canceling
from emulator.runs.conductor import run
from emulator.runs.folder import RunFolder, create
from emulator.runtimes.docker.configs.container_settings import Prepared
from emulator.runtimes.docker.container_runtime import DockerRuntime
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.runtimes.docker.engine.stdio import OutputEnded, Said
from emulator.scenario import loads
from emulator.transport.secrets import Token
from tests.runtimes.docker.configs.pair_configs import configs
from tests.runtimes.docker.engine.engine_answers import unlike
from tests.runtimes.docker.engine.made_up_play import Onlooker, Wires

TAKES = 0.3
"""Seconds that the engine takes to make a container or a network, and to start a container."""

FORTY = """
name: forty
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {time: 1min}
devices: [{name: device, count: 40}]
"""


class SlowEngine:
    """An engine that notes what it makes; each container says hello once it runs.

    It calls `at` with the step and the name when a step begins.
    """

    def __init__(self, folder: RunFolder, at: Callable[[str, str], None]) -> None:
        self.api, self._folder, self._at = self, folder, at
        self.made: dict[str, str] = {}
        kinds = {"networks": "network", "containers": "container", "volumes": "volume"}
        self.makers = {
            kind: SimpleNamespace(create=lambda made=made, **about: self._make(made, about["name"]))
            for kind, made in kinds.items()
        }

    def _make(self, kind: str, name: str) -> SimpleNamespace:
        node = name.removeprefix(f"emulate-{self._folder.run}-")
        self._at("create", node)
        time.sleep(TAKES)
        self.made[name] = kind

        def start() -> None:
            self._at("start", node)
            time.sleep(TAKES)
            with (self._folder.server / HELLOS).open("a") as file:
                file.write(json.dumps({"node": node}) + "\n")

        networks = {f"emulate-{self._folder.run}-wan": {"IPAddress": "10.9.1.2"}}
        known = {
            "NetworkSettings": {"Networks": networks},
            "IPAM": {"Config": [{"Subnet": "10.9.1.0/24"}]},
        }
        return SimpleNamespace(id=name, attrs=known, start=start, reload=lambda: None)

    def _all(self, kind: str) -> list[str]:
        return [name for name, made in self.made.items() if made == kind]

    def info(self) -> dict[str, Any]:
        return {"NCPU": 2}

    def containers(self, **about: object) -> list[Any]:
        return [{"Id": name, "Names": [f"/{name}"]} for name in self._all("container")]

    def networks(self, **about: object) -> list[Any]:
        return [{"Id": name, "Name": name} for name in self._all("network")]

    def volumes(self, **about: object) -> dict[str, Any]:
        return {"Volumes": [{"Name": name} for name in self._all("volume")]}

    def remove_container(self, name: str, **options: object) -> None:
        del self.made[name]

    remove_network = remove_volume = remove_container


def test_the_slow_engine_answers_as_the_engine_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.TAKES", 0.0)
    engine = SlowEngine(create("forty", tmp_path), lambda step, name: None)
    made = [maker.create(name=f"emulate-{kind}") for kind, maker in engine.makers.items()]
    assert [unlike(each, "id", "attrs") for each in made] == [[], [], []]
    client = SimpleNamespace(api=engine, info=engine.info)
    assert unlike(client, "info", "containers", "networks", "volumes") == []


class QuietWires(Wires):
    """Containers that say nothing."""

    def read(self, timeout: float) -> list[Said | OutputEnded]:
        time.sleep(min(timeout, 0.05))
        return []


STAGES = [
    (signal.SIGINT, "create", "wan"),
    (signal.SIGINT, "create", "server"),
    (signal.SIGINT, "start", "server"),
    (signal.SIGINT, "create", "device-0"),
    (signal.SIGTERM, "create", "device-0"),
    (signal.SIGHUP, "create", "device-0"),
    (signal.SIGINT, "start", "device-0"),
    (signal.SIGINT, "create", "device-9"),
]


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize(("number", "step", "node"), STAGES)
def test_a_signal_ends_the_making_behind_the_calls_in_hand(
    tmp_path: Path, number: signal.Signals, step: str, node: str
) -> None:
    said: list[tuple[float, str]] = []
    begun: list[float] = []
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), number)

    def at(what: str, name: str) -> None:
        begun.append(time.monotonic())
        if (what, name) == (step, node) and not sent:
            threading.Timer(0.2 * TAKES, send).start()

    folder = create("forty", tmp_path)
    folder.server.mkdir()
    engine = SlowEngine(folder, at)
    client: Any = SimpleNamespace(api=engine, info=engine.info, **engine.makers)
    known = replace(configs(text=FORTY), secrets=defaultdict(lambda: Token("device", "secret")))
    world = Prepared(loads(FORTY), folder, known, "image", folder.path)
    view, wires = Onlooker(), QuietWires()
    view.progress = lambda text: said.append((time.monotonic(), text))  # type: ignore[method-assign]
    hosts = Hosts.here(client)
    runtime = DockerRuntime(hosts, folder, world, view, Load(), wires)  # type: ignore[arg-type]
    with canceling(), pytest.raises(Canceled):
        run(world.scenario, (), runtime)
    ended = time.monotonic()
    (signaled,) = sent
    (first, words), *later = [each for each in said if each[0] >= signaled]
    # the calls in hand take four fifths of TAKES from the signal on, and no call follows them
    assert first - signaled < 0.5 * TAKES
    assert max(begun) < signaled + 0.1 * TAKES
    assert ended - signaled < 5 * TAKES
    time.sleep(0.05)
    assert engine.made == {}
    assert words == "stopping: waiting for the containers that are being made"
    assert [text for _, text in later] == ["removing the containers"]
