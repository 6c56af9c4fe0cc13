"""Fleets with all kinds of links, schedules and cuts: runs end, and keep the laws."""

from pathlib import Path

import pytest

from tests.fakes.plain_records import read
from tests.fakes.virtual.failure_laws import keeps_the_laws
from tests.fakes.virtual.random_features import scenario
from tests.fakes.virtual_world import played

QUICK, ALL = range(16), range(16, 112)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("seed", QUICK)
def test_a_fleet_of_all_features_keeps_the_laws(seed: int, tmp_path: Path) -> None:
    plays(seed, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(ALL.start, ALL.stop, 24))
def test_many_fleets_of_all_features_keep_the_laws(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 24):
        plays(seed, tmp_path / str(seed))


def plays(seed: int, place: Path) -> None:
    text = scenario(seed)
    print(f"seed {seed}\n{text}")
    place.mkdir(exist_ok=True)
    folder, summary, _ = played(place, text=text)
    if "lost_updates" not in summary:
        keeps_the_laws(text, folder, summary)
    times = [record["at"] for record in read(folder / "run.jsonl")]
    assert times == sorted(times)
