"""The table of a sweep: what an accuracy cost, and medians over seeds."""

import json
import math
from pathlib import Path
from typing import Any

from analysis import compare as comparing
from emulator.sweep import medians
from emulator.sweep import table as tables

from .handmade_run import written
from .synthetic_run import Synthetic


def test_what_an_accuracy_cost_is_what_the_comparison_says(tmp_path: Path) -> None:
    folder = Synthetic(devices=4, updates=2500, faults=[]).write(tmp_path / "long")
    summary = json.loads((folder / "summary.json").read_bytes()) | {"stop": "updates"}
    (folder / "summary.json").write_text(json.dumps(summary))
    evaluations = [
        {"at": at, "what": "evaluation", "updates": n, "accuracy": share, "push_bytes": 100 * n}
        for at, n, share in ((1.0, 1, 0.5), (2.5, 2, 0.95), (3.5, 3, None), (4.0, 4, 0.91))
    ]
    by_hand = written(tmp_path / "short", evaluations, summary=summary).folder
    for one in (folder, by_hand):
        (said,) = comparing.rows(comparing.compare([comparing.read(one)]))
        found = tables.facts(one)
        costs = {name: found[name] for name in found if "_to_" in name}
        assert costs == {name: said[name] for name in said if "_to_" in name}
        assert any(costs.values())
    assert found["updates_to_95"] == 2
    assert found["bytes_to_97"] is None


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
        "updates_to_97": (500, 300, math.inf),
        "bytes_to_97": (5000, 3000, math.inf),
    }
    assert other["outcomes"] == {"success": 1, "failed": 1}
    assert other["final_accuracy"] == (0.9, 0.9, 0.9)
    assert other["updates_to_97"] == (math.inf, math.inf, math.inf)
    assert medians([row("1", None, None, "success")], [])[0][1]["bytes_to_97"] is None
