"""The summary of a run with faults, from records written by hand."""

from typing import Any

from emulator.log.records.fault_records import TimelineRecord
from emulator.log.summary import RunFacts, summarise
from tests.fakes.plain_records import PlainRecord, full

PUSH = {"values": 40, "indices": 15, "headers": 30, "framing": 15}


def update(at: float, number: int) -> PlainRecord:
    return {"at": at, "what": "update", "node": "a", "updates": number, **PUSH}


def act(at: float, what: str, planned: float | None = None) -> PlainRecord:
    facts = {"node": "a", "begins": what in ("kill", "sever")}
    return {"at": at, "what": what, **facts, "planned": at if planned is None else planned}


RECORDS: list[PlainRecord] = [
    {"at": -0.2, "what": "hello", "node": "a"},
    {"at": 0, "what": "start", "devices": 2},
    {"at": 0.1, "what": "pull", "node": "a", "bytes": 1000},
    {"at": 0.1, "what": "pull", "node": "evaluator", "bytes": 1000},
    {"at": 0.5, "what": "evaluation", "accuracy": 0.1, "updates": 0, "push_bytes": 0},
    update(1.0, 1),
    {"at": 1.1, "what": "traffic", "node": "server", "rx": 100, "tx": 200},
    {"at": 1.2, "what": "traffic", "node": "a", "rx": 7, "tx": 7},
    act(2.1, "kill", planned=2.0),
    act(4.05, "boot", planned=4.0),
    {"at": 5, "what": "pull", "node": "a", "bytes": 1000},
    update(6.0, 2),
    {"at": 6.5, "what": "refused", "node": "a", "reason": "lies"},
    {
        "at": 6.7,
        "what": "unsent",
        "node": "a",
        "message": "model 2 layers 1-2",
        "bytes": 1000,
        "segments": 2,
    },
    {"at": 7.0, "what": "evaluation", "accuracy": 0.9, "updates": 2, "push_bytes": 200},
    act(7.5, "sever", planned=7.5),
    {"at": 8.0, "what": "evaluation", "accuracy": 0.8, "updates": 2, "push_bytes": 200},
    {"at": 9.0, "what": "unmeasured", "versions": [4, 6]},
    {"at": 9.0, "what": "host", "busy": [0.5, 0.7], "evaluator": [0.1, 0.3], "short": [False] * 2},
    {"at": 9.0, "what": "stop", "reason": "updates"},
    {"at": 9.4, "what": "traffic", "node": "server", "rx": 400, "tx": 3000},
]
PLANNED = [
    TimelineRecord(at, verb, "a", "crash", begins=verb in ("kill", "sever"))
    for at, verb in ((2.0, "kill"), (4.0, "start"), (7.5, "sever"), (60.0, "mend"), (99.0, "kill"))
]


def summary(records: list[PlainRecord] = RECORDS, **other: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "scenario": "flaky",
        "algorithm": "adacomp",
        "seed": 7,
        "runtime": "docker",
        "devices": 2,
        "dense_push": 4000,
        "dense_pull": 4500,
        "planned": PLANNED,
        "targets": [0.95, 0.9],
    }
    return summarise(map(full, records), RunFacts(**{**facts, **other}))
