"""Refused messages are counted to the last, in a few lines of log."""

from pathlib import Path
from typing import Any

import pytest

from analysis.pages.run_warnings import warnings
from emulator.cli.watching.progress import Progress
from emulator.core.server.refusal_counts import KINDS, Refusals
from emulator.log.summary import RunFacts, summarise
from tests.fakes.core.server_world import World
from tests.fakes.plain_records import full
from tests.fakes.runs.handmade_run import written

FLOOD = 110_000


def flooded(kinds: int = 1, messages: int = FLOOD) -> World:
    """A server that refuses so many messages, of so many kinds, and ends."""
    world = World()
    world.begin()
    for number in range(messages):
        kind = "x" * (number % kinds)
        world.server.refuse("a", f"a lie{kind} about version {number}, it says '{number}'", 110.0)
    world.server.refuse("b", "a lie about version 1, it says '1'", 111.0)
    world.server.end("canceled", 120.0)
    return world


def of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["what"] == "refused"]


@pytest.mark.slow
def test_a_flood_of_refusals_takes_some_lines_of_log() -> None:
    world = flooded()
    assert len(world.sink.getvalue()) < 10_000
    refused = of(world.records)
    own = [record for record in refused if record["node"] == "a"]
    assert sum(record.get("count", 1) for record in own) == FLOOD
    first = {"at": 5.0, "what": "refused", "node": "a"}
    assert own[0] == first | {"reason": "a lie about version 0, it says '0'"}
    assert own[-1]["reason"] == f"a lie about version {FLOOD - 1}, it says '{FLOOD - 1}'"
    assert [record["node"] for record in refused].count("b") == 1
    assert world.records[-1]["what"] == "stop"


@pytest.mark.slow
def test_whoever_reads_the_log_counts_all_of_them(tmp_path: Path) -> None:
    records = flooded().records
    summary = summarise(
        map(full, records),
        RunFacts(
            scenario="s",
            algorithm="a",
            seed=0,
            runtime="docker",
            devices=3,
            dense_push=1,
            dense_pull=1,
            planned=[],
            targets=[],
        ),
    )
    assert summary["refused"] == FLOOD + 1
    progress = Progress(("a", "b", "c"), ())
    for record in records:
        progress.take(full(record))
    assert progress.refused == FLOOD + 1
    run = written(tmp_path / "run", records)
    assert run.refused == FLOOD + 1
    assert f"{FLOOD + 1} messages were refused, from a, b" in warnings(run)


@pytest.mark.parametrize("kinds", [3, 10 * KINDS])
def test_kinds_are_told_apart_and_are_few(kinds: int) -> None:
    refused = of(flooded(kinds, 10_000).records)
    assert sum(record.get("count", 1) for record in refused) == 10_001
    words = {record["reason"].split(" about ")[0] for record in refused[: 3 * KINDS]}
    assert len(words) >= min(kinds, KINDS)
    assert len(refused) < 15 * (KINDS + 1)


def test_each_that_is_counted_is_recorded_once() -> None:
    refusals = Refusals()
    counts = [refusals.add("a", "lies") for _ in range(9)]
    assert counts == [1, 1, 0, 2, 0, 0, 0, 4, 0]
    assert list(refusals.rest()) == [("a", "lies", 1)]
    assert list(refusals.rest()) == []
