"""The effects of faults in the report and in figures, and devices under plots over time."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib import rc_context

import analysis
from analysis import drawing, fault_tables, raster
from analysis.figures import accuracy_time, fault_effects, server_traffic, update_rate
from analysis.report import report
from analysis.theme import STYLE
from tests.fakes.virtual_world import played

FAULTS = """faults=[{kind: crash, nodes: [adsl], at: 1s, lasts: 1s},
  {kind: flap, nodes: [fiber], at: 1s, lasts: 3s, outage: 200ms, uptime: 300ms}]"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> analysis.Run:
    folder, _, _ = played(tmp_path_factory.mktemp("runs"), FAULTS, "stop.time=6s")
    return analysis.read(folder)


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
    heights = [
        raster.height(pd.DataFrame({"node": [str(n) for n in range(count)]}, dtype=object))
        for count in (0, 1, 8, 1000)
    ]
    assert heights[0] == 0
    assert heights == sorted(heights)
    assert heights[-1] < 1.5
