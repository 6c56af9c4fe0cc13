"""Fleets under faults of all kinds: runs end, count each update once, and repeat to the byte."""

from collections import defaultdict
from pathlib import Path

import pytest

import analysis
from analysis import run_warnings
from emulator.scenario import loads
from emulator.world.verbs import VERBS
from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.random_failures import scenario
from tests.fakes.virtual_world import played

QUICK, ALL = range(12), range(12, 300)
DEAD = {verb.record: verb for verb in VERBS if verb.ends_process}
ALIVE = {verb.undone_record for verb in VERBS if verb.ends_process}


@pytest.mark.parametrize("seed", QUICK)
def test_a_fleet_under_faults_keeps_the_laws(seed: int, tmp_path: Path) -> None:
    keeps_the_laws(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(ALL.start, ALL.stop, 24))
def test_many_fleets_under_faults_keep_the_laws(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 24):
        (tmp_path / str(seed)).mkdir()
        keeps_the_laws(seed, tmp_path / str(seed))


def keeps_the_laws(seed: int, place: Path) -> None:
    text = scenario(seed)
    folder, summary, _ = played(place, text=text)
    records = list(read(folder / "run.jsonl"))
    told = f"seed {seed}\n{text}"
    _ends_as_it_says(text, summary, records, told)
    _counts_each_update_once(summary, records, told)
    if loads(text).training.synchronization.kind in ("asynchronous", "bounded"):
        _hears_nothing_of_the_dead(records, told)  # elsewhere a push waits for its step
    if summary["duration_s"] > 1:  # the messages under way at the end outweigh those of less
        assert run_warnings._sums(analysis.read(folder)) == [], told
    (place / "again").mkdir()
    again, _, _ = played(place / "again", text=text)
    for name in ("run.jsonl", "timeline.jsonl"):
        assert (folder / name).read_bytes() == (again / name).read_bytes(), f"{name}: {told}"


def _ends_as_it_says(text: str, summary: dict, records: list[PlainRecord], told: str) -> None:
    stop, reason = loads(text).stop, summary["stop"]
    assert reason in ("time", "updates", "failed", "diverged"), told
    whats = [record["what"] for record in records]
    assert {*whats[whats.index("stop") + 1 :]} <= {"traffic", "iteration"}, told
    assert stop.time is not None
    assert summary["duration_s"] <= float(stop.time) + 1e-6, told
    if reason == "updates":
        assert stop.updates is not None and summary["updates"] >= stop.updates, told
    if reason == "time":
        assert summary["duration_s"] == pytest.approx(float(stop.time)), told


def _counts_each_update_once(summary: dict, records: list[PlainRecord], told: str) -> None:
    versions = [record["version"] for record in records if record["what"] == "update"]
    assert versions == list(range(1, len(versions) + 1)), told
    assert summary["updates"] == len(versions), told
    asked = [record["version"] for record in records if record["what"] == "pull"]
    assert asked == sorted(asked), told


def _hears_nothing_of_the_dead(records: list[PlainRecord], told: str) -> None:
    """Between the end of a process and the hello of the next, no update is taken up from it.

    A message that had left before still arrives, so the law holds from two seconds on.
    """
    gone: dict[str, float] = {}
    incarnations: dict[str, int] = defaultdict(int)
    for record in records:
        what, node = record["what"], record.get("node", "")
        if what in DEAD or what == "exit":
            gone.setdefault(node, record["at"])
        elif what == "hello":
            assert record["incarnation"] >= incarnations[node], told
            incarnations[node] = record["incarnation"]
            gone.pop(node, None)
        elif what == "update" and node in gone:
            assert record["at"] < gone[node] + 2.0, f"{record} {told}"
