"""A key that virtual time keeps changes a run: it is left out, and the records are others."""

import json
from pathlib import Path

import pytest

from emulator.errors import ScenarioError
from emulator.scenario import loads
from emulator.scenario.reading.dump import dump
from tests.fakes.plain_records import read
from tests.fakes.scenario_keys import alike, places, without, written
from tests.fakes.virtual_world import played
from tests.runtimes.virtual.recorded import RUNS, scenario

WITHOUT = {
    *("training.learning_rate", "training.optimizer", "training.optimizer.momentum of momentum"),
    *("training.modulation", "training.error_feedback", "training.split"),
    *("training.split.alpha of quantity", "training.aggregation"),
    "training.aggregation.trim of trimmed-mean",
    *("evaluate", "evaluate.every"),
}
"""Keys that change no record without a learner: tests/runtimes/virtual/learning has their runs."""
NAMES = {"devices..profile.name", "server.checkpoint", "devices..profile.memory"}
"""Keys that change no record at all: names, files, and a memory of which no fault takes a part."""
SELDOM = {
    *("quarantine", "reorder", "gap", "limit", "duplicate", "gemodel", "overhead", "steps"),
    *("stop.time", "back of energy", "lasts of leave"),
}
"""Words of keys that may change nothing in these short runs: their chances are small, or they are
about what comes later."""


def records(text: str, folder: Path) -> list[dict[str, object]]:
    """Return the records of the run of `text`, without what the host's clock says."""
    folder.mkdir(exist_ok=True)
    run, _, _ = played(folder, text=text)
    return [{k: v for k, v in each.items() if k != "zero"} for each in read(run / "run.jsonl")]


@pytest.mark.thorough
def test_a_key_that_is_left_out_changes_the_run(tmp_path: Path) -> None:
    effects: dict[str, bool] = {}
    for run in RUNS:
        data = written(scenario(run))
        whole, text = records(json.dumps(data), tmp_path), dump(loads(json.dumps(data)))
        for address in places(data, {key for key, found in effects.items() if found}):
            less, _ = without(data, address)
            try:
                changed = dump(loads(json.dumps(less))) != text
            except ScenarioError:
                continue  # the key is required
            if changed:
                key = alike(data, address)
                found = effects.get(key) or records(json.dumps(less), tmp_path) != whole
                effects[key] = found
    assert len(effects) > 100
    missing = {key for key, found in effects.items() if not found}
    assert missing >= WITHOUT, "a key of training that changes records belongs to the others"
    seldom = {key for key in missing if any(word in key for word in SELDOM)}
    assert missing - WITHOUT - NAMES - seldom == set()
