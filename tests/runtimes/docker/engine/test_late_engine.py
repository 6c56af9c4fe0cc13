"""An engine that makes a network though it did not answer in time: the network is not forgotten."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from emulator.core.survivors import Survivors
from emulator.errors import DeploymentError
from emulator.machine.host import Load
from emulator.runs.folder import create
from emulator.runtimes.docker.configs.container_settings import Prepared
from emulator.runtimes.docker.container_runtime import DockerRuntime
from emulator.runtimes.docker.engine import cleanup
from emulator.runtimes.docker.engine.cleanup import clean_up_late
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.scenario import loads
from tests.runtimes.docker.configs.pair_configs import configs
from tests.runtimes.docker.engine.engine_answers import unlike
from tests.runtimes.docker.engine.made_up_play import SCENARIO, Onlooker, Wires


class LateEngine:
    """An engine in which a network appears at the look number `appears`."""

    def __init__(self, appears: int) -> None:
        self.api = self
        self.appears, self.looks = appears, 0
        self.made: list[dict[str, Any]] = []
        self.wanted = ""

    def create(self, name: str, **options: object) -> None:
        self.wanted = name
        raise requests.ReadTimeout("Read timed out. (read timeout=120)")

    def containers(self, **about: object) -> list[Any]:
        return []

    def networks(self, **about: object) -> list[Any]:
        self.looks += 1
        if self.looks == self.appears:
            self.made = [{"Id": "1", "Name": self.wanted}]
        return self.made

    def volumes(self, **about: object) -> dict[str, Any]:
        return {"Volumes": None}

    def remove_network(self, id: str) -> None:
        self.made = []


def test_the_late_engine_answers_as_the_engine_does() -> None:
    assert unlike(LateEngine(1), "containers", "networks", "volumes") == []


@pytest.mark.parametrize("appears, forgotten", [(1, False), (3, False), (99, True)])
def test_a_network_that_was_made_too_late_is_removed_or_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, appears: int, forgotten: bool
) -> None:
    monkeypatch.setattr(cleanup, "LATE_ENGINE", 0.05)
    monkeypatch.setattr(cleanup, "LATE_LOOK", 0.001)
    engine, folder = LateEngine(appears), create("pair", tmp_path)
    client: Any = SimpleNamespace(api=engine, networks=engine)
    world = Prepared(loads(SCENARIO), folder, configs(text=SCENARIO), "image", folder.path)
    wires: Any = Wires()
    hosts = Hosts.here(client)
    runtime = DockerRuntime(hosts, folder, world, Onlooker(), Load(), wires)
    with pytest.raises(DeploymentError, match="making the run's network: Read timed out"):
        runtime.deploy(world.scenario, Survivors(2, []))
    runtime.teardown()
    left = clean_up_late(hosts, folder.run, runtime.unanswered)
    assert engine.made == [] and (forgotten or engine.looks >= appears)
    name = f"emulate-{folder.run}-wan"
    told = f"{name} may appear yet, as Docker has not answered whether it is made: `emulate clean`"
    assert [line.startswith(told) for line in left] == [True] * forgotten
