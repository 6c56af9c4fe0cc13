"""Four of 20 devices flip signs while `mnist-cnn` learns: the start of `scenarios/byzantine.yaml`.

The study `byzantine` trains for longer: `docs/papers/blanchard-2017.md` has its accuracies.
"""

from pathlib import Path
from typing import Any

import pytest

from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import load
from tests.fakes.virtual_world import Onlooker
from tests.layers import ROOT

FILE = ROOT / "scenarios" / "byzantine.yaml"
SHORT = ("training.batch_size=32", "stop={updates: 1000}", "evaluate.every=1000")


ROBUST = {"trimmed-mean": "{kind: trimmed-mean, trim: 20%}", "krum": "{kind: krum, liars: 4}"}


def trained(runs: Path, aggregation: str) -> dict[str, Any]:
    """The summary of 50 steps with `aggregation`, or of fewer if the training diverges."""
    scenario = load(FILE, [*SHORT, f"training.aggregation={aggregation}"])
    _, summary = play(scenario, runs, Onlooker(), cores=1)
    return summary


@pytest.mark.thorough
@pytest.mark.tensorflow
@pytest.mark.timeout(900)
def test_the_mean_fails_where_robust_rules_learn(tmp_path: Path) -> None:
    mean = trained(tmp_path, "mean")
    assert mean["stop"] == "diverged" or mean["final_accuracy"] < 0.6
    for name, rule in ROBUST.items():
        summary = trained(tmp_path, rule)
        assert summary["updates"] == 1000, name
        assert summary["final_accuracy"] > 0.8, name
        print(f"{name}: {summary['final_accuracy']:.1%}")
