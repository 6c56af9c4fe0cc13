"""Logs that tell of a broken law, each made from a run's log by one change: no law lets it pass."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.fakes.plain_records import PlainRecord, read, written
from tests.fakes.virtual.failure_laws import keeps_the_laws
from tests.fakes.virtual_world import played

TEXT = """
name: broken
seed: 1
training:
  dataset: digits
  model: digits-mlp
  batch_size: 8
  codec: {{kind: topk, keep: 5%}}
  synchronization: {kind}
evaluate: {{every: 50}}
stop: {{time: 5s}}
virtual: {{learner: none, step: 50ms, boot: 100ms, serve: 1ms}}
devices:
  - {{name: a, count: 2, link: cable}}
  - {{name: b, count: 2, link: cable}}
faults:
  - {{kind: crash, nodes: [a-0], at: 500ms, lasts: 3s}}
  - {{kind: partition, nodes: [a-1], at: 1s, lasts: 2s}}
  - {{kind: memory, nodes: [a-1], at: 3500ms, lasts: 500ms, takes: 60%}}
  - {{kind: corrupt, nodes: [a-0], at: 4s, lasts: 500ms, messages: 50%}}
"""

Log: TypeAlias = list[PlainRecord]
Change: TypeAlias = Callable[[Log], None]


def first(log: Log, what: str, node: str, after: float = 0.0) -> int:
    """Place of the first record of the kind `what` of `node` behind the time `after`."""
    return next(
        place
        for place, record in enumerate(log)
        if (record["what"], record.get("node")) == (what, node) and record["at"] > after
    )


def copied(what: str, node: str, to: float, **changes: Any) -> Change:
    """Say one record of `node` once more at the time `to`, with `changes`."""

    def change(log: Log) -> None:
        again = {**log[first(log, what, node)], "at": to, **changes}
        log.append(again)

    return change


def taken(what: str, node: str) -> Change:
    """Take away one record of `node`."""

    def change(log: Log) -> None:
        del log[first(log, what, node)]

    return change


def given(what: str, node: str, **changes: Any) -> Change:
    """Change fields of one record of `node`."""

    def change(log: Log) -> None:
        log[first(log, what, node, after=0.5)].update(changes)

    return change


def another(what: str, node: str, at: float, **fields: Any) -> Change:
    return lambda log: log.append({"at": at, "what": what, "node": node, **fields})


def moved(node: str, after: float, *whats: str) -> Change:
    """Say that the next records of the kinds `whats` of b-0, after a time, are of `node`."""

    def change(log: Log) -> None:
        for what in whats:
            log[first(log, what, "b-0", after)]["node"] = node

    return change


ASYNCHRONOUS: dict[str, tuple[Change, str]] = {
    "a planned fault did not strike": (taken("kill", "a-0"), "accounts_for_each_planned_fault"),
    "a part ended without a memory fault": (
        another("exit", "b-0", 2.0, reason="killed"),
        "ends_parts_for_a_cause",
    ),
    "a part ended before its memory fault": (
        another("exit", "a-1", 3.2, reason="killed"),
        "ends_parts_for_a_cause",
    ),
    "a message of an honest device was refused": (
        another("refused", "b-0", 2.0, reason="no model"),
        "refuses_for_a_cause",
    ),
    "an honest device was in quarantine": (
        another("quarantine", "b-0", 2.0, until=None),
        "refuses_for_a_cause",
    ),
    "an update passed a cut": (
        moved("a-1", 2.0, "pull", "pull", "update", "update"),
        "takes_up_nothing_through_a_cut",
    ),
    "an update passed a crash": (moved("a-0", 3.0, "update"), "takes_up_at_once"),
    "updates passed a crash": (
        moved("a-0", 3.0, "update", "update"),
        "takes_up_nothing_of_the_dead",
    ),
    "an update is less stale than said": (
        given("update", "b-0", staleness=77),
        "counts_staleness_from_the_pull",
    ),
    "an update was counted twice": (copied("update", "b-0", 2.0), "takes_up_nothing_of_the_dead"),
}
BARRIER: dict[str, tuple[Change, str]] = {
    "a step was made without a device": (taken("update", "b-0"), "steps_with_each_device"),
    "a device is in a step twice": (moved("b-1", 2.0, "update"), "takes_up_nothing_of_the_dead"),
    "a planned fault did not strike": (taken("sever", "a-1"), "accounts_for_each_planned_fault"),
}


def plays(kind: str, place: Path, change: Change | None) -> None:
    """Play a fleet, change its log, and look whether it keeps the laws."""
    text = TEXT.format(kind=kind)
    folder, summary, _ = played(place, text=text)
    log = list(read(folder / "run.jsonl"))
    if change is not None:
        change(log)
        log.sort(key=lambda record: record["at"])
        versions = iter(range(1, len(log)))
        for record in log:  # what only this change tells is looked for, not a gap in the versions
            if record["what"] == "update":
                record["version"] = next(versions)
        summary = {**summary, "updates": next(versions) - 1}
        (folder / "run.jsonl").write_bytes(written(log))
    keeps_the_laws(text, folder, summary)


@pytest.mark.parametrize("kind", ["asynchronous", "barrier"])
def test_the_fleet_keeps_the_laws(kind: str, tmp_path: Path) -> None:
    plays(kind, tmp_path, None)


@pytest.mark.parametrize("broken", ASYNCHRONOUS)
def test_the_law_that_an_asynchronous_run_breaks_finds_it(broken: str, tmp_path: Path) -> None:
    is_found("asynchronous", *ASYNCHRONOUS[broken], tmp_path)


@pytest.mark.parametrize("broken", BARRIER)
def test_the_law_that_a_barrier_breaks_finds_it(broken: str, tmp_path: Path) -> None:
    is_found("barrier", *BARRIER[broken], tmp_path)


def is_found(kind: str, change: Change, law: str, place: Path) -> None:
    with pytest.raises(AssertionError) as failure:
        plays(kind, place, change)
    assert failure.traceback[-1].name == f"_{law}"
