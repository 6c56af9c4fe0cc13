"""Scenarios that Compose cannot play: its server gets no graph and no model to begin with."""

from pathlib import Path

import pytest

from emulator.errors import ScenarioError
from emulator.runtimes.docker.configs.compose_file import lay_down
from emulator.scenario import loads
from tests.fakes.virtual_world import SCENARIO

CUT = "training.fully_connected={place: {after: 1}}"


def test_a_cut_model_is_refused_before_anything_is_laid_down(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"training\.fully_connected: .*no file with the model"):
        lay_down(loads(SCENARIO, (CUT,)), tmp_path / "compose")
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
