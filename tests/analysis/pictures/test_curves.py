"""Curves: medians over seeds, names at the lines' ends, and the panel of the last tenth."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib import rc_context

from analysis.figures.scores import accuracy_bytes, accuracy_updates
from analysis.pictures import drawing
from analysis.pictures.curves import draw_curves, medians, name_lines
from analysis.pictures.theme import STYLE
from analysis.reading.labels import settings
from analysis.reading.runs import Run
from tests.fakes.runs.handmade_run import written


def table(*points: tuple[str, str, float, float]) -> pd.DataFrame:
    """Return a table of run, setting, updates and accuracy."""
    return pd.DataFrame(points, columns=["run", "setting", "updates", "accuracy"])


SEEDS = table(
    *[("1", "a", 0, 10), ("1", "a", 100, 50), ("1", "a", 200, 80)],
    *[("2", "a", 0, 20), ("2", "a", 200, 60)],
    *[("3", "a", 0, 30), ("3", "a", 100, 70)],
)


def test_medians_interpolate_and_keep_the_value_of_an_ended_run() -> None:
    found = medians(SEEDS, "updates", "accuracy")
    assert found.index.to_list() == [0, 100, 200]
    assert found["median"].to_list() == [20, 50, 70]
    assert found["least"].to_list() == [10, 40, 60]
    assert found["most"].to_list() == [30, 70, 80]


def test_seeds_are_one_line_in_a_band() -> None:
    figure = drawing.blank(3)
    ax = figure.subplots()
    (line,) = draw_curves(ax, SEEDS, "updates", "accuracy")
    assert line.get_label() == "a, 3 seeds"
    assert len(ax.collections) == 1


def drawn(ends: list[float]) -> tuple[list[str], list[str]]:
    """Return the names at the ends of lines that end at `ends`, and those of the legend."""
    rows = [(f"run {n}", f"run {n}", x, x * y) for n, y in enumerate(ends) for x in (0, 1)]
    with rc_context(STYLE):
        figure = drawing.blank(3)
        ax = figure.subplots()
        name_lines(ax, draw_curves(ax, table(*rows), "updates", "accuracy"))
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(one.overlaps(two) for one in boxes for two in boxes if one is not two)
    legend = ax.get_legend()
    names = [text.get_text() for text in legend.get_texts()] if legend else []
    return [text.get_text() for text in ax.texts], names


def test_lines_are_named_at_their_ends_where_the_names_fit() -> None:
    assert drawn([10, 40, 90]) == (["run 0", "run 1", "run 2"], [])
    assert drawn([50, 51, 90]) == (["run 0", "run 1", "run 2"], [])  # moved apart
    assert drawn([50.0, 50.1, 50.2, 50.3, 50.4, 50.5, 50.6, 100]) == (
        [],
        [f"run {n}" for n in range(8)],
    )


@pytest.mark.parametrize("figure", [accuracy_updates, accuracy_bytes], ids=drawing.name)
def test_a_panel_shows_the_last_tenth_where_curves_crowd(figure: drawing.FigureModule) -> None:
    over = figure.over  # type: ignore[attr-defined]
    points = [("a", "a", x, y) for x, y in ((1, 20), (2, 95), (3, 96), (4, 97))]
    crowded = table(*points).rename(columns={"updates": over})
    with rc_context(STYLE):
        whole, above = drawing.render(figure, crowded).axes
    assert above.get_ylim()[0] == 90 and 97 < above.get_ylim()[1] < 100
    assert whole.get_ylim()[0] < 20 and 97 < whole.get_ylim()[1] < 105
    with rc_context(STYLE):
        (only,) = drawing.render(figure, crowded[crowded["accuracy"] > 90]).axes
    assert only.get_ylim()[0] > 90, "y from the range of the data"


def test_runs_that_differ_in_the_seed_only_are_a_setting(tmp_path: Path) -> None:
    def run(name: str, algorithm: str, seed: int, runtime: str = "virtual") -> Run:
        training = {"algorithm": algorithm}
        facts = {"scenario": "a", "algorithm": algorithm, "seed": seed, "runtime": runtime}
        scenario = {"name": "a", "seed": seed, "training": training}
        return written(tmp_path / name, [], scenario=scenario, summary=facts)

    one, two, other = run("1", "asgd", 1), run("2", "asgd", 2), run("3", "adacomp", 3)
    assert settings([one, two]) == ["asgd", "asgd"]
    assert settings([one, other, two]) == ["asgd", "adacomp", "asgd"]
    repeated, docker = run("4", "asgd", 1), run("5", "asgd", 2, "docker")
    assert len(set(settings([one, repeated]))) == 2
    assert settings([one, docker]) == ["asgd · virtual", "asgd · docker"]
    assert settings([one, docker, other]) == [
        "asgd · virtual",
        "asgd · docker",
        "adacomp · virtual",
    ]


def test_runtimes_of_a_setting_have_its_colour_and_another_dash() -> None:
    points = [
        (f"{run}", f"asgd · {run}", at, 50.0) for run in ("docker", "virtual") for at in (0, 9)
    ]
    figure = drawing.blank(3)
    ax = figure.subplots()
    docker, virtual = lines = draw_curves(ax, table(*points), "updates", "accuracy")
    assert docker.get_color() == virtual.get_color()
    assert docker.get_linestyle() != virtual.get_linestyle()
    name_lines(ax, lines)
    assert ax.get_legend() and not ax.texts, "names at the ends would not show the dashes"
