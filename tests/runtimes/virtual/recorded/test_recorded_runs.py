"""A scenario and its seed give the run of the past, but for changes with a reason."""

from pathlib import Path

import pytest

from tests.layers import ROOT
from tests.runtimes.virtual.recorded import (
    EVERY_PART,
    RUNS,
    SPACING,
    recorded,
    recording,
    recording_of_parts,
)

CHANGES = ROOT / "docs/changes.md"
AGAIN = (
    "if that is wanted: `python -m tests.runtimes.virtual.recorded`, and a line in docs/changes.md"
)


@pytest.mark.parametrize(
    "run", [pytest.param(run, marks=[pytest.mark.slow] * ("shards" in run)) for run in RUNS]
)
def test_a_run_is_as_it_was(run: str, tmp_path: Path) -> None:
    kept, made = recorded(run), recording(run, tmp_path)
    for number, (was, is_now) in enumerate(zip(kept["lines"], made["lines"], strict=False)):
        assert is_now == was, f"record {number * SPACING} has changed; {AGAIN}"
    assert made == kept, AGAIN


@pytest.mark.slow
def test_every_part_does_what_it_did(tmp_path: Path) -> None:
    """Each codec, synchronization, preset and profile, and what else can be dealt to a fleet."""
    kept, made = recorded(EVERY_PART)["runs"], recording_of_parts(tmp_path)["runs"]
    assert kept.keys() == made.keys(), AGAIN
    assert {name for name in kept if kept[name] != made[name]} == set(), AGAIN


@pytest.mark.parametrize("run", [*RUNS, EVERY_PART])
def test_a_changed_recording_has_its_reason(run: str) -> None:
    digest = recorded(run)["digest"][:12]
    lines = [line for line in CHANGES.read_text().splitlines() if digest in line]
    assert len(lines) == 1, f"docs/changes.md has a line with {run} and {digest}"
    assert f"`{run}`" in lines[0]


def test_the_runs_have_what_happens_in_a_fleet() -> None:
    kinds = {kind for run in RUNS for kind in recorded(run)["counts"]}
    work = {"hello", "pull", "update", "plan", "activations", "traffic", "left_out", "refused"}
    ends = {"kill", "boot", "leave", "join", "recovered", "battery"}
    changes = {"sever", "mend", "reshape", "pause", "resume", "press", "release", "garble", "lag"}
    assert kinds >= work | ends | changes
