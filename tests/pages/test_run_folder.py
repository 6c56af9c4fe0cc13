"""docs/run-folder.md names every key of `manifest.json` and `summary.json`, and no others."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.virtual_world import SCENARIO, played
from tests.pages.documented_keys import DOCUMENTED, PAGE
from tests.runtimes.virtual.recorded import RUNS, scenario


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What runs in virtual time have written, by the names of the files."""
    texts = [SCENARIO, *map(scenario, RUNS)]
    folders = [played(tmp_path_factory.mktemp("run"), text=text)[0] for text in texts]
    return {
        name: [json.loads((Path(folder) / f"{name}.json").read_text()) for folder in folders]
        for name in DOCUMENTED
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_page_names_each_key(written: dict[str, list[dict[str, Any]]], name: str) -> None:
    keys = {key for run in written[name] for key in run}
    assert keys - DOCUMENTED[name] == set()


@pytest.mark.slow
def test_a_summary_has_each_key_that_is_not_said_to_be_absent(
    written: dict[str, list[dict[str, Any]]],
) -> None:
    seldom = re.findall(
        r"^\| (`.*?) \| (?:only|if updates|true if|number of|times|`\{up)", PAGE, re.M
    )
    absent = {key for keys in seldom for key in re.findall(r"`([a-z_]+)`", keys)}
    for run in written["summary"]:
        assert DOCUMENTED["summary"] - absent - run.keys() == set()
