"""A run of a regression: its report, tables and comparisons have errors in place of accuracies."""

import re
from pathlib import Path

import pytest

from analysis import Run, load
from analysis.figures.scores import accuracy_updates, error_bytes, error_time, error_updates
from analysis.pages import page
from analysis.pages.agreement import agreement
from analysis.pages.compare import compare, text
from analysis.pages.report import report
from emulator.cli.watching.run_views import describe_record
from emulator.log.records import EvaluationRecord
from emulator.log.tensorboard.scalars import Scalars
from tests.fakes.runs.handmade_run import act, update, written

ERRORS = {0: 2.0, 100: 0.25, 200: 0.5}
"""Mean absolute errors by updates."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return regression(tmp_path / "one")


def regression(folder: Path) -> Run:
    """A regression that was measured three times."""
    measured = {"what": "evaluation", "accuracy": None, "loss": 1.0}
    records = [
        {**measured, "at": after / 100, "version": after, "updates": after, "error": error}
        | {"push_bytes": 60 * after}
        for after, error in ERRORS.items()
    ]
    pushes = [update(number / 100, updates=number) for number in range(1, 201)]
    faults = [act(0.5, "kill", "a", "crash", 0.5), act(0.7, "boot", "a", "crash", 0.7)]
    lines = sorted([*records, *pushes, *faults], key=lambda record: record["at"])
    summary = {"outcome": "success", "final_error": 0.5, "best_error": 0.25, "final_accuracy": None}
    stop = {"at": 2.0, "what": "stop", "reason": "updates"}
    return written(folder, [*lines, stop], summary=summary)


@pytest.mark.slow
def test_the_report_shows_the_error_and_no_accuracy(run: Run) -> None:
    html = report(run.folder).read_text()
    assert ">mean absolute error<" in re.sub(r"\s*\n\s*", "", html)
    assert "best 0.25, on the test set" in html
    assert "test mean absolute error" in html  # the axes
    assert not re.search("accuracy", html, re.IGNORECASE)
    drawn = {path.name for path in (run.folder / "figures").iterdir()}
    assert {"error_updates.png", "error_time.png", "error_bytes.png"} <= drawn
    assert not any("accuracy" in name for name in drawn)


@pytest.mark.slow
def test_figures_have_the_errors_of_regressions_only(run: Run, tmp_path: Path) -> None:
    accuracy = {"what": "evaluation", "accuracy": 0.5, "loss": 1.0, "version": 9, "updates": 9}
    other = written(tmp_path / "other", [{"at": 1.0, "push_bytes": 9, **accuracy}])
    both = [run, other]
    assert error_updates.table(both)["error"].to_list() == list(ERRORS.values())
    assert error_bytes.table(both)["push_bytes"].to_list() == [6000, 12000]
    times = error_time.table([run])
    assert times.loc[times["what"] == "error", "at"].to_list() == [0.0, 1.0, 2.0]
    assert "crash" in set(times["what"])
    assert accuracy_updates.table(both)["accuracy"].to_list() == [50.0]
    names = [
        {each.name for each in page.figures(runs, tmp_path) if each.svg}
        for runs in ([run], [other], both)
    ]
    assert "error_updates" in names[0] and "accuracy_updates" not in names[0]
    assert "accuracy_updates" in names[1] and "error_updates" not in names[1]
    assert {"accuracy_updates", "error_updates"} <= names[2]


def test_tables_and_comparisons_have_the_error(run: Run, tmp_path: Path) -> None:
    tables = load(run.folder)
    assert tables.evaluations["error"].to_list() == list(ERRORS.values())
    assert tables.evaluations["accuracy"].isna().all()
    assert tables.runs[["final_error", "best_error"]].iloc[0].to_list() == [0.5, 0.25]
    compared = compare([run])
    assert compared[["final_error", "best_error"]].iloc[0].to_list() == [0.5, 0.25]
    assert "accuracy" not in text(compared)
    agreed = agreement(run, regression(tmp_path / "two")).set_index("quantity")
    assert agreed.loc["error_at_100", "docker"] == 0.25
    assert not any("accuracy" in name for name in agreed.index)


def test_the_log_of_an_evaluation_is_told_by_its_error() -> None:
    record = EvaluationRecord(1.0, 100, 100, None, 0.1, 6000, error=0.25)
    assert "mean absolute error 0.25 after 100 updates" in describe_record(record)
    (point,) = Scalars().take(record)
    assert point.values == {"test/error": 0.25, "test/loss": 0.1}
