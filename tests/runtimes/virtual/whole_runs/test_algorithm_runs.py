"""Every algorithm that has a name learns, in a whole run in virtual time."""

import json
from pathlib import Path

import pytest

from emulator.scenario.algorithms import ALGORITHMS
from tests.fakes.virtual_world import played

TEXT = """
# Does it learn?
name: taught
seed: 4
training: {dataset: digits, model: digits-mlp, batch_size: 8, algorithm: asgd}
evaluate: {every: 1000}
stop: {updates: 240}
virtual: {learner: numpy, step: {lognormal: [20ms, 0.2]}, boot: 50ms}
devices:
  - {name: home, count: 4, link: fios}
"""

# where a rate of 0.1 is not what the algorithm wants: what it sends is not a gradient's size,
# or it comes late and in large pieces, or a round counts as one update from each
RATES = {"signsgd": 0.003, "dgc": 0.03, "strom": 0.3, "randomk-ef": 0.05, "terngrad": 0.05}
UPDATES = {"fedavg": 40, "local-sgd": 80, "randomk-ef": 600, "strom": 400}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_it_learns(name: str, tmp_path: Path) -> None:
    folder, summary, _ = played(
        tmp_path,
        f"training.algorithm={name}",
        f"training.learning_rate={RATES.get(name, 0.1)}",
        f"stop.updates={UPDATES.get(name, 240)}",
        text=TEXT,
    )
    assert summary["algorithm"] == name
    assert summary["outcome"] == "success"
    assert summary["final_accuracy"] > 0.8  # of ten classes
    updates = [
        record
        for record in map(json.loads, (folder / "run.jsonl").read_text().splitlines())
        if record["what"] == "update"
    ]
    losses = [record["loss"] for record in updates]
    assert sum(losses[-20:]) < 0.5 * sum(losses[:20])
    assert (
        ("paper" in updates[0]) == (name == "adacomp-residual") == ("paper_push_bytes" in summary)
    )
