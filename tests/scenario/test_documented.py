"""The documented scenarios run as they stand, and every key is documented."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from emulator.scenario import load, loads, schema, timeline
from tests.fakes.doc_blocks import blocks
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


def mappings(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from mappings(item)


def test_every_key_and_name_is_documented() -> None:
    words = set(re.findall(r"[\w-]+", (DOCS / "scenario.md").read_text()))
    keys = {key for part in mappings(schema()) for key in part.get("properties", {})}
    kinds = {part["const"] for part in mappings(schema()) if "const" in part}
    profiles = {file.stem for file in (SCENARIOS / "profiles").rglob("*.yaml")}
    assert (keys | kinds | profiles) - words == set()
