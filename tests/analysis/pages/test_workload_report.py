"""The report of a workload: its metrics over time and bytes, and nothing of a training."""

from pathlib import Path

import pytest

from analysis import read
from analysis.facts.message_bytes import evaluations_with_bytes
from analysis.facts.metrics import metrics
from analysis.figures.metrics import metrics_bytes, metrics_time
from analysis.pages.compare import compare, compare_html
from analysis.pages.report import report
from analysis.reading.runs import Run
from tests.fakes.runs.small_workload import own_workload
from tests.fakes.runs.workload_run import SECONDS, workload_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read(workload_run(own_workload(), tmp_path_factory.mktemp("runs"))[0])


def test_each_number_stands_beside_the_bytes_at_its_own_interface(run: Run) -> None:
    printed = metrics(run)
    of_server = printed[(printed["node"] == "server") & (printed["name"] == "accuracy")]
    assert len(of_server) == SECONDS
    third = of_server.iloc[3]
    # three devices send 100 kB a second each, and the server answers with twice as much
    assert (third["at"], third["value"]) == (3.5, pytest.approx(0.1))
    assert (third["up"], third["down"], third["both"]) == (1_050_000, 2_100_000, 3_150_000)
    of_device = printed[printed["node"] == "home-0"].iloc[4]
    assert (of_device["name"], of_device["up"]) == ("took", 425_000)


def test_the_accuracy_of_the_server_is_drawn_and_compared_as_that_of_a_training(run: Run) -> None:
    known = evaluations_with_bytes(run)
    assert known["accuracy"].iloc[-1] == pytest.approx(1 - 1 / SECONDS)
    assert known["both_bytes"].iloc[3] == 3_150_000
    assert run.summary["final_accuracy"] == pytest.approx(1 - 1 / SECONDS)
    reached = {row["accuracy"]: row["time"] for row in run.summary["targets"]}
    assert reached == {0.9: 27.5, 0.95: None if SECONDS < 30 else 29.5, 0.97: None}


def test_the_figures_have_a_panel_for_each_name_and_a_line_for_each_node(run: Run) -> None:
    table = metrics_time.table([run])
    assert set(table["what"]) == {"accuracy", "loss", "took", "partition"}
    assert metrics_time.height(table) > metrics_time.height(table[table["what"] == "took"])
    assert metrics_bytes.shown([run])


def test_the_page_shows_the_work_and_no_updates(run: Run) -> None:
    text = report(run.folder).read_text()
    assert "workload of own/app:1: server `serve --for {count}`" in text
    for absent in ("Speed and staleness", "Bytes reconciled", "updates/s before", "not measured"):
        assert absent not in text
    for there in ("Metrics over time", "Metrics over bytes", "to the server", "Accuracy over time"):
        assert there in text


def test_two_workloads_are_compared_on_a_page(run: Run, tmp_path: Path) -> None:
    other, _ = workload_run(own_workload(("name: own", "name: other")), tmp_path)
    both = [run, read(other)]
    table = compare(both)
    assert list(table["both_bytes"]) == [3 * 3 * 100_000 * (SECONDS - 1)] * 2
    assert list(table["time_to_90"]) == [27.5, 27.5]
    assert "96.67" in compare_html(both, tmp_path / "page").read_text()
