"""The process that measures kept versions: its scores are those of an evaluator during the run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emulator.core.server.snapshot_exchange import SnapshotExchange
from emulator.learning.datasets import shard
from emulator.learning.learners.export import ready
from emulator.node.part.kept_versions import FOLDER, KeptVersions, kept_versions
from emulator.runs.data_split import split_data
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import Scenario, loads
from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.small_scenario import SCENARIOS
from tests.fakes.virtual_world import Onlooker

pytestmark = pytest.mark.tensorflow

PROCESS = """
import sys
from pathlib import Path
from emulator.node import config
config.GRAPH, config.SHARD, config.VERSIONS = map(Path, sys.argv[1:])
from emulator.node.part.kept_versions import main
main()
"""
"""The process of the container, with its mounts in other places."""

DIGITS = "dataset: digits, model: digits-mlp"
TRAINING = {
    "shipped": f"{DIGITS}, algorithm: fedavg",
    "cut": f"{DIGITS}, algorithm: asgd, fully_connected: {{place: {{after: 1}}}}",
    "own": "dataset: digits, model: ./templates/models.py:build, algorithm: asgd",
    "own, regression": "dataset: ./made.py:straight, model: ./made.py:line, algorithm: asgd",
}
MADE = """
import keras, numpy as np


def straight():
    x = np.random.default_rng(1).random((200, 3), dtype=np.float32)
    y = x @ np.array([1, -2, 3], np.float32)
    return x[:150], y[:150], x[150:], y[150:]


def line():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
"""


def played(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Scenario, Any]:
    """Play a run in virtual time whose server keeps each version that is measured; return its
    scenario and its measurements."""
    (tmp_path / "made.py").write_text(MADE)
    (tmp_path / "templates").symlink_to(SCENARIOS / "templates")
    text = (
        f"name: small\ntraining: {{{TRAINING[kind]}, batch_size: 20, learning_rate: 0.01}}\n"
        "evaluate: {every: 5}\nstop: {updates: 20}\ndevices: [{name: one}, {name: two}]\n"
        "virtual: {step: 10ms, boot: 10ms, serve: 1ms}\n"
    )
    scenario = loads(text, (), tmp_path)
    taken, keep = SnapshotExchange._taken, KeptVersions(tmp_path).keep

    def kept(self: SnapshotExchange, now: float) -> Any:
        snapshot = taken(self, now)
        keep(self._ledger.unscored(snapshot), snapshot.theta)
        return snapshot

    monkeypatch.setattr(SnapshotExchange, "_taken", kept)
    folder, _ = play(scenario, tmp_path / "runs", Onlooker())
    return scenario, [each for each in read(folder / "run.jsonl") if each["what"] == "evaluation"]


def measured(scenario: Scenario, tmp_path: Path, stdin: int) -> tuple[list[PlainRecord], str]:
    """Measure the kept versions; return the records on standard output, and standard error."""
    shard.write(tmp_path / "test", split_data(scenario).data.test)
    graph = ready(scenario.training.network, scenario.seed)
    places = map(str, (graph, tmp_path / "test", tmp_path / FOLDER))
    command = [sys.executable, "-c", PROCESS, *places]
    done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=True)
    return list(map(json.loads, done.stdout.splitlines())), done.stderr


def numbers(record: PlainRecord) -> dict[str, float]:
    return {key: value for key, value in record.items() if isinstance(value, int | float)}


@pytest.mark.parametrize("kind", TRAINING)
def test_scores_are_those_of_an_evaluator(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, during = played(kind, tmp_path, monkeypatch)
    lifeline, conductor = os.pipe()
    try:
        after, said = measured(scenario, tmp_path, lifeline)
        assert not said
        assert [record["version"] for record in after] == [0, 5, 10, 15, 20]
        for record, wanted in zip(after, during, strict=True):
            assert record.keys() == wanted.keys()
            assert numbers(record) == pytest.approx(numbers(wanted), rel=1e-5)
    finally:
        os.close(lifeline)
        os.close(conductor)


def test_a_damaged_version_is_passed_over_and_a_lost_conductor_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, _ = played("shipped", tmp_path, monkeypatch)
    first, *_ = kept_versions(tmp_path / FOLDER)
    first.write_bytes(first.read_bytes()[:-1])
    after, said = measured(scenario, tmp_path, subprocess.DEVNULL)
    assert [record["version"] for record in after] == [5]
    size = scenario.training.layout.size
    assert said == f"{first.name} is damaged: not {size:,} parameters of 4 bytes\n"
