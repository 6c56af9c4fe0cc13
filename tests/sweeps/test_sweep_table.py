"""The table of a sweep: what an accuracy cost, and medians over seeds."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from analysis.pages import compare as comparing
from emulator.log.records import EvaluationRecord
from emulator.log.targets import Costs, TravelledBytes
from emulator.sweeps import medians
from emulator.sweeps import table as tables
from tests.fakes.plain_records import full
from tests.fakes.runs.handmade_run import update, written
from tests.fakes.runs.synthetic_run import Synthetic


@pytest.mark.slow
def test_what_an_accuracy_cost_is_what_the_comparison_says(tmp_path: Path) -> None:
    folder = Synthetic(devices=4, updates=2500, faults=[]).write(tmp_path / "long")
    summary = json.loads((folder / "summary.json").read_bytes()) | {"stop": "updates"}
    (folder / "summary.json").write_text(json.dumps(summary))
    scores = ((1.0, 1, 0.5), (2.5, 2, 0.95), (3.5, 3, None), (4.0, 4, 0.91))
    records: list[dict[str, Any]] = []
    for at, n, share in scores:
        records += [
            {"at": at - 1, "what": "pull", "node": "a", "version": n - 1, "bytes": 7000},
            update(at, version=n, updates=n),
            {"at": at, "what": "pull", "node": "a", "version": n, "bytes": 9000},
            {"at": at, "what": "evaluation", "version": n, "updates": n, "accuracy": share}
            | {"push_bytes": 100 * n},
        ]
    costs, sums = Costs([0.95, 0.905]), TravelledBytes()
    for record in map(full, records):
        sums.take(record)
        if isinstance(record, EvaluationRecord):
            costs.take(record, sums.before(record))
    own = {"targets": ["90.5%", "95%"]}
    result = summary | {"targets": costs.plain()}
    by_hand = written(tmp_path / "short", records, scenario=own, summary=result).folder
    for item in (folder, by_hand):
        (said,) = comparing.rows(comparing.compare([comparing.read(item)]))
        actual = tables.facts(item)
        result = {name: actual[name] for name in actual if "_to_" in name}
        assert result == {name: said[name] for name in said if "_to_" in name}
        assert any(result.values())
    assert (actual["updates_to_95"], actual["time_to_90.5"], actual["bytes_to_95"]) == (2, 2.5, 200)
    assert (actual["pulled_to_95"], actual["both_to_95"]) == (23_000, 23_200)
    ways = summary["push_bytes"]["total"], summary["pull_bytes"]
    assert actual["both_bytes"] == sum(ways)
    assert actual["traffic_ratio"] == summary["traffic_ratio"]
    assert "updates_to_90" not in actual


def test_medians_over_seeds() -> None:
    def row(rate: str, accuracy: float | None, reached: int | None, outcome: str) -> dict[str, Any]:
        size = reached and 10 * reached
        return {
            "rate": rate,
            "outcome": outcome,
            "final_accuracy": accuracy,
            "updates_to_97": reached,
            "bytes_to_97": size,
        }

    rows = [
        row("1", 0.98, 300, "success"),
        row("2", 0.90, None, "success"),
        row("1", 0.97, 500, "success"),
        row("2", None, None, "failed"),
        row("1", 0.96, None, "success"),
    ]
    (first, one), (second, other) = medians(rows, ["rate"])
    assert (first, second) == ({"rate": "1"}, {"rate": "2"})
    assert one == {
        "outcomes": {"success": 3},
        "final_accuracy": (0.97, 0.96, 0.98),
        "targets": {
            "97": {
                "updates": (500, 300, math.inf),
                "time": None,  # not in these rows, as those of an older version lack the pulls
                "bytes": (5000, 3000, math.inf),
                "pulled": None,
                "both": None,
            }
        },
    }
    assert other["outcomes"] == {"success": 1, "failed": 1}
    assert other["final_accuracy"] == (0.9, 0.9, 0.9)
    assert other["targets"]["97"]["updates"] == (math.inf, math.inf, math.inf)
    unmeasured = medians([row("1", None, None, "success")], [])[0][1]
    assert unmeasured["targets"]["97"]["bytes"] is None


def test_medians_are_of_all_targets() -> None:
    facts = {"outcome": "success", "final_accuracy": 0.8}
    some = {"updates_to_50": 10, "bytes_to_50": 100, "updates_to_70": 20, "bytes_to_70": 200}
    more = {**some, "updates_to_98.5": 90, "bytes_to_98.5": 900}
    (_, results), *_ = medians([{**facts, **some}, {**facts, **more}], [])
    assert list(results["targets"]) == ["50", "70", "98.5"]
    assert results["targets"]["70"]["updates"] == (20, 20, 20)
    assert results["targets"]["98.5"]["bytes"] == (900, 900, 900)
    assert medians([facts], [])[0][1]["targets"] == {}
