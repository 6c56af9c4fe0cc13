"""A run in one page of numbers, each worked out by hand from a log of a few lines."""

from typing import Any

import pytest

from emulator.log import targets
from emulator.log.records import EvaluationRecord
from emulator.log.summary import UNTRAINED
from tests.fakes.plain_records import PlainRecord, full
from tests.log.flaky_summary import RECORDS, act, summary, update


def test_a_regression_has_errors_in_place_of_accuracies() -> None:
    records = [
        {**record, "accuracy": None, "error": 1 - record["accuracy"]}
        if record["what"] == "evaluation"
        else record
        for record in RECORDS
    ]
    found, scores = summary(records), [r["accuracy"] for r in RECORDS if "accuracy" in r]
    assert found["final_error"] == pytest.approx(1 - scores[-1])
    assert found["best_error"] == pytest.approx(1 - max(scores))
    assert (found["final_accuracy"], found["targets"]) == (None, [])
    effects = zip(
        found["fault_effects"]["faults"], summary()["fault_effects"]["faults"], strict=True
    )
    for ours, theirs in effects:
        for window, accuracy in theirs["accuracy"].items():
            error = ours["error"][window]
            assert error == (None if accuracy is None else pytest.approx(1 - accuracy))
    assert "final_error" not in summary()


@pytest.mark.parametrize("updates", [10, 64, 65, 1000, 5000])
def test_each_version_has_the_bytes_pulled_by_then(
    updates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each update follows a pull of 1,000 bytes; the versions kept are few."""
    monkeypatch.setattr(targets, "_KEPT", 64)
    sums = targets.TravelledBytes()
    for number in range(1, updates + 1):
        place = {"version": number, "updates": number}
        for record in ({"what": "pull", "bytes": 1000}, {"what": "update", **place}):
            sums.take(full({"at": float(number), "node": "a", **record}))
    assert len(sums._updates) <= 64
    for version in range(1, updates + 1):
        facts = {"what": "evaluation", "version": version, "updates": version, "accuracy": 0.5}
        evaluation = full({"at": 0.0, **facts})
        assert isinstance(evaluation, EvaluationRecord)
        found = sums.before(evaluation).pulled
        assert 1000 * (version - updates / 32) <= found <= 1000 * version
        assert found >= 1000


def test_every_number() -> None:
    found = summary()
    assert {kind: own["count"] for kind, own in found.pop("fault_effects")["kinds"].items()} == {
        "": 2
    }
    assert found == {
        "scenario": "flaky",
        "algorithm": "adacomp",
        "runtime": "docker",
        "seed": 7,
        "outcome": "success",
        "stop": "updates",
        "detail": "",
        "duration_s": 9.0,
        "devices": 2,
        "updates": 2,
        "final_accuracy": 0.8,
        "best_accuracy": 0.9,
        "push_bytes": {"values": 80, "indices": 30, "headers": 60, "framing": 30, "total": 200},
        "pull_bytes": 2000,
        "evaluation_pull_bytes": 1000,
        "targets": [
            {"accuracy": 0.9, "updates": 2, "time": 7.0, "bytes": 200, "pulled": 2000},
            {"accuracy": 0.95, "updates": None, "time": None, "bytes": None, "pulled": None},
        ],
        "unmeasured": {"count": 2, "versions": [4, 6]},
        "dense_push_bytes": 8000,
        "dense_pull_bytes": 9000,
        "compression_ratio": 40.0,
        "traffic_ratio": 7.727,
        "server_rx_bytes": 400,
        "server_tx_bytes": 3000,
        "faults_planned": 2,
        "faults_realised": 2,
        "refused": 1,
        "unsent": 2,
        "exits": [],
        "fidelity": {
            "kept_up": True,
            "reasons": [],
            "latest_fault_s": 0.1,
            "host_short": 0.0,
            "host_busy_mean": 0.6,
            "host_busy_max": 0.7,
            "host_evaluator_mean": 0.2,
        },
    }


def test_a_run_in_which_nothing_happened() -> None:
    empty = summary([])
    assert empty["outcome"] == "failed"
    assert empty["updates"] == empty["push_bytes"]["total"] == empty["server_rx_bytes"] == 0
    for unknown in ("final_accuracy", "best_accuracy", "compression_ratio", "traffic_ratio"):
        assert empty[unknown] is None
    assert empty["fidelity"]["kept_up"]


@pytest.mark.parametrize(
    "reason, outcome",
    [
        ("updates", "success"),
        ("accuracy", "success"),
        ("loss", "success"),
        ("time", "success"),
        ("stopped", "stopped"),
        ("canceled", "canceled"),
        ("failed", "failed"),
        ("no such reason", "failed"),
    ],
)
def test_how_a_run_came_out(reason: str, outcome: str) -> None:
    end = {"at": 3.0, "what": "stop", "reason": reason, "detail": "why"}
    result = summary([update(1.0, 1), end])
    assert (result["outcome"], result["stop"], result["detail"]) == (outcome, reason, "why")


@pytest.mark.parametrize(
    "reason, outcome, detail",
    [
        ("time", "failed", UNTRAINED),
        ("accuracy", "failed", UNTRAINED),
        ("stopped", "stopped", ""),
        ("canceled", "canceled", ""),
    ],
)
def test_a_run_without_an_update_is_no_success(reason: str, outcome: str, detail: str) -> None:
    end = {"at": 3.0, "what": "stop", "reason": reason}
    result = summary([end])
    assert (result["outcome"], result["stop"], result["detail"]) == (outcome, reason, detail)


EXIT: PlainRecord = {"at": 1.0, "what": "exit", "node": "a", "code": -9, "reason": "why"}


def test_nodes_that_ended_unasked_are_named() -> None:
    assert summary([EXIT])["exits"] == [{"at": 1.0, "node": "a", "reason": "why"}]
    assert "evaluator_restarts" not in summary([EXIT])


def test_deaths_of_the_evaluator_that_it_comes_back_from_are_counted() -> None:
    died = EXIT | {"node": "evaluator"}
    result = summary([died | {"returns": True}, died | {"returns": True}, died])
    assert result["evaluator_restarts"] == 2
    assert [end.get("returns", False) for end in result["exits"]] == [True, True, False]


# -- whether the host kept up ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "records, other, reason",
    [
        ([act(2.6, "kill", planned=2.0)], {}, "a fault came 0.60 s after its time"),
        ([act(5.0, "mend", planned=4.0)], {}, "a fault came 1.00 s after its time"),
        (
            [{"at": 1.0, "what": "host", "busy": [1.0, 0.5], "short": [True, False]}],
            {},
            "devices and server were short of processor time for 50% of the time",
        ),
        (
            [{"at": 1.0, "what": "exit", "node": "a", "reason": "killed", "cause": "host"}],
            {},
            "its memory ran out, and the kernel killed a",
        ),
    ],
)
def test_a_run_that_is_marked(
    records: list[PlainRecord], other: dict[str, Any], reason: str
) -> None:
    fidelity = summary(records, **other)["fidelity"]
    assert fidelity["reasons"] == [reason]
    assert not fidelity["kept_up"]


@pytest.mark.parametrize(
    "records, other",
    [
        ([act(2.5, "kill", planned=2.0)], {}),
        ([{"at": 1.0, "what": "host", "busy": 10 * [1.0], "short": [True] + 9 * [False]}], {}),
        ([{**EXIT, "cause": "limit"}, {**EXIT, "cause": "engine"}], {}),  # not the host's doing
    ],
)
def test_a_run_that_is_not(records: list[PlainRecord], other: dict[str, Any]) -> None:
    assert summary(records, **other)["fidelity"]["kept_up"]


def test_what_the_codecs_paper_would_have_counted() -> None:
    result = [
        {**record, "paper": {"conv": 10.0, "bias": 0}}
        for record in RECORDS
        if record["what"] == "update"
    ]
    actual = summary(result, parameters={"conv": 100, "bias": 7, "dense": 1})["paper_push_bytes"]
    assert actual == {
        "conv": {"bytes": 20.0, "ratio": 40.0},
        "bias": {"bytes": 0, "ratio": None},
    }
    assert "paper_push_bytes" not in summary()


def test_a_fault_that_goes_on_after_a_resumption_has_begun_once() -> None:
    begun = next(record for record in RECORDS if record.get("begins"))
    again = {**begun, "at": begun["at"] + 1.0, "again": True}
    found = summary([*RECORDS[:-1], again, RECORDS[-1]])
    assert found == summary()


def test_scores_and_bytes_of_versions_that_a_crash_of_the_server_lost() -> None:
    records = [
        update(1.0, 1),
        update(2.0, 2),
        *(
            {"at": float(version), "what": "evaluation", "accuracy": score, "version": version}
            for version, score in ((1, 0.5), (2, 0.95))
        ),
        {"at": 3.0, "what": "recovered", "version": 1, "lost": 1, "zero": 0.0},
    ]
    paper = [
        {**record, "paper": {"conv": 10.0}} if record["what"] == "update" else record
        for record in records
    ]
    found = summary(paper, parameters={"conv": 10}, targets=[0.4, 0.9])
    assert (found["final_accuracy"], found["best_accuracy"]) == (0.5, 0.5)
    assert [target["time"] for target in found["targets"]] == [1.0, None]
    assert found["paper_push_bytes"]["conv"] == {"bytes": 20.0, "ratio": 4.0}
    again = {"at": 4.0, "what": "evaluation", "accuracy": 0.6, "version": 2}
    assert summary([*records, again])["best_accuracy"] == 0.6


def test_activations_are_counted_apart() -> None:
    cut = {"at": 2, "what": "activations", "up": 125_500, "down": 125_480}
    found = summary([*RECORDS, cut, cut])
    assert found["activation_bytes"] == {"up": 251_000, "down": 250_960}
    crossed = 251_000 + 250_960  # as many with dense pushes and pulls
    ratio = (8000 + 9000 + crossed) / (200 + 2000 + crossed)
    assert found["traffic_ratio"] == pytest.approx(ratio, abs=1e-3)
    assert "activation_bytes" not in summary()


def test_what_was_pulled_until_a_target_is_what_came_before_the_update() -> None:
    def pull(at: float, version: int, size: int, node: str = "a") -> PlainRecord:
        return {"at": at, "what": "pull", "node": node, "version": version, "bytes": size}

    scored = {"at": 1.0, "what": "evaluation", "accuracy": 0.9, "updates": 2, "version": 2}
    records = [
        pull(0.0, 0, 1),
        pull(0.0, 0, 10, "b"),
        update(1.0, 1),
        pull(1.0, 1, 100),  # at the same time, and before the second update
        {"at": 1.0, "what": "activations", "node": "a", "up": 5000, "down": 1000},
        update(1.0, 2),
        pull(1.0, 2, 1000),  # of the measured version itself: not needed to reach it
        {**scored, "push_bytes": 200, "scored": 3.0},
    ]
    (target,) = summary(records, targets=[0.9])["targets"]
    assert (target["bytes"], target["pulled"], target["activations"]) == (200, 111, 6000)
    # a crash of the server loses the second update: pulls of it did travel
    again = [
        *records[:-1],
        {"at": 2.0, "what": "recovered", "version": 1, "lost": 1, "zero": 0.0},
        pull(2.5, 1, 20_000),
        update(3.0, 2),
        {**scored, "at": 3.0, "push_bytes": 200},
    ]
    (target,) = summary(again, targets=[0.9])["targets"]
    assert (target["time"], target["pulled"]) == (3.0, 21_111)
