"""How far two runs of one scenario agree, worked out by hand."""

import json
import math
from pathlib import Path

import pytest

from analysis import Run
from analysis.pages.agreement import COLUMNS, agreement, readable, rows, text
from analysis.pages.compare import compare_html
from tests.fakes.runs.handmade_run import act, update, written


def evaluation(at: float, updates: int, accuracy: float) -> dict:
    facts = {"version": updates, "updates": updates, "accuracy": accuracy, "loss": 0.1}
    return {"at": at, "what": "evaluation", **facts, "push_bytes": 60 * updates}


def run(folder: Path, runtime: str, *, end: float, stale: list[int], scores: list[dict]) -> Run:
    """Ten pushes of 60 bytes and as many pulls of 1000, the evaluator's aside."""
    records = [
        {"at": 0.0, "what": "pull", "node": "evaluator", "version": 0, "bytes": 1000},
        *({"at": 0.0, "what": "pull", "node": "a", "version": 0, "bytes": 1000} for _ in stale),
        *(update(1.0, staleness=item) for item in stale),
        act(2.0, "kill", "a", "crash", 2.0),
        *scores,
        {"at": end, "what": "stop", "reason": "updates"},
    ]
    return written(folder, records, summary={"outcome": "success", "runtime": runtime})


@pytest.fixture
def docker(tmp_path: Path) -> Run:
    scores = [evaluation(n, 100 * n, accuracy) for n, accuracy in enumerate([0.1, 0.5, 0.92, 0.96])]
    return run(tmp_path / "d", "docker", end=20.0, stale=[1] * 5 + [3] * 4 + [9], scores=scores)


@pytest.fixture
def virtual(tmp_path: Path) -> Run:
    late = [(0.0, 0, 0.1), (1.0, 90, 0.4), (1.2, 110, 0.5), (2.5, 200, 0.9), (4.0, 300, 0.94)]
    scores = [evaluation(*item) for item in late]
    return run(tmp_path / "v", "virtual", end=25.0, stale=[2] * 9 + [4], scores=scores)


def test_every_number(docker: Run, virtual: Run) -> None:
    table = agreement(docker, virtual)
    assert tuple(table.columns) == COLUMNS
    actual = {name: result for name, *result in table.itertuples(index=False)}
    nan = math.nan
    wanted = {
        "updates_per_second": [0.5, 0.4, -0.2, "relative"],
        "updates": [10.0, 10.0, 0.0, "relative"],
        "duration": [20.0, 25.0, 0.25, "relative"],
        "push_bytes_per_update": [60.0, 60.0, 0.0, "relative"],
        "push_bytes": [600.0, 600.0, 0.0, "relative"],
        "pull_bytes_per_pull": [1000.0, 1000.0, 0.0, "relative"],
        "pull_bytes": [10_000.0, 10_000.0, 0.0, "relative"],
        "both_bytes": [10_600.0, 10_600.0, 0.0, "relative"],
        "faults": [1.0, 1.0, 0.0, "absolute"],
        "staleness_median": [2.0, 2.0, 0.0, "absolute"],
        "staleness_p90": [3.6, 2.2, -1.4, "absolute"],
        "staleness_max": [9.0, 4.0, -5.0, "absolute"],
        "accuracy_at_100": [0.5, 0.45, -0.05, "absolute"],
        "accuracy_at_200": [0.92, 0.9, -0.02, "absolute"],
        "final_accuracy": [0.96, 0.94, -0.02, "absolute"],
        "best_accuracy": [0.96, 0.94, -0.02, "absolute"],
        "time_to_90": [2.0, 2.5, 0.25, "relative"],
        "time_to_95": [3.0, nan, nan, "relative"],
        "time_to_97": [nan, nan, nan, "relative"],
    }
    assert list(actual) == list(wanted)
    for name, result in wanted.items():
        assert actual[name][:3] == pytest.approx(result[:3], nan_ok=True), name
        assert actual[name][3] == result[3], name


def test_a_run_agrees_with_itself(docker: Run) -> None:
    assert set(agreement(docker, docker)["difference"].dropna()) == {0.0}


def test_many_evaluations_are_compared_at_a_few(tmp_path: Path, docker: Run) -> None:
    scores = [evaluation(n, n, n / 100) for n in range(1, 101)]
    long = run(tmp_path / "long", "docker", end=100.0, stale=[0], scores=scores)
    table = agreement(long, long)
    places = [name for name in table["quantity"] if name.startswith("accuracy_at")]
    assert places == [f"accuracy_at_{n}" for n in (1, 25, 50, 75, 99)]
    to_come = agreement(long, written(tmp_path / "short", [evaluation(1.0, 40, 0.4)]))
    places = [name for name in to_come["quantity"] if name.startswith("accuracy_at")]
    assert places[-1] == "accuracy_at_39"  # beyond, one of them has no say


def test_runs_in_which_nothing_happened(tmp_path: Path, docker: Run) -> None:
    nothing = written(tmp_path / "n", [{"at": 0.0, "what": "stop", "reason": "failed"}])
    table = agreement(nothing, docker).set_index("quantity")
    assert math.isnan(table.loc["final_accuracy", "difference"])
    assert math.isnan(table.loc["updates", "difference"])  # no share of nothing
    assert not any("accuracy_at" in name for name in table.index)
    # as of a run in virtual time without a learner
    assert not any("accuracy_at" in name for name in agreement(docker, nothing)["quantity"])
    assert "–" in text(agreement(nothing, nothing))


def test_words_and_json(docker: Run, virtual: Run) -> None:
    table = agreement(docker, virtual)
    shown = readable(table)
    assert shown.loc["updates / s"].to_list() == ["0.5", "0.4", "-20 %"]
    assert shown.loc["bytes per push"].to_list() == ["60", "60", "none"]
    assert shown.loc["accuracy after 100 updates"].to_list() == [
        "50.00 %",
        "45.00 %",
        "-5.00 points",
    ]
    assert shown.loc["staleness, highest"].to_list() == ["9", "4", "-5"]
    assert shown.loc["time to 95 %"].to_list() == ["3 s", "–", "–"]
    plain = {row["quantity"]: row for row in json.loads(json.dumps(rows(table), allow_nan=False))}
    assert plain["time_to_97"]["docker"] is None
    assert plain["updates_per_second"]["difference"] == pytest.approx(-0.2)


@pytest.mark.slow
def test_the_agreement_stands_on_the_page(
    tmp_path: Path, docker: Run, virtual: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from analysis.pages import page

    monkeypatch.setattr(page, "FIGURES", ())
    both = [docker, virtual]
    agreed = readable(agreement(*both))
    html = compare_html(both, tmp_path / "out", agreed).read_text(encoding="utf-8")
    assert "Agreement" in html and "-5.00 points" in html
    assert "Agreement" not in compare_html(both, tmp_path / "out").read_text(encoding="utf-8")
