"""Every scenario that we ship asks a question, can be read, and survives being written down."""

from pathlib import Path

import pytest

from emulator.scenario import demand, dump, load, loads, overview
from emulator.scenario.timeline.compiled import timeline
from tests.fakes.small_scenario import rows
from tests.layers import ROOT

SCENARIOS = ROOT / "scenarios"
FILES = sorted(
    file
    for file in SCENARIOS.rglob("*.yaml")
    if not {"profiles", "papers"} & {*file.relative_to(SCENARIOS).parts}
)
BY_FILE = pytest.mark.parametrize(
    "file", rows({str(file.relative_to(SCENARIOS)): file for file in FILES})
)


def test_those_that_others_name_are_there() -> None:
    assert {"quickstart.yaml", "smallest.yaml", "flaky-homes.yaml"} <= {f.name for f in FILES}


@BY_FILE
def test_it_asks_a_question(file: Path) -> None:
    first = file.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert first.endswith("?")


@BY_FILE
def test_it_says_what_it_is_called(file: Path) -> None:
    assert load(file).name == file.stem


@BY_FILE
def test_its_world_can_be_told(file: Path) -> None:
    scenario = load(file)
    evaluators = int(scenario.evaluate.when == "during")
    others = 1 + evaluators + len(scenario.bottlenecks)
    assert len(overview(scenario).devices) == len(scenario.nodes) == demand(scenario).ports - others


@pytest.mark.slow
@BY_FILE
def test_what_a_run_keeps_of_it_plays_the_same(file: Path, tmp_path: Path) -> None:
    """The kept scenario is played from another folder, so a path to a file beside the scenario
    would fail."""
    scenario = load(file)
    again = loads(dump(scenario), folder=tmp_path)
    assert again == scenario
    assert timeline(again) == timeline(scenario)
