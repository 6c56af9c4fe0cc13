"""The JSON schema accepts and refuses the same files as `load`."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import ScenarioError
from emulator.scenario import loads, schema
from emulator.scenario.reading.yaml_subset import read
from tests.fakes.json_schema import accepts
from tests.fakes.small_scenario import PLAYED, SCENARIOS, WRITTEN, addresses


@pytest.mark.parametrize("path", PLAYED, ids=lambda path: path.stem)
def test_the_schema_accepts_the_scenarios_here_as_written(path: Path) -> None:
    assert accepts(schema(), read(path).data)  # of YAML 1.2, where `on` is a word


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("nmae",), "x"),
        (("training", "algorithm"), "adacmp"),
        (("training", "codec"), "dense"),
        (("training",), {"dataset": "mnist", "model": "mnist-cnn", "codec": "topk"}),
        (("training", "batch_size"), 0),
        (("training", "split"), {"kind": "shards", "per": 1}),
        (("stop",), {}),
        (("stop", "time"), 600),
        (("devices",), []),
        (("devices", 1, "link", "up", "rate"), "10Mbps"),
        (("faults", 0, "kind"), "crahs"),
        (("faults", 0, "every"), "1s"),
    ],
)
def test_the_schema_refuses_what_load_refuses(at: tuple[Any, ...], value: Any) -> None:
    data = copy.deepcopy(WRITTEN)
    holder = data
    for step in at[:-1]:
        holder = holder[step]
    holder[at[-1]] = value
    assert not accepts(schema(), data)
    with pytest.raises(ScenarioError):
        loads(json.dumps(data), folder=SCENARIOS)


def test_the_schema_describes_every_key() -> None:
    whole = json.loads(json.dumps(schema()))
    named = {at[-1]: at for at in addresses(whole) if len(at) > 1 and at[-2] == "properties"}
    for key in (
        *("name", "seed", "training", "evaluate", "stop", "server", "devices", "faults"),
        *("dataset", "model", "split", "batch_size", "learning_rate", "algorithm", "codec"),
        *(
            "modulation",
            "synchronization",
            "error_feedback",
            "every",
            "updates",
            "accuracy",
            "time",
        ),
        *("link", "checkpoint", "encrypt", "count", "profile", "failures", "cpu", "memory"),
        *("up", "down", "rate", "delay", "jitter", "loss", "kind", "nodes", "at", "lasts"),
        *("per_iteration", "exponential", "uniform", "weibull", "lognormal", "keep", "indices"),
    ):
        assert key in named, key
    for model in (
        "Scenario",
        "TrainingSection",
        "StopSection",
        "ServerSection",
        "Group",
        "DeviceProfile",
    ):
        part = whole if model == "Scenario" else whole["$defs"][model]
        for key, about in part["properties"].items():
            assert "description" in about or "$ref" in about, f"{model}.{key}"
