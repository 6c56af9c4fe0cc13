"""The documented scenarios run as they stand, and every key is documented."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator.scenario import load, loads, schema
from emulator.scenario.timeline.compiled import timeline
from tests.fakes.installing.doc_blocks import blocks
from tests.fakes.json_schema import mappings
from tests.fakes.small_scenario import SCENARIOS, WRITTEN, in_folder

DOCS = SCENARIOS.parent / "docs"


def documented(page: str) -> list[Any]:
    return [yaml.safe_load(block) for block in blocks(DOCS / page, "yaml")]


def test_the_documented_scenarios_run_as_they_stand(tmp_path: Path) -> None:
    whole, tabled, table, cut, faults, preset = documented("scenario.md")
    assert loads(json.dumps(whole)).name == "smallest-of-all"
    assert loads(json.dumps({**WRITTEN, **faults}), folder=SCENARIOS).faults
    shipped = yaml.safe_load((SCENARIOS / "profiles" / "links" / "fios.yaml").read_text())
    assert preset == shipped
    assert loads(json.dumps(cut)).training.device_layout.size == 75_264 // 4
    assert loads(json.dumps(tabled)).training.layout.size == 143_667_240
    files = {"own.yaml": json.dumps(with_table("mine.yaml")), "mine.yaml": json.dumps(table)}
    assert load(in_folder(tmp_path, files)).training.layout.size == 63_050


def with_table(file: str) -> dict[str, Any]:
    written = {**WRITTEN, "devices": [{"name": "one"}], "faults": []}
    training = {**WRITTEN["training"], "model": {"layers": file}}
    return {**written, "training": training, "virtual": {"step": "1s"}}


def test_the_documented_failure_profile_can_be_used(tmp_path: Path) -> None:
    profile, devices = documented("add-a-failure-profile.md")
    files = {
        "own.yaml": json.dumps({**WRITTEN, **devices, "faults": []}),
        "profiles/failures/night-shift.yaml": json.dumps(profile),
    }
    assert timeline(load(in_folder(tmp_path, files)))


def test_every_key_and_name_is_documented() -> None:
    words = set(re.findall(r"[\w-]+", (DOCS / "scenario.md").read_text()))
    keys = {key for part in mappings(schema()) for key in part.get("properties", {})}
    kinds = {part["const"] for part in mappings(schema()) if "const" in part}
    profiles = {file.stem for file in (SCENARIOS / "profiles").rglob("*.yaml")}
    assert (keys | kinds | profiles) - words == set()


SECTIONS = {
    "Scenario": "Keys",
    "TrainingSection": "`training`",
    "FullyConnected": "Cut models",
    "WorkloadSection": "`workload`",
    "ServerProgram": "`workload`",
    "Group": "`devices`",
    "Side": "`devices`",
    "PlayedTrace": "Links that change",
    "Bottleneck": "`bottlenecks`",
    "NetworkSection": "`network`",
    "Virtual": "`virtual`",
}
"""Heading in scenario.md under which a table has the keys of each class, by the schema's name."""


def rows() -> dict[str, set[str]]:
    """Return the codes in the first cells of all tables of scenario.md, by heading."""
    found: dict[str, set[str]] = {}
    heading = ""
    for line in (DOCS / "scenario.md").read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        elif line.startswith("| `"):
            cell = line.split("|")[1]
            found.setdefault(heading, set()).update(re.findall(r"`([^`]+)`", cell))
    return found


def undocumented(part: dict[str, Any], documented: set[str], around: str = "") -> Iterator[str]:
    """Yield each key of `part` that has no row in `documented`, nor a row for each key in it."""
    for key, value in part["properties"].items():
        place = f"{around}{key}"
        names = re.findall(r"\$defs/(\w+)", str(value))
        sections = [schema()["$defs"][name] for name in names]
        section = next((section for section in sections if "properties" in section), None)
        if place in documented:
            continue
        if section is None:
            yield place
        else:
            yield from undocumented(section, documented, f"{place}.")


@pytest.mark.parametrize("name", SECTIONS)
def test_every_key_of_a_section_has_a_row_in_its_table(name: str) -> None:
    part = schema() if name == "Scenario" else schema()["$defs"][name]
    assert not list(undocumented(part, rows()[SECTIONS[name]]))


def test_the_documented_network_can_be_played() -> None:
    (written,) = documented("networks.md")
    scenario = loads(json.dumps(written))
    assert scenario.behind_links["west-east"] == ("village-0", "village-1")
    assert {timed.action.node for timed in timeline(scenario)} == {
        "village-0",
        "village-1",
        "east-core",
    }
