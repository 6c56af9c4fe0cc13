"""Figures show what the records hold, and draw whatever there is to draw."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.image import imread

from analysis import FIGURES, Run, read
from analysis.__main__ import main
from analysis.facts import faults
from analysis.facts.devices import devices
from analysis.figures import (
    bytes_by_kind,
    device_traffic,
    link_rates,
    server_traffic,
    staleness,
    update_rate,
)
from analysis.figures.scores import accuracy_bytes, accuracy_time, accuracy_updates
from analysis.pages.run_warnings import warnings
from analysis.pictures import drawing
from analysis.pictures.theme import STYLE
from tests.fakes.runs.handmade_run import traffic_record, update, written
from tests.fakes.runs.synthetic_run import Synthetic

every_figure = pytest.mark.parametrize("figure", FIGURES, ids=drawing.name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Synthetic(updates=1000).write(tmp_path_factory.mktemp("run") / "one")


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return read(folder)


@pytest.fixture(scope="module")
def sizes(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Run]]:
    """Write and read a set of runs that a figure must be able to draw, by its name."""
    base = tmp_path_factory.mktemp("sizes")

    @cache  # the sets that a selection of tests leaves out need not be written
    def named(kind: str) -> list[Run]:
        match kind:
            case "none":
                return []
            case "empty":
                return [written(base / "empty", [{"at": 0.0, "what": "stop", "reason": "failed"}])]
            case "one device":
                return [read(Synthetic(devices=1, updates=20).write(base / "single"))]
            case "eight":
                return [read(folder)]
            case "forty":
                many = Synthetic(devices=40, updates=300, faults=churn(40))
                return [read(many.write(base / "many"))]
            case "compared":
                dense = Synthetic(updates=200, algorithm="asgd").write(base / "dense")
                return [read(folder), read(dense), *named("empty")]
            case "measured once":
                return [_measured_once(base / "once")]
            case "points":
                return [_point(base, size, seed) for size in (5, 10, 20) for seed in range(8)]
        raise KeyError(kind)

    return named


def _measured_once(folder: Path) -> Run:
    """A run that ended before the second evaluation."""
    first = {"accuracy": 0.1, "loss": 2.3, "version": 0, "updates": 0, "push_bytes": 0}
    records = [{"at": 0.0, "what": "evaluation", **first}, update(1.0), update(2.0)]
    return written(folder, [*records, {"at": 2.5, "what": "stop", "reason": "canceled"}])


def _point(base: Path, size: int, seed: int) -> Run:
    """A sweep's point, whose name is as long as such names are."""
    varied = {"codec": "dense", "modulation": "constant", "batch_size": size}
    result = [f"training.{key}={value}" for key, value in varied.items()]
    label = ",".join([*result, f"seed={seed}"])
    folder = base / "points" / label
    Synthetic(devices=2, updates=20, seed=seed, faults=[]).write(folder)
    (folder / "point.json").write_text(json.dumps({"label": label}))
    return read(folder)


def churn(devices: int) -> list[tuple[str, str, float, float | None]]:
    half = devices // 2
    crashes = [("crash", f"fiber-{number}", 2.0 + number / 3, 3.0) for number in range(half)]
    return [*crashes, ("partition", "adsl-1", 4.0, 2.0), ("crash", "adsl-2", 5.0, None)]


@pytest.mark.mostly_slow(quick=8)
@every_figure
@pytest.mark.parametrize(
    "kind",
    [
        "none",
        "empty",
        "one device",
        pytest.param("eight", marks=pytest.mark.slow),  # a report draws them all of such a run
        pytest.param("forty", marks=pytest.mark.slow),
        pytest.param("compared", marks=pytest.mark.slow),  # a comparison draws such runs
        "measured once",
        pytest.param("points", marks=pytest.mark.slow),
    ],
)
def test_figures_draw_whatever_there_is(
    figure: drawing.FigureModule, kind: str, sizes: Callable[[str], list[Run]]
) -> None:
    runs = sizes(kind)
    table = figure.table(runs)
    assert table.columns[0] == "run"
    with rc_context(STYLE):
        drawn = drawing.render(figure, figure.table(runs))
        drawn.set_dpi(20)
        drawn.canvas.draw()
    texts = [text.get_text() for ax in drawn.axes for text in ax.texts]
    assert table.empty == any("nothing to draw" in text for text in texts)


@every_figure
def test_figures_say_what_they_are(figure: drawing.FigureModule) -> None:
    assert figure.TITLE and not figure.TITLE.endswith(".")
    assert figure.CAPTION.endswith(".")
    assert figure.__doc__


@pytest.mark.mostly_slow(quick=6)
@every_figure
def test_drawing_leaves_the_table_alone(
    figure: drawing.FigureModule, sizes: Callable[[str], list[Run]]
) -> None:
    table = figure.table(sizes("one device"))
    before = table.copy(deep=True)
    figure.draw(table, Figure().subplots())
    pd.testing.assert_frame_equal(table, before)


def test_accuracy_is_that_of_the_evaluations_in_per_cent(run: Run) -> None:
    evaluations = run.records("evaluation")
    table = accuracy_updates.table([run])
    assert table["updates"].to_list() == [200, 400, 600, 800, 1000]
    assert table["accuracy"].to_list() == (evaluations["accuracy"] * 100).to_list()


def test_accuracy_over_time_has_the_faults_as_bands(run: Run) -> None:
    table = accuracy_time.table([run])
    measured, bands = (table[(table["what"] == "accuracy") == known] for known in (True, False))
    assert measured["at"].to_list() == run.records("evaluation")["at"].to_list()
    assert bands["what"].to_list() == ["crash", "partition"]
    assert bands["until"].to_list() == faults.outages(run)["until"].to_list()
    ax = drawing.render(accuracy_time, accuracy_time.table([run])).axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *("crash: fiber-1", "partition: adsl-0")
    ]
    assert ax.get_xlim()[1] > run.end * 0.9
    several = drawing.render(accuracy_time, accuracy_time.table([run, run])).axes[0]
    assert len(several.patches) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "label"),
    [
        (accuracy_time, "time (s)"),
        (accuracy_bytes, "bytes pushed"),
        (update_rate, "time (s)"),
        (server_traffic, "time (s)"),
        (device_traffic, "time (s)"),
    ],
    ids=lambda value: value if isinstance(value, str) else drawing.name(value),
)
def test_axes_are_labelled_in_words(run: Run, figure: drawing.FigureModule, label: str) -> None:
    drawn = drawing.render(figure, figure.table([run]))
    assert {ax.get_xlabel() for ax in drawn.axes} - {""} == {label}


def test_server_traffic_has_the_records_rates_and_the_faults_as_bands(run: Run) -> None:
    table = server_traffic.table([run])
    rx = table[table["what"] == "rx"]
    assert set(rx["node"]) == {"server"}
    counted = run.records("traffic").query("node == 'server'")["rx"]
    carried = (rx["mbit"] * (rx["until"] - rx["at"])).sum() * 1e6 / 8
    assert carried == pytest.approx(counted.iloc[-1] - counted.iloc[0])
    bands = table[~table["what"].isin(["rx", "tx"])]
    assert bands["what"].to_list() == ["crash", "partition"]
    assert bands["at"].to_list() == faults.outages(run)["at"].to_list()


def test_device_traffic_holds_devices_only_in_their_order(run: Run) -> None:
    table = device_traffic.table([run])
    assert list(dict.fromkeys(table["node"])) == [item.name for item in devices(run)]
    assert table.query("node == 'adsl-0' and what == 'tx'")["requested"].unique().tolist() == [1.0]


def test_links_that_were_never_full_are_not_blamed(tmp_path: Path) -> None:
    scenario = {
        "devices": [
            {"name": name, "link": {"up": {"rate": "8mbit"}}} for name in ("a", "b", "c", "d")
        ]
    }
    busiest = {"a": 980_000, "b": 300_000, "c": 1_200_000, "d": 0}
    records = [
        traffic_record(at, name, 0, int(at * held))
        for at in (0.0, 1.0)
        for name, held in busiest.items()
    ]
    run = written(tmp_path, records, scenario=scenario)
    table = link_rates.table([run]).set_index("node")
    assert table["share"].to_list() == pytest.approx([0.98, 0.3, 1.2, 0.0])
    assert table["verdict"].to_list() == [
        *("saturated", "never saturated", "above the requested rate", "no traffic")
    ]
    assert [warning for warning in warnings(run) if "faster than" in warning] == [
        "c sent faster than the link allows: 120 % of its rate"
    ]


def test_update_rates_add_up_to_the_updates(run: Run) -> None:
    table = update_rate.table([run]).query("what == 'update'")
    counted = (table["rate"] * (table["until"] - table["at"])).sum()
    last = table["until"].max()
    assert counted == pytest.approx((run.records("update")["at"] < last).sum())


def test_staleness_and_kinds_are_the_updates_own(run: Run) -> None:
    updates = run.records("update")
    table = staleness.table([run])
    assert table["divisor"].to_list() == updates["divisor"].to_list()
    kinds = bytes_by_kind.table([run])
    assert kinds["values"].sum() == updates["values"].sum()
    assert len(kinds) == 8


@pytest.mark.slow
def test_svg_stands_alone_and_png_lands_in_the_run(tmp_path: Path, run: Run) -> None:
    drawn = drawing.svg(update_rate, [run])
    assert drawn.startswith("<svg") and "http" not in drawn
    path = drawing.png(accuracy_updates, [run], tmp_path, dpi=30)
    assert path.name == "accuracy_updates.png"
    rows, columns, _ = imread(path).shape
    assert columns == int(drawing.WIDTH * 30) and rows > columns / 4


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "not a run's folder" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(tmp_path), str(tmp_path)])
