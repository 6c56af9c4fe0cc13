"""Updates that a crash of the server lost are in the log, and in no figure of the model."""

from pathlib import Path

import pytest

from analysis import Run, read
from analysis.facts.held_model import count_updates, held_evaluations, held_updates
from analysis.facts.message_bytes import pushed_by_kind
from analysis.figures import staleness, update_rate
from analysis.figures.scores import accuracy_time, accuracy_updates
from analysis.pages.compare import compare
from analysis.tables.device_tables import per_device
from analysis.tables.sections import headline
from tests.fakes.runs.handmade_run import update, written
from tests.fakes.virtual_world import SCENARIO, played


def evaluation(at: float, version: int, accuracy: float = 0.5) -> dict:
    return {
        "at": at,
        "what": "evaluation",
        "version": version,
        "updates": version,
        "accuracy": accuracy,
        "loss": 1.0,
        "push_bytes": 100 * version,
        "scored": at + 0.1,
    }


def recovered(at: float, version: int, lost: int) -> dict:
    return {"at": at, "what": "recovered", "version": version, "lost": lost, "zero": 1.0}


def applied(at: float, version: int) -> dict:
    return update(at, version=version, updates=version, staleness=version)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Version 2 was saved; 3 and 4 were lost, and made again after the recovery at 5 s."""
    records = [
        *(applied(float(version), version) for version in range(1, 5)),
        evaluation(2.0, 2),
        evaluation(4.0, 4, accuracy=0.9),
        recovered(5.0, 2, 2),
        applied(5.0, 3),
        applied(6.0, 4),
        evaluation(6.0, 4),
        applied(7.0, 5),
        recovered(9.0, 4, 1),
    ]
    return written(tmp_path / "run", records)


def test_updates_above_the_recovered_version_are_lost(run: Run) -> None:
    assert held_updates(run)[["at", "version"]].to_numpy().tolist() == [
        *([1.0, 1], [2.0, 2]),
        *([5.0, 3], [6.0, 4]),
    ]
    assert held_evaluations(run)["at"].to_list() == [2.0, 6.0]


def test_figures_and_tables_have_the_model_s_updates(run: Run) -> None:
    assert count_updates(run) == 4
    compared = compare([run]).iloc[0]
    assert (compared["updates"], compared["best_accuracy"]) == (4, 0.5)
    assert headline(run)[1][1:] == ("4", "0.444 / s, 3 more lost with the server")
    assert per_device(run)[0][3] == "4"
    assert sorted(staleness.table([run])["staleness"]) == [1, 2, 3, 4]
    rates = update_rate.table([run])
    assert (rates["rate"] * (rates["until"] - rates["at"])).sum() == pytest.approx(4)
    assert accuracy_updates.table([run])["updates"].is_monotonic_increasing
    assert len(accuracy_time.table([run])) == 3  # the lost model was measured at its time


def test_bytes_of_lost_updates_did_travel(run: Run) -> None:
    assert pushed_by_kind(run).sum() == 7 * 60


def test_steps_of_several_updates_are_lost_together(tmp_path: Path) -> None:
    steps = [
        update(float(version), node, version=version, updates=2 * version - (node == "a"))
        for version in (1, 2, 3)
        for node in "ab"
    ]
    again = [update(4.0, node, version=2, updates=3 + (node == "b")) for node in "ab"]
    run = written(tmp_path / "run", [*steps, recovered(4.0, 1, 4), *again])
    assert held_updates(run)["at"].to_list() == [1.0, 1.0, 4.0, 4.0]


@pytest.mark.parametrize("synchronization", ["asynchronous", "barrier"])
def test_a_played_run_counts_as_its_summary_does(tmp_path: Path, synchronization: str) -> None:
    text = SCENARIO.replace("faults:", "faults:\n  - {kind: server-crash, at: 3.8s, lasts: 500ms}")
    text = text.replace("algorithm: adacomp", "codec: {kind: topk, keep: 5%}")
    parts = (
        *("stop={time: 5s}", "evaluate.every=20", "server.durability={every: 2s}"),
        f"training.synchronization={synchronization}",
    )
    folder, summary, _ = played(tmp_path, *parts, text=text)
    run = read(folder)
    assert summary["lost_updates"] > 0
    assert count_updates(run) == summary["updates"]
    assert len(run.records("update")) == summary["updates"] + summary["lost_updates"]
