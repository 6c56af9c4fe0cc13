"""The study of liars: its entries, its table and its figure."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from analysis.papers import byzantine
from analysis.papers.folder import Row, Study
from analysis.pictures import picture_file
from emulator.scenario.timeline.compiled import timeline
from emulator.sweeps.studies import STUDIES
from tests.fakes.runs.handmade_run import written

LIES = {"4 liars": ["device-2", "device-4", "device-12", "device-17"], "no liars": []}


def row(folder: Path, world: str, entry: str, *seeds: list[float | None], stop: str = "") -> Row:
    """A row with the accuracies of each of the `seeds`, 100 updates apart; None is NaN."""
    runs = []
    for seed, accuracies in enumerate(seeds):
        runs.append(folder / f"{world}-{entry}-{seed}")
        records: list[dict] = [
            {"what": "evaluation", "at": float(n), "updates": 100 * n, "accuracy": accuracy}
            for n, accuracy in enumerate(accuracies)
        ]
        reason = stop if seed == 0 and stop else "updates"
        written(runs[-1], [*records, {"what": "stop", "at": 9.0, "reason": reason}])
    return Row(world, entry, "0.1", True, tuple(runs))


@pytest.fixture
def study(tmp_path: Path) -> Study:
    good, better = [0.1, 0.94, 0.96], [0.1, 0.96, 0.98]
    soon = better[:2]
    rows = (
        row(tmp_path, "4 liars", "mean", [0.1, None], [0.1, 0.2], stop="diverged"),
        row(tmp_path, "4 liars", "krum", good, better, soon),
        row(tmp_path, "4 liars", "mean, by: 1", good),
        row(tmp_path, "no liars", "mean", better),
        row(tmp_path, "no liars", "krum", [0.1, 0.9, 0.9], stop="diverged"),
    )
    return Study("byzantine", rows, (), tmp_path)


def test_the_table_has_a_row_for_each_aggregation(study: Study) -> None:
    assert byzantine.tables(study).splitlines() == [
        "| aggregation | 4 liars | updates to 95 % | no liars | updates to 95 % |",
        "|---|---:|---:|---:|---:|",
        "| mean | 10.0 % (0.0 % – 20.0 %), diverged: 1 of 2 | never | 98.0 % | 100 |",
        "| krum | 96.0 % (96.0 % – 98.0 %) | 100 | 90.0 %, diverged | never |",
        "| mean, by: 1 | 96.0 % | 200 |  |  |",
    ]


def test_the_figure_has_a_line_and_a_band_for_each_aggregation(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(picture_file, "save_png", lambda figure, *rest: drawn.append(figure))
    byzantine.figure(study, tmp_path / "byzantine.png")
    liars, honest = drawn[0].axes
    assert [liars.get_title(), honest.get_title()] == ["4 liars", "no liars"]
    lines = {line.get_label(): line for line in liars.get_lines()}
    # of 96 %, 98 %, and 96 % of the run that ended before
    assert list(lines["krum"].get_ydata()) == [10.0, 96.0, 96.0]
    crosses = [line for line in liars.get_lines() if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[100]]
    assert len(liars.collections) == 3
    (legend,) = drawn[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["mean", "krum", "mean, by: 1"]


@pytest.mark.parametrize("world", LIES)
def test_every_aggregation_is_played_with_liars_and_without(world: str) -> None:
    chosen = STUDIES["byzantine"]
    kinds = []
    for entry in (entry for entry in chosen.entries if entry.world == world):
        scenario = entry.point(entry.rates[0]).scenario
        lies = [timed for timed in timeline(scenario) if timed.action.verb == "falsify"]
        assert sorted(timed.action.node for timed in lies) == sorted(LIES[world])
        kinds.append(scenario.training.aggregation.kind)
    assert set(kinds) == {"mean", "median", "trimmed-mean", "krum", "multi-krum", "norm-clip"}
