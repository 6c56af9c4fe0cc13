"""The quick version of each study plays through: its first point, at its quick size."""

from pathlib import Path

import pytest

from emulator.learning import datasets
from emulator.runs.conductor import ProgressView
from emulator.runtimes.virtual.play_virtual import play
from emulator.sweeps.studies import STUDIES

MOST_UPDATES = 20_000
"""Updates that a quick point has at most: a mini-batch of the largest model takes 10 ms."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_point_of_the_quick_study_is_played(name: str, tmp_path: Path) -> None:
    entry = STUDIES[name].smaller().entries[0]
    scenario = entry.point(entry.rates[0]).scenario
    learns = scenario.virtual.learner != "none"
    if (
        learns
        and not (datasets.store.folder(scenario.training.dataset) / "test-labels.npy").is_file()
    ):
        pytest.skip("run `emulate data`")
    _, summary = play(scenario, tmp_path, ProgressView(), cores=1)
    assert summary["outcome"] == "success"
    assert 0 < summary["updates"] <= MOST_UPDATES


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_quick_study_is_a_small_part_of_the_whole(name: str) -> None:
    whole, quick = STUDIES[name], STUDIES[name].smaller()
    assert quick.entries
    assert {entry.world for entry in quick.entries} <= {entry.world for entry in whole.entries}
    points = [sum(len(each.rates) + each.seeds - 1 for each in s.entries) for s in (whole, quick)]
    assert points[1] <= points[0]
