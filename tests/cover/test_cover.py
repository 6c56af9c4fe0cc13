"""Every part is played in both runtimes, by a test that looks at the run."""

from tests.cover import PARTS, covered, played_in_containers, played_in_virtual_time

ELSEWHERE = {"split owners"}
"""Parts of data of one's own, which tests/containers/training/test_own_models.py plays."""


def test_every_part_is_played_in_containers() -> None:
    assert PARTS - covered(played_in_containers()) == ELSEWHERE


def test_every_part_is_played_in_virtual_time() -> None:
    assert PARTS - covered(played_in_virtual_time()) == ELSEWHERE
