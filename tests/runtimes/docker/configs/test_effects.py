"""A key that containers keep changes what they are told: it is left out, and the orders are others.

The keys of `virtual` change nothing.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.errors import ScenarioError
from emulator.runs import planning
from emulator.runs.data_split import split_data
from emulator.runs.folder import RunFolder
from emulator.runtimes.docker.configs import NodeConfigs, container_settings, spec
from emulator.runtimes.docker.configs.container_settings import Prepared
from emulator.scenario import Scenario, loads
from emulator.scenario.reading.dump import plain
from emulator.scenario.timeline.compiled import timeline
from emulator.shaping.backend import Backend
from emulator.transport.secrets import Guests, Token
from emulator.world.roles import EVALUATOR, SERVER
from tests.containers.kinds.fleet import FLEET
from tests.fakes.scenario_keys import alike, places, without, written
from tests.runtimes.virtual.recorded import RUNS, scenario

VIRTUAL = "homes-behind-routers"
"""The run with a network and background traffic, which `check` refuses in containers."""
TEXTS = {**{run: scenario(run) for run in RUNS if run != VIRTUAL}, "kinds": FLEET}
BACKEND = Backend(rate="tbf", delay="packets", loss="box", cut="nftables")
NAMES = {"devices..profile.name"}
"""Keys that are names in words alone."""


def told(scenario: Scenario, folder: RunFolder) -> Any:
    """Return all that the containers of a run of `scenario` are told, and what is done to them."""
    split = split_data(scenario)
    names = [*(device.name for device in scenario.nodes), EVALUATOR]
    tokens = {name: f"secret of {name}" for name in names}
    configs = NodeConfigs(
        scenario,
        planning.plan(scenario, split.examples, contained=True),
        scenario.training.device_layout.size,
        Guests(tokens),
        {name: Token(name, token) for name, token in tokens.items()},
        BACKEND,
        user=65534,
    )
    nodes = [SERVER, *names, *(each.name for each in scenario.bottlenecks)]
    world = Prepared(scenario, folder, configs, "image", folder.work / "graph")
    world = world.with_ways({name: f"10.0.0.{at}" for at, name in enumerate(nodes, 2)})
    devices = {device.name: device for device in scenario.nodes}
    orders = [
        *(world.configs.device(device, ["10.0.0.2"]) for device in scenario.nodes),
        *(world.configs.gateway(each) for each in scenario.bottlenecks),
        *(world.configs.server(), world.configs.evaluator(["10.0.0.2"])),
    ]
    containers = [
        world.container(name, "wan", {"emulate.run": "effects"}, devices.get(name))
        for name in nodes
    ]
    return (
        [msgspec.to_builtins(order) for order in orders],
        [spec.container(wanted) for wanted in containers],
        [spec.cpu_quota(device.cpu, scenario.dilation) for device in scenario.nodes],
        {name: examples.tolist() for name, examples in split.parts.items()},
        list(timeline(scenario)),
    )


@pytest.mark.slow
def test_a_key_that_is_left_out_changes_what_containers_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_settings, "room_in_memory", lambda folder: 0)  # which changes
    effects: dict[str, bool] = {}
    required: set[str] = set()
    folder = RunFolder(tmp_path, "effects")
    folder.server.mkdir()
    for text in TEXTS.values():
        data = written(text)
        resolved = loads(json.dumps(data))
        whole, told_before = plain(resolved), told(resolved, folder)
        known = required | {key for key, found in effects.items() if found}
        for address in places(data, known):
            key, (less, _) = alike(data, address), without(data, address)
            try:
                changed = loads(json.dumps(less))
            except ScenarioError:
                required.add(key)
                continue
            if plain(changed) != whole:
                effects[key] = effects.get(key, False) or told(changed, folder) != told_before
        assert told(resolved, folder) == told_before  # else each key seems to change something
    assert len(effects) > 150
    missing = {key for key, found in effects.items() if not found}
    assert missing == NAMES | {key for key in effects if key.startswith("virtual")}
