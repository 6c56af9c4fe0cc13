"""The study of compute groups: its tables, verdicts and figures, and its short runs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import papers
from analysis.papers import omnivore
from analysis.papers.declaration import declared
from analysis.papers.folder import Row, Study
from emulator.sweeps import sweep
from emulator.sweeps.studies import STUDIES
from tests.analysis.drawn_figures import kept, labelled, legend
from tests.fakes.runs.asynchronous_descent import asynchronous
from tests.fakes.runs.group_steps import ALONE, BARRIER, PAIRS, log, repeated
from tests.fakes.sweeps.made_up_sweeps import Watching
from tests.fakes.virtual_world import digits

CLAIMS = list(declared("omnivore").claims)
STEPS = {1: BARRIER, 2: PAIRS, 4: [(at / 8, who) for at, who in ALONE]}


def row(folder: Path, groups: int, entry: str, steps: list[tuple[float, str]]) -> Row:
    path = folder / f"{groups}-{entry}"
    log(path, {"kind": "groups", "groups": groups}, steps)
    return Row(f"g = {groups}", entry, "0.02", True, (path,))


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr("analysis.papers.omnivore.TARGET", 0.5)
    rows = [row(tmp_path, groups, "momentum 0.9", steps[:1]) for groups, steps in STEPS.items()]
    rows[0] = row(tmp_path, 1, "momentum 0.9", BARRIER)
    rows += [
        row(tmp_path, groups, "momentum 0", repeated(steps))
        for groups, steps in STEPS.items()
        if groups > 1
    ]
    rows.append(row(tmp_path, 4, "fixed", ALONE[:2]))
    hardware = [{"groups": groups, "formula": 0.5, "queue": 0.6} for groups in STEPS]
    (tmp_path / "plans.json").write_text(json.dumps({"hardware": hardware}))
    runs = []
    for seed in range(4):
        runs.append(tmp_path / f"momentum-{seed}")
        runs[-1].mkdir()
        kept = asynchronous(2, seed)
        arrays: dict[str, Any] = {"changes": kept.changes, "gradients": kept.gradients}
        np.savez(runs[-1] / "trajectory.npz", **arrays)
    rows.append(Row("momentum, exponential steps", "g = 2", "0.2", True, tuple(runs)))
    return Study("omnivore", tuple(rows), (), tmp_path)


def test_verdicts_and_tables_come_from_the_runs(study: Study) -> None:
    found = dict(zip(CLAIMS, omnivore.claims(study), strict=True))
    measured = {name: (one.verdict, one.measured) for name, one in found.items()}
    assert measured["untuned"] == ("reproduced", "never against 3.0 s")
    assert measured["tuned"] == ("reproduced", "0.6 s against 3.0 s")
    assert measured["both tuned"] == ("reproduced", "0.6 s against 3.0 s")
    assert measured["explicit momentum"] == ("reproduced", "0.9, 0, 0")
    assert measured["best g"][0] == "not"
    made = "\n".join(omnivore.tables(study))
    # updates in seconds an eighth as long; five of them to the target; one group needs two
    assert "| 4 | 0, 0.02 | 125.0 (125.0 – 125.0) | 500.0 | 600.0 | 5 (5 – 5) | 2.5 |" in made
    assert "| exponential steps | 2 | 0.500 |" in made


def test_momenta_that_rise_again_do_not_fall(study: Study) -> None:
    momenta = {2: "momentum 0.5", 4: "momentum 0.7"}
    rows = tuple(
        replace(row, entry=momenta[int(row.world[-1])]) if row.entry == "momentum 0" else row
        for row in study.rows
    )
    found = dict(zip(CLAIMS, omnivore.claims(replace(study, rows=rows)), strict=True))
    falls = found["explicit momentum"]
    assert (falls.verdict, falls.measured) == ("not", "0.9, 0.5, 0.7")


@pytest.mark.slow
def test_the_study_is_published_with_its_figures(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    monkeypatch.setattr(papers, "open_study", lambda folder: study)
    drawn = kept(monkeypatch)
    page, *figures = papers.publish(tmp_path, docs)
    assert "| claim | where | verdict | measured |" in page.read_text()
    names = [f"omnivore-{name}.png" for name in ("efficiency", "momentum", "accuracy")]
    assert [figure.name for figure in figures] == names
    hardware, statistical, total = drawn["omnivore-efficiency.png"].axes
    assert list(labelled(hardware)["queue"].get_ydata()) == [0.6, 0.6, 0.6]
    assert list(statistical.get_lines()[0].get_ydata()) == [2, 3, 5]
    assert list(total.get_lines()[0].get_ydata()) == [3, 1.5, 0.625]
    explicit, implicit, _ = drawn["omnivore-momentum.png"].axes
    assert list(explicit.get_lines()[0].get_ydata()) == [0.9, 0, 0]
    assert implicit.get_lines()[1].get_ydata() == pytest.approx([0.5], abs=0.01)
    (accuracy,) = drawn["omnivore-accuracy.png"].axes
    assert accuracy.get_xlabel() == "Time (s)"
    assert "synchronous, momentum 0.9" in legend(accuracy)


def test_every_number_of_groups_has_the_same_group_updates() -> None:
    for entry in STUDIES["omnivore"].entries:
        if entry.world.startswith("g ="):
            scenario = entry.point(entry.rates[0]).scenario
            groups = scenario.training.synchronization.groups  # type: ignore[union-attr]
            members = len(scenario.nodes) // groups
            assert scenario.evaluate.every == 5 * members
            assert scenario.stop.updates == 1200 * members


@pytest.mark.slow
def test_short_runs_keep_what_is_measured(tmp_path: Path) -> None:
    study = STUDIES["omnivore"]
    entry = next(entry for entry in study.entries if entry.world.startswith("momentum"))
    points = entry.seeded(entry.rates[0])[:2]
    assert all(point.short for point in points)
    with digits():
        made = sweep(points, tmp_path, 1, Watching())
    assert all((item.folder / "trajectory.npz").is_file() for item in made)
