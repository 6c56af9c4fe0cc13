"""Ten random fleets under faults of all kinds in containers; three at a time."""

import json
import re
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.containers.conftest import begun, left
from tests.fakes.plain_records import read
from tests.fakes.virtual.failure_laws import keeps_the_laws
from tests.fakes.virtual.random_failures import KINDS, PARTS, covering, scenario

pytestmark = [pytest.mark.docker, pytest.mark.timeout(280)]

SEEDS = covering(10)
TOGETHER = 3
SECONDS = 8
"""Duration of each run."""
LATE = 0.5
"""Seconds by which a run in containers may end after its time."""


def text(seed: int) -> str:
    """Return the scenario of `seed`, as long as `SECONDS`."""
    return re.sub(r"stop: .*", f"stop: {{time: {SECONDS}s}}", scenario(seed))


@pytest.fixture(scope="module")
def plays(client, tmp_path_factory):
    """The runs, which begin together: folders, and processes that have ended."""
    with begun({seed: text(seed) for seed in SEEDS}, tmp_path_factory, TOGETHER) as runs:
        yield runs


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fleet_under_faults_keeps_the_laws(plays: dict[int, Future], client, seed):
    print(text(seed))
    folder, done = plays[seed].result()
    assert done.stdout, done.stderr
    summary = json.loads(done.stdout)
    assert done.returncode == (0 if summary["outcome"] == "success" else 1), done.stderr
    keeps_the_laws(text(seed), Path(summary["run"]), summary, LATE)
    assert not left(client, folder)


def test_the_fleets_have_all_parts():
    """So has each codec, synchronization, aggregation, pull and kind of fault its containers."""
    missing = {part for part in PARTS if not any(part in scenario(seed) for seed in SEEDS)}
    assert not missing, "more seeds, or more fleets, have to be looked at"


def test_all_kinds_of_faults_struck(plays: dict[int, Future]):
    folders = (json.loads(run.result()[1].stdout)["run"] for run in plays.values())
    records = (record for folder in folders for record in read(Path(folder) / "run.jsonl"))
    assert {record["fault"] for record in records if record.get("begins") is True} >= KINDS
