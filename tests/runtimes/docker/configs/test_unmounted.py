"""Scenarios that Compose cannot play: its server is one, without a graph or a saved model."""

from pathlib import Path

import pytest

from emulator.errors import ScenarioError
from emulator.runtimes.docker.configs.compose_file import lay_down
from emulator.scenario import loads
from tests.fakes.virtual_world import SCENARIO

CUT = "training.fully_connected={place: {after: 1}}"


@pytest.mark.parametrize(
    "key, message",
    [
        (CUT, r"training\.fully_connected: .*no file with the model"),
        ("server.shards=2", r"^server\.shards: docker-compose\.yml has one server: play"),
    ],
)
def test_a_scenario_is_refused_before_anything_is_laid_down(
    key: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError, match=message):
        lay_down(loads(SCENARIO, (key,)), tmp_path / "compose")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("network={routers: [core]}", "network: docker-compose.yml has no routers"),
        (
            "devices[0].background={up: {rate: 1mbit}}",
            "background: docker-compose.yml has no senders",
        ),
        (
            "bottlenecks=[{name: s, up: {rate: 1mbit}, members: [adsl], "
            "background: {up: {rate: 1mbit}}}]",
            "background: docker-compose.yml has no senders",
        ),
    ],
)
def test_what_virtual_time_alone_plays_is_refused(override: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=said):
        lay_down(loads(SCENARIO, (override,)), tmp_path / "compose")
    assert not [*tmp_path.iterdir()]
