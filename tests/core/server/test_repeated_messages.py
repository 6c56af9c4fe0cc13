"""A member that repeats a message, of any kind and read or not, does not fill the log."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import get_args

import numpy as np
import pytest

from emulator.codecs import Dense, StatelessEncoder
from emulator.core.wire.messages import (
    Activations,
    CutReply,
    Diverged,
    Hello,
    Leave,
    LogitGradient,
    Message,
    Pull,
    Score,
    Update,
    UpdateSegment,
)
from emulator.log.summary import RunFacts, summarise
from emulator.world.stop_conditions import Stop
from tests.fakes.core.server_world import LAYOUT, World
from tests.fakes.plain_records import full

REPEATS = 1_000
PAUSE = 2.0
STEP = 0.02
"""Seconds between two repetitions."""
MOST = 150
"""Records of 1,000 repetitions: for each 2 s a hello, and pulls counted by powers of two."""


def frames() -> list[bytes]:
    return StatelessEncoder(Dense(), LAYOUT).encode(np.ones(40, np.float32))


TICKETS = count(1)

REPEATED: dict[str, Callable[[str], Iterator[Message]]] = {
    "hello": lambda node: iter([Hello(node, 0)]),
    "hello, each of another incarnation": lambda node: iter([Hello(node, next(TICKETS))]),
    "hello and leave": lambda node: iter([Leave(node), Hello(node, 0)]),
    "leave": lambda node: iter([Leave(node)]),
    "pull": lambda node: iter([Pull(node, next(TICKETS))]),
    "pull in segments": lambda node: iter([Pull(node, next(TICKETS), 0, None, ((1, 1),))]),
    "hello and pull": lambda node: iter([Hello(node, 0), Pull(node, next(TICKETS))]),
    "diverged": lambda node: iter([Diverged(node, 0)]),
    "pull and diverged": lambda node: iter([Pull(node, next(TICKETS)), Diverged(node, 0)]),
    "update": lambda node: iter([Update(node, 0, 0.5, 0.01, frames())]),
    "update segment": lambda node: iter([UpdateSegment(node, 0, 1, (1, 1), 0.5, 0.01, frames())]),
    "score": lambda node: iter([Score(node, 0, 0.5, 1.0)]),
    "activations": lambda node: iter([Activations(node, 0, 1, 1, b"")]),
    "logit gradient": lambda node: iter([LogitGradient(node, 1, 0.5, b"")]),
}


def requests() -> set[type]:
    return {kind for kind in get_args(Message) if "node" in kind.__slots__}


def test_every_request_is_repeated_below() -> None:
    made = {type(message) for repeat in REPEATED.values() for message in repeat("a")}
    assert made == requests()
    assert not requests() & set(get_args(CutReply))


@pytest.mark.mostly_slow(quick=12)
@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("node", ["a", "evaluator"])
@pytest.mark.parametrize("name", REPEATED)
def test_a_repeated_message_is_counted_in_a_few_records(name: str, node: str, reads: bool) -> None:
    world = World(pause=PAUSE, stop=Stop(updates=10**6))
    world.begin()
    before, now, answered, sent = len(world.records), 110.0, 0, 0
    for number in range(REPEATS):
        if number % 10 == 0:
            world.round("b", now)  # versions go on meanwhile
        for message in REPEATED[name](node):
            replies = world.server.handle(node, message, now)
            sent += 1
            answered += sum(to == node and hasattr(reply, "ticket") for to, reply in replies)
            if not reads:
                world.server.unsent([reply for reply in replies if reply[0] == node], now)
        now += STEP
    world.server.end("canceled", now)
    records = [record for record in world.records[before:] if record.get("node") == node]
    assert len(records) < MOST
    pulls = [record for record in records if record["what"] == "pull"]
    assert sum(record.get("count", 1) for record in pulls) == answered
    if not reads:
        unsent = [record for record in records if record["what"] == "unsent"]
        assert sum(record.get("count", 1) for record in unsent) >= answered


@pytest.mark.parametrize("name", ["hello", "hello and leave", "diverged"])
def test_all_repetitions_are_on_record(name: str) -> None:
    world = World(pause=PAUSE)
    world.begin()
    world.pull("a")
    before = len(world.records)
    messages = [message for _ in range(500) for message in REPEATED[name]("a")]
    for message in messages:
        world.server.handle("a", message, 110.0)
    world.server.end("canceled", 111.0)
    told = [record for record in world.records[before:] if record.get("node") == "a"]
    assert sum(record.get("count", 1) for record in told) == len(messages)


def test_a_version_that_diverges_again_is_refused_and_counted() -> None:
    """The model may be pulled anew in between; only refusals bring a device into quarantine."""
    world = World(pause=PAUSE)
    world.begin()
    for _ in range(100):
        world.pull("a")
        world.server.handle("a", Diverged("a", 0), 110.0)
    world.server.end("canceled", 111.0)
    assert [record["version"] for record in world.said("diverged")] == [0]
    refused = world.said("refused")
    assert {record["reason"] for record in refused} == {"version 0 has diverged again"}
    assert sum(record.get("count", 1) for record in refused) == 99
    assert len(refused) < 10


def test_boots_in_quick_succession_are_on_record_and_no_refusals() -> None:
    world = World(pause=PAUSE)
    world.begin()
    for incarnation in (1, 2, 3):
        world.server.handle("a", Leave("a"), 110.0 + 0.5 * incarnation)
        world.server.handle("a", Hello("a", incarnation), 110.1 + 0.5 * incarnation)
    hellos = [record["incarnation"] for record in world.said("hello") if record["node"] == "a"]
    assert hellos == [0, 1, 2, 3]
    assert len(world.said("goodbye")) == 3
    assert world.said("refused") == []


def test_the_bytes_of_counted_pulls_and_of_unsent_answers_are_in_the_sums() -> None:
    world = World()
    world.begin()
    for number in range(100):
        replies = world.pull("a", 110.0 + number)
        if number >= 40:
            world.server.unsent(replies, 110.0 + number)
    world.push("a", 0, 211.0)
    world.pull("a", 212.0)
    world.server.end("canceled", 213.0)
    pulls = world.said("pull")
    assert len({record["bytes"] / record.get("count", 1) for record in pulls}) == 1
    assert sum(record.get("count", 1) for record in pulls) == 101
    assert "count" not in pulls[-1]
    summary = summarise(
        map(full, world.records),
        RunFacts(
            scenario="s",
            algorithm="a",
            seed=0,
            runtime="docker",
            devices=3,
            dense_push=1,
            dense_pull=7,
            planned=[],
            targets=[],
        ),
    )
    assert summary["dense_pull_bytes"] == 101 * 7
    assert summary["pull_bytes"] == 101 * pulls[0]["bytes"]
    assert summary["unsent"] == 60
