"""A scenario written down again is the same scenario."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from emulator.errors import ScenarioError
from emulator.scenario import dump, load, loads, schema
from emulator.scenario.timeline.compiled import timeline, to_jsonl
from tests.fakes.drawn_scenarios import scenarios
from tests.fakes.json_schema import accepts
from tests.fakes.small_scenario import FLAKY, PLAYED, SCENARIOS, rows


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("path", rows({path.stem: path for path in PLAYED}))
def test_every_scenario_here_loads_and_survives_the_way_to_a_run_folder(
    path: Path, tmp_path: Path
) -> None:
    assert path.read_text().startswith("# "), "a scenario opens with the question that it asks"
    scenario = load(path)
    copied = tmp_path / "scenario.yaml"
    copied.write_text(dump(scenario))
    again = load(copied)
    assert again == scenario
    assert again.nodes == scenario.nodes
    assert to_jsonl(timeline(again)) == to_jsonl(timeline(scenario))
    assert dump(again) == dump(scenario)
    assert yaml.safe_load(dump(scenario)) == yaml.safe_load(copied.read_text())


def test_a_dump_spells_out_names_and_units() -> None:
    written = yaml.safe_load(dump(load(FLAKY)))
    item = {"kind": "topk", "keep": "1%", "indices": "gap", "values": "f32"}
    assert item.items() <= written["training"]["codec"].items()
    assert "algorithm" not in written["training"]
    assert written["stop"] == {"updates": 3000, "accuracy": "97%", "time": "10min"}
    assert written["devices"][0]["profile"] == {"name": "laptop", "cpu": "40%", "memory": "512MiB"}
    assert written["devices"][1]["failures"][0]["name"] == "flaky-home"
    assert written["faults"][0]["nodes"] == ["adsl-0", "adsl-1"]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(written=scenarios())
def test_a_dumped_scenario_is_the_same_scenario(written: dict[str, Any]) -> None:
    try:
        scenario = loads(json.dumps(written), folder=SCENARIOS)
    except ScenarioError as error:
        # a share of a core below 1%; times of microseconds; a loss of all packets
        reasons = "too small to be given", "more than 10,000 failures", "the link carries nothing"
        assert any(reason in str(error) for reason in reasons)
        return
    assert loads(dump(scenario), folder="/") == scenario
    assert accepts(schema(), written)
    assert accepts(schema(), yaml.safe_load(dump(scenario)))
