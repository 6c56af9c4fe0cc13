"""Every part is played in both runtimes, drawn, made durable and recorded, by tests that look."""

import pytest

from tests.cover import (
    LIBRARY,
    PARTS,
    VIRTUAL_ALONE,
    covered,
    drawn,
    made_durable,
    played_in_containers,
    played_in_virtual_time,
)
from tests.cover.dealt_fleets import TRAININGS
from tests.runtimes.virtual.recorded import EVERY_PART, RUNS, recorded, scenario

ELSEWHERE = {"split owners"}
"""Parts of data of one's own, which tests/containers/training/test_own_models.py plays."""
DEALT = ("algorithm", "dataset", "model", "profile", "failures", "trace")
"""Keys of parts that are made of drawn ones, or too large for hundreds of fleets."""
OF_DEVICES = ("schedule", "split")
"""Keys of parts of which a server has no state."""


def test_every_part_is_played_in_containers() -> None:
    assert PARTS - covered(played_in_containers()) == ELSEWHERE | VIRTUAL_ALONE


def test_every_part_is_played_in_virtual_time() -> None:
    assert PARTS - covered(played_in_virtual_time()) == ELSEWHERE


@pytest.mark.slow
def test_every_part_is_drawn() -> None:
    missing = PARTS - covered(drawn())
    assert {part for part in missing if part.split()[0] not in DEALT} == ELSEWHERE


def test_every_part_of_a_server_is_made_durable() -> None:
    families = {part.split()[0] for part in made_durable()}
    wanted = {part for part in PARTS if part.split()[0] in families}
    assert wanted == made_durable()
    assert not families & {*OF_DEVICES}


def test_every_part_is_recorded() -> None:
    """The recording `every-part` plays what is dealt, in virtual time."""
    missing = PARTS - covered([*played_in_containers(), *map(scenario, RUNS)])
    assert missing == ELSEWHERE
    others = {"keys of links", "kinds"}
    assert recorded(EVERY_PART)["runs"].keys() == {*TRAININGS, *LIBRARY, *others}
