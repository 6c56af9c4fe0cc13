"""Figures of studies, as their files declare them: what is drawn, and over which axes."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from analysis.papers import study_figures
from analysis.papers.declaration import FigureSpec
from analysis.papers.folder import open_study
from analysis.papers.results import Results
from analysis.pictures import picture_file
from analysis.pictures.picture_file import Print
from tests.analysis.drawn_figures import labelled
from tests.fakes.runs.made_up_study import BETTER, GOOD, Key, played, training

DENSE = training(BETTER, 100, 0)
SPARSE = [
    *training(BETTER, 1, 2),
    *(
        {"at": at, "what": "compression", "node": "a", "updates": at, "sent": {"conv0/weights": 3}}
        | {"residue": {"conv0/weights": at / 10}}
        for at in (9.0, 19.0)
    ),
]
LOST = [*training(GOOD[:2], 1, 2), {"what": "stop", "at": 20.0, "reason": "diverged"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    entries: dict[Key, list[list[dict]]] = {
        ("few", "ASGD", "0.1"): [DENSE, training(GOOD, 100, 0), DENSE],
        ("few", "AdaComp, c = 10%", "0.1"): [SPARSE] * 2,
        ("few", "AdaComp, c = 1%", "0.1"): [SPARSE, LOST],
        ("many", "ASGD", "0.1"): [DENSE],
    }
    return played(tmp_path_factory.mktemp("folder"), "headline", entries)


def test_curves_are_medians_with_bands_in_a_panel_for_each_world(drawn) -> None:  # type: ignore[no-untyped-def]
    figure = drawn(kind="curves")
    few, many = figure.axes
    assert [few.get_title(), many.get_title()] == ["few", "many"]
    assert (few.get_xlabel(), few.get_ylabel()) == ("Updates", "Test accuracy (%)")
    line = labelled(few)["ASGD"]
    assert list(line.get_xdata()) == [0, 10, 20, 30, 40]
    assert list(line.get_ydata()) == pytest.approx([10, 96, 98, 98.5, 98.6])
    assert len(few.collections) == 3, "a band for each entry"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "ASGD",
        "AdaComp, c = 10%",
        "AdaComp, c = 1%",
    ]


def test_a_run_that_diverged_ends_with_a_cross(drawn) -> None:  # type: ignore[no-untyped-def]
    few, _ = drawn(kind="curves").axes
    crosses = [line for line in few.get_lines() if line.get_marker() == "x"]
    assert [(list(c.get_xdata()), list(c.get_ydata())) for c in crosses] == [([10], [90.0])]


@pytest.mark.parametrize(
    ("x", "last"), [("pushed", 16_400), ("pulled", 28_000), ("both", 44_400), ("seconds", 40)]
)
def test_curves_over_costs(drawn, x: str, last: float) -> None:  # type: ignore[no-untyped-def]
    few, _ = drawn(kind="curves", x=x).axes
    assert labelled(few)["ASGD"].get_xdata()[-1] == last
    assert few.get_xscale() == ("linear" if x == "seconds" else "log")


def test_curves_over_epochs(drawn) -> None:  # type: ignore[no-untyped-def]
    few, _ = drawn(kind="curves", x="epochs", y="error").axes
    line = labelled(few)["ASGD"]
    assert line.get_xdata()[-1] == pytest.approx(40 / (1437 / 10))
    assert line.get_ydata()[-1] == pytest.approx(1.4)


@pytest.mark.parametrize("y", ["loss", "staleness", "divisor", "compression of wire"])
def test_curves_of_other_values(drawn, y: str) -> None:  # type: ignore[no-untyped-def]
    few, _ = drawn(kind="curves", y=y).axes
    assert len(labelled(few)["ASGD"].get_xdata()) > 3


def test_curves_of_measured_updates(drawn) -> None:  # type: ignore[no-untyped-def]
    few, _ = drawn(kind="curves", y="residue of conv0/weights", x="epochs").axes
    assert (few.get_ylabel(), few.get_yscale()) == ("Residue (RMS), conv0/weights", "log")
    line = labelled(few)["AdaComp, c = 10%"]
    assert list(line.get_xdata()) == pytest.approx([10 / (1437 / 10), 20 / (1437 / 10)])
    assert list(line.get_ydata()) == pytest.approx([0.9, 1.9])
    assert "ASGD" not in labelled(few), "which measured nothing"


def test_curves_of_bytes_are_logarithmic_and_in_words(drawn) -> None:  # type: ignore[no-untyped-def]
    few, _ = drawn(kind="curves", x="seconds", y="pushed").axes
    assert few.get_yscale() == "log"
    assert few.yaxis.get_major_formatter()(2e6) == "2 MB"


def test_a_further_line_of_panels_shows_the_upper_end(drawn) -> None:  # type: ignore[no-untyped-def]
    axes = drawn(kind="curves", zoom=["90%", "99.5%"]).axes
    assert len(axes) == 4
    assert axes[2].get_ylim() == pytest.approx((90, 99.5))
    assert axes[0].get_ylim()[0] < 90


def test_a_measure_along_a_grid(drawn) -> None:  # type: ignore[no-untyped-def]
    figure = drawn(kind="along", along="c", y="best", log=True, worlds=["few"], entries=["AdaComp"])
    (panel,) = figure.axes
    assert (panel.get_xlabel(), panel.get_xscale()) == ("c", "log")
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["10", "1"]
    (points,) = panel.containers
    assert list(points[0].get_xdata()) == [1, 10]
    assert list(points[0].get_ydata()) == pytest.approx([(98.6 + 90) / 2, 98.6])


def test_measures_along_the_worlds(drawn) -> None:  # type: ignore[no-untyped-def]
    measures = ["ended", "seconds to 97%"]
    left, right = drawn(kind="along", along="worlds", y=measures, label="Fleet").axes
    assert left.get_xlabel() == right.get_xlabel() == "Fleet"
    assert [tick.get_text() for tick in right.get_xticklabels()] == ["few", "many"]
    assert left.get_ylabel().startswith("Test accuracy (%)")


def test_a_measure_across_another_one(drawn) -> None:  # type: ignore[no-untyped-def]
    keys = {"x": "compression of wire", "y": ["least error", "pushed"], "panels": "none"}
    left, right = drawn(kind="across", log=True, worlds=["few"], **keys).axes
    assert (left.get_xlabel(), left.get_xscale()) == ("Compression, wire", "log")
    assert left.get_ylabel().startswith("Test error (%)")
    lines = labelled(left)
    (x,), (y,) = lines["ASGD"].get_xdata(), lines["ASGD"].get_ydata()
    assert y == pytest.approx(1.4), "the median of three seeds"
    assert len(lines["AdaComp"].get_xdata()) == 2, "a point for each value on the grid"
    assert min(lines["AdaComp"].get_xdata()) > x
    dots = [line for line in left.get_lines() if line.get_marker() == "."]
    assert [len(line.get_xdata()) for line in dots] == [3, 4], "a dot for each seed"
    assert right.get_yscale() == "log"
    assert right.yaxis.get_major_formatter()(2e6) == "2 MB"


def test_rows_without_a_finite_median_have_no_point(drawn) -> None:  # type: ignore[no-untyped-def]
    (panel,) = drawn(kind="across", x="pushed", y="pushed to 97%", worlds=["few"]).axes
    points = {name: len(line.get_xdata()) for name, line in labelled(panel).items()}
    # half of the seeds of the third entry never arrive
    assert (points["ASGD"], points["AdaComp"]) == (1, 1)


def test_panels_for_narrow_print_stand_below_each_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(picture_file, "save_all", lambda figure, *rest: figures.append(figure))
    keys = {"kind": "along", "along": "worlds", "y": ["ended", "loss"]}
    spec = FigureSpec("made-up", **keys)  # type: ignore[arg-type]
    for width in (3.33, 7.0):
        study_figures.draw(
            Results(open_study(folder)), spec, tmp_path / "f.png", Print(width=width)
        )
    shapes = [figure.axes[0].get_subplotspec().get_gridspec().get_geometry() for figure in figures]
    assert shapes == [(2, 1), (1, 2)]


def test_worlds_stand_below_each_other_in_narrow_print(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(picture_file, "save_all", lambda figure, *rest: figures.append(figure))
    spec, print_ = FigureSpec("made-up", kind="curves"), Print(width=3.33)
    study_figures.draw(Results(open_study(folder)), spec, tmp_path / "f.png", print_)
    few, many = figures[0].axes
    assert few.get_subplotspec().get_gridspec().get_geometry() == (2, 1)
    assert [few.get_title(), many.get_title()] == ["few", "many"]
    assert {panel.get_ylabel() for panel in (few, many)} == {"Test accuracy (%)"}
    assert {panel.get_xlabel() for panel in (few, many)} == {"Updates"}
    assert few.get_ylim() == many.get_ylim()


def test_bars(drawn) -> None:  # type: ignore[no-untyped-def]
    few, _ = drawn(kind="bars", y="pushed to 97%").axes
    # half of the seeds of the third entry never arrive, so their median has no bar
    assert [bar.get_height() for bar in few.patches] == pytest.approx([8200, 320])
    assert few.get_yscale() == "log"


def test_bytes_over_time_are_on_a_logarithmic_axis(drawn) -> None:  # type: ignore[no-untyped-def]
    few, _ = drawn(kind="curves", x="seconds", y="pushed").axes
    assert few.get_yscale() == "log"
    assert list(labelled(few)["ASGD"].get_ydata()) == [4100, 8200, 12300, 16400]
    assert few.yaxis.get_major_formatter()(2e6, 0) == "2 MB"


def test_a_legend_is_no_wider_than_its_figure(drawn) -> None:  # type: ignore[no-untyped-def]
    figure = drawn(kind="curves", worlds=["few"])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_window_extent().width <= figure.bbox.width
