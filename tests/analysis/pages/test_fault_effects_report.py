"""The effects of faults in the report and in figures, and devices under plots over time."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

import analysis
from analysis.figures import fault_effects, server_traffic, update_rate
from analysis.figures.scores import accuracy_time
from analysis.pages.report import report
from analysis.pictures import drawing, raster
from analysis.pictures.theme import STYLE
from analysis.tables import fault_tables
from tests.fakes.runs.handmade_run import act, written
from tests.fakes.virtual_world import played

FAULTS = """faults=[{kind: crash, nodes: [adsl], at: 1s, lasts: 1s},
  {kind: flap, nodes: [fiber], at: 1s, lasts: 3s, outage: 200ms, uptime: 300ms}]"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> analysis.Run:
    folder, _, _ = played(tmp_path_factory.mktemp("runs"), FAULTS, "stop.time=6s")
    return analysis.read(folder)


@pytest.mark.slow
def test_the_report_has_the_effects_by_kind_and_one_by_one(run: analysis.Run) -> None:
    kinds = fault_tables.by_kind(run)
    assert [row[:3] for row in kinds] == [("crash", "3", "3"), ("flap", "12", "2")]
    rows = fault_tables.one_by_one(run)
    assert len(rows) == 15
    assert rows[0][:5] == ("crash", "adsl-0", "1.000", "1.000", "2.000")
    assert fault_tables.unlisted(run) == 0
    text = report(run.folder).read_text()
    assert "fault by fault" in text and "Planned and realised" in text


def test_a_run_without_faults_has_no_effects(tmp_path: Path) -> None:
    folder, summary, _ = played(tmp_path, "faults=[]", "stop.updates=20")
    calm = analysis.read(folder)
    assert "fault_effects" not in summary
    assert fault_tables.by_kind(calm) == fault_tables.one_by_one(calm) == []
    assert fault_effects.table([calm]).empty


def test_the_figure_has_a_bar_for_each_window_of_each_kind(run: analysis.Run) -> None:
    table = fault_effects.table([run])
    with rc_context(STYLE):
        figure = drawing.render(fault_effects, table)
    assert len(figure.axes[0].patches) == 6
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["crash (3)", "flap (12)"]


def test_a_kind_without_rates_has_a_row_and_no_bars(tmp_path: Path) -> None:
    rates = dict.fromkeys(("before", "during", "after"))
    kind = {"count": 2, "devices": 1, "seconds": 3.0, "latest_s": 0.0, "compared": 0}
    kind |= {f"{name}_per_s": rates for name in ("updates", "push_bytes", "pull_bytes")}
    summary = {"fault_effects": {"kinds": {"crash": kind}, "faults": [], "unlisted": 0}}
    bare = written(tmp_path / "bare", [], summary=summary)
    assert fault_tables.by_kind(bare) == [("crash", "2", "1", "3 s", "0", "–", "–", "–")]
    assert fault_tables.traffic_by_kind(bare) == [("crash", *9 * ["–"])]
    with rc_context(STYLE):
        figure = drawing.render(fault_effects, fault_effects.table([bare]))
        figure.canvas.draw()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["crash (2)"]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("module", [update_rate, accuracy_time, server_traffic])
def test_devices_stand_under_plots_over_time(
    module: drawing.FigureModule, run: analysis.Run
) -> None:
    with rc_context(STYLE):
        figure = drawing.render(module, module.table([run]))
        figure.canvas.draw()
    *plots, rows = [ax for ax in figure.axes if ax.axison]
    names = [label.get_text() for label in rows.get_yticklabels()]
    assert names == ["adsl-0", "adsl-1", "adsl-2", "fiber-0", "fiber-1"]
    assert rows.get_xlim() == plots[0].get_xlim()
    assert rows.get_position().x0 == pytest.approx(plots[0].get_position().x0)
    assert rows.get_xlabel() == "time (s)"
    assert [plot.get_xlabel() for plot in plots] == [""] * len(plots)


def test_the_raster_grows_with_its_devices_up_to_a_bound() -> None:
    def height(count: int) -> float:
        fault = {"what": "crash", "at": 0.0, "until": 1.0}
        rows = [{"node": str(number), **fault} for number in range(count)]
        return raster.height(pd.DataFrame(rows, columns=["node", *fault]))

    heights = [height(count) for count in (0, 1, 8, 1000)]
    assert heights[0] == 0
    assert heights == sorted(heights)
    assert heights[-1] < 1.5


def test_the_raster_has_the_server_apart_and_devices_in_the_order_of_the_scenario(
    tmp_path: Path,
) -> None:
    scenario = {
        "name": "made-up",
        "devices": [{"name": "home", "count": 12}, {"name": "edge", "count": 2}],
    }
    struck = ["edge-1", "home-10", "home-2", "edge-0", "home-1"]
    records = [act(1.0 + at, "kill", name, "crash", 1.0 + at) for at, name in enumerate(struck)]
    records += [act(0.5, "kill", "server", "server-crash", 0.5)]
    outages = raster.struck(written(tmp_path, records, scenario=scenario))
    assert _ticks(outages) == ["server", "home-1", "home-2", "home-10", "edge-0", "edge-1"]
    many = [act(9.0, "kill", f"home-{place}", "crash", 9.0) for place in range(3, 10)]
    outages = raster.struck(written(tmp_path, [*records, *many], scenario=scenario))
    assert _ticks(outages) == ["server", "12 devices"]
    outages = outages[outages["node"] != "server"]
    assert _ticks(outages) == ["12 devices"]


def _ticks(outages: pd.DataFrame) -> list[str]:
    ax = Figure().subplots()
    ax.set_xlim(0, 20)
    raster.draw(ax, outages)
    return [label.get_text() for label in ax.get_yticklabels()]
