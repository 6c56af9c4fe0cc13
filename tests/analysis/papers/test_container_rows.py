"""Rows that were played in containers: beside virtual time in tables, figures and claims."""

from pathlib import Path
from typing import Any

import pytest

from analysis.papers import claims, made, study_figures
from analysis.papers.declaration import Claim, FigureSpec, Values, declared, papers
from analysis.papers.folder import open_study
from analysis.papers.results import Results
from emulator.sweeps.studies import STUDIES
from tests.analysis.drawn_figures import labelled
from tests.fakes.runs.made_up_study import BETTER, GOOD, Key, played, training

Records = list[dict[str, Any]]


def slower(records: Records, factor: float) -> Records:
    return [{**record, "at": record["at"] * factor} for record in records]


DENSE, SPARSE = training(BETTER, 100, 0), training(BETTER, 1, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ASGD takes 5 % longer in containers, AdaComp 20 %, and ends lower."""
    entries: dict[Key, list[Records]] = {
        ("w", "ASGD", "0.1"): [DENSE] * 3,
        ("w", "ASGD, in containers", "0.1"): [slower(DENSE, 1.05)],
        ("w", "AdaComp", "0.1"): [SPARSE] * 3,
        ("w", "AdaComp, in containers", "0.1"): [slower(training(GOOD, 1, 2), 1.2)],
    }
    return played(tmp_path_factory.mktemp("folder"), "headline", entries)


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return Results(open_study(folder))


def test_cells_have_the_difference_from_virtual_time(results: Results) -> None:
    virtual, docker, _, adacomp = results.study.rows
    assert results.title(docker, worlds=1) == "ASGD, in containers"
    assert results.cell(docker, "difference seconds") == "+5.0 %"
    assert results.cell(docker, "difference pushed") == "+0.0 %"
    assert results.cell(adacomp, "difference ended") == "−1.95 points"
    assert results.cell(virtual, "difference seconds") == "–"


def test_a_row_is_compared_with_its_own_runtime(results: Results) -> None:
    _, docker, _, adacomp = results.study.rows
    assert results.base(adacomp) == docker
    assert results.cell(adacomp, "fewer seconds") == "0.875"


def test_cells_have_the_load_of_the_host(results: Results) -> None:
    virtual, docker, *_ = results.study.rows
    shown = [results.cell(docker, name) for name in ("kept up", "busy", "late")]
    assert shown == ["no", "90.0 %", "12.3 ms"]
    assert results.cell(virtual, "kept up") == "–"


def test_the_protocol_names_the_runs_that_the_host_did_not_keep_up_with(results: Results) -> None:
    text = made(results, {})
    assert "in containers, one run at a time: 2 runs, and the host did not keep up with 2: " in text
    short = "devices and server were short of processor time for 20% of the time"
    assert f"ASGD ({short}); AdaComp ({short})" in text
    assert "3 seeds, of which" in text


@pytest.mark.parametrize(
    ("bound", "verdict"), [(0.25, "reproduced"), (0.1, "partly"), (0.01, "not")]
)
def test_a_claim_on_the_difference_is_judged_by_the_rows_in_containers(
    results: Results, bound: float, verdict: str
) -> None:
    of = Values("seconds", ["ASGD", "AdaComp"], as_="difference")
    found = claims._judge(results, Claim("alike", "all-within", of=of, bound=bound), of)
    assert found.verdict == verdict
    assert found.measured == "+5.0 % (w: ASGD), +20.0 % (w: AdaComp)"


def test_a_difference_without_containers_bears_out_nothing(tmp_path: Path) -> None:
    results = Results(open_study(played(tmp_path, "headline", {("w", "ASGD", "0.1"): [DENSE]})))
    of = Values("seconds", "ASGD", as_="difference")
    found = claims._judge(results, Claim("alike", "all-within", of=of, bound=1), of)
    assert (found.verdict, found.measured) == ("not", "nothing was measured")


def test_other_claims_are_judged_on_both_runtimes(results: Results) -> None:
    of = Values("seconds", "AdaComp", "ASGD")
    found = claims._judge(results, Claim("as soon", "all-at-least", of=of, bound=0.9), of)
    assert found.verdict == "partly"
    assert found.measured == "1 × (w), 0.875 × (w, in containers)"


def test_a_line_in_containers_differs_from_virtual_time_by_its_dash(folder: Path, drawn) -> None:  # type: ignore[no-untyped-def]
    (panel,) = drawn(kind="curves", x="seconds").axes
    lines = labelled(panel)
    for name in ("ASGD", "AdaComp"):
        virtual, docker = lines[name], lines[f"{name}, in containers"]
        assert virtual.get_color() == docker.get_color()
        assert virtual.get_marker() == docker.get_marker()
        assert virtual._dash_pattern != docker._dash_pattern


def test_a_measure_along_a_grid_has_a_line_for_each_runtime(folder: Path, drawn) -> None:  # type: ignore[no-untyped-def]
    (panel,) = drawn(kind="along", along="worlds", y="ended").axes
    assert len(panel.containers) == 4


def test_a_style_without_virtual_time_is_drawn_too(tmp_path: Path) -> None:
    entries: dict[Key, list[Records]] = {("w", "ASGD, in containers", "0.1"): [DENSE]}
    results = Results(open_study(played(tmp_path, "headline", entries)))
    study_figures.draw(results, FigureSpec("made-up", "curves"), tmp_path / "made-up.png")
    assert (tmp_path / "made-up.png").is_file()


CONFIRMED = [name for name, study in STUDIES.items() if study.in_containers]


def test_one_figure_of_each_of_the_four_papers_is_confirmed_in_containers() -> None:
    found = {paper for paper, names in papers().items() if {*names} & {*CONFIRMED}}
    assert found == {"hardy-2017", "chen-2018", "cai-2021", "hadjis-2016"}


@pytest.mark.parametrize("name", CONFIRMED)
def test_a_confirming_study_is_small_and_judges_accuracy_time_and_bytes(name: str) -> None:
    docker = [entry for entry in STUDIES[name].entries if entry.in_containers]
    assert sum(entry.seeds for entry in docker) <= 4
    virtual = [entry for entry in STUDIES[name].entries if not entry.in_containers]
    assert [entry.name for entry in virtual] == [entry.name for entry in docker]
    found = declared(name)
    compared = [c.of.measure for c in found.claims.values() if c.of and c.of.as_ == "difference"]
    assert "ended" in compared and {"seconds", "updates"} & {*compared}
    shown = [column for table in found.tables for _, column in table.measures()]
    assert {"kept up", "busy", "late"} <= {*shown}
    assert any(figure.kind == "curves" and figure.x == "seconds" for figure in found.figures)
