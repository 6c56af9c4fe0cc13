"""Fleets under faults of all kinds: runs end, count each update once, and repeat to the byte."""

from pathlib import Path

import pytest

from tests.fakes.virtual.failure_laws import keeps_the_laws
from tests.fakes.virtual.random_failures import scenario
from tests.fakes.virtual_world import played

QUICK, ALL = (*range(12), 72), range(12, 300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", QUICK)
def test_a_fleet_under_faults_keeps_the_laws(seed: int, tmp_path: Path) -> None:
    plays_twice(seed, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(ALL.start, ALL.stop, 24))
def test_many_fleets_under_faults_keep_the_laws(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 24):
        (tmp_path / str(seed)).mkdir()
        plays_twice(seed, tmp_path / str(seed))


def plays_twice(seed: int, place: Path) -> None:
    text = scenario(seed)
    print(f"seed {seed}\n{text}")
    folder, summary, _ = played(place, text=text)
    keeps_the_laws(text, folder, summary)
    (place / "again").mkdir()
    again, _, _ = played(place / "again", text=text)
    for name in ("run.jsonl", "timeline.jsonl"):
        assert (folder / name).read_bytes() == (again / name).read_bytes(), name
