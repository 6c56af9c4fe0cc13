"""A resumed run in containers goes on from the records of the run's earlier lives."""

import pytest

from emulator.log.lines import line, read
from emulator.log.records import made
from emulator.log.records.record_fields import kind
from emulator.runtimes.docker.earlier_lives import EarlierLives, read_lives
from emulator.runtimes.docker.resume_containers import rest_of
from emulator.scenario import Timed
from emulator.world.verbs import Action
from tests.fakes.plain_records import full

SENT = {"values": 40, "indices": 30, "headers": 20, "framing": 10}
LOG = [
    {"at": -0.5, "what": "hello", "node": "a", "incarnation": 2},
    {"at": 0.0, "what": "start", "devices": 2, "zero": 7.0},
    {"at": 1.0, "what": "pull", "node": "a", "bytes": 400},
    {"at": 2.0, "what": "update", "node": "a", **SENT},
    {"at": 3.5, "what": "pull", "node": "evaluator", "bytes": 500},
    {"at": 4.0, "what": "update", "node": "a", **SENT},
]
REPORTS = [
    {"at": 2.5, "what": "traffic", "node": "a", "rx": 450, "tx": 130},
    {"at": 3.0, "what": "traffic", "node": "server", "rx": 140, "tx": 460},
]


def act(at: float, what: str, node: str = "a", fault: str = "crash", planned: float = 0.0):
    begins = what not in ("boot", "mend", "resume")
    facts = {"node": node, "fault": fault, "begins": begins, "planned": planned or at}
    return {"at": at, "what": what, **facts}


def lives(*reports) -> EarlierLives:
    return EarlierLives().take(map(full, [*REPORTS, *reports])).take(map(full, LOG))


def sample(at: float, rx: int = 1, tx: int = 2, node: str = "a"):
    return made("traffic", at, node=node, rx=rx, tx=tx)


def test_the_clock_goes_on_from_the_last_record_of_anybody(tmp_path):
    assert lives().now == 4.0
    assert lives(act(4.2, "kill")).now == 4.2
    lying = {"at": 99.0, "what": "plan", "node": "a", "kind": "dynacomm", "pull": [[1, 4]]}
    assert lives(lying).now == 4.0
    (tmp_path / "log").write_bytes(b"".join(line(full(record)) for record in LOG))
    read_back = read_lives(tmp_path / "log", tmp_path / "missing")
    assert (read_back.now, read_back.begun, read_back.over) == (4.0, True, False)
    assert read_back.incarnations == {"a": 2}
    assert (read_back.counters["server"].rx, read_back.counters["server"].tx) == (200, 900)


def test_the_tickets_of_pushes_tell_of_incarnations_without_a_record():
    run = lives()
    run.take_tickets({"a": 7, "b": (3 << 32) + 1})
    assert run.incarnations == {"a": 2, "b": 3}
    run.take_tickets({"a": 4 << 32})
    assert run.incarnations == {"a": 4, "b": 3}


def test_counters_go_on_from_the_last_sample_and_the_messages_since():
    run = lives()
    record = sample(5.0)
    assert run.adopt(record) and (record.rx, record.tx) == (450 + 1, 130 + 100 + 2)
    record = sample(5.0, node="server")
    assert run.adopt(record) and (record.rx, record.tx) == (140 + 100 + 1, 460 + 500 + 2)
    record = sample(5.0, node="b")
    assert run.adopt(record) and (record.rx, record.tx) == (1, 2)


def test_no_sample_is_of_the_time_while_the_clock_stood_still():
    run = lives()
    assert not run.adopt(sample(-4.8)) and not run.adopt(sample(3.999))
    assert run.adopt(sample(4.0))
    charge = made("battery", 3.0, node="a", charge=1.0)
    assert run.adopt(charge) and charge.at == 4.0


def test_a_fault_that_goes_on_begins_again_and_another_begins():
    run = lives(act(3.0, "kill"), act(3.1, "sever", "b", "partition"), act(3.2, "mend", "b"))
    assert run.held == {("a", "kill"): "crash"}
    again, new, later = (
        full(act(4.1, "kill", planned=4.0)),
        full(act(4.1, "sever", "b", "partition")),
        full(act(9.0, "kill")),
    )
    assert all(map(run.adopt, (again, new, later)))
    assert [again.again, new.again, later.again] == [True, False, False]


TIMELINE = (
    Timed(1.0, Action("pause", "b", "pause")),
    Timed(3.0, Action("kill", "a", "crash")),
    Timed(3.5, Action("sever", "b", "outage", None)),
    Timed(3.9, Action("resume", "b", "pause")),
    Timed(9.0, Action("start", "a", "crash")),
)


def test_faults_that_ended_unrecorded_have_an_end():
    drawn = act(2.0, "lag", "b", "straggler")
    run = lives(act(1.0, "pause", "b", "pause"), act(3.0, "kill"), drawn)
    rest = rest_of(TIMELINE, run.now, run.held)
    # the cut has no record: it was due after the conductor's death, and keeps its time
    assert rest == (TIMELINE[2], Timed(4.0, TIMELINE[1].action), TIMELINE[4])
    ends = {kind(type(each)): each for each in run.ended(TIMELINE, rest[:2])}
    assert {what: (end.node, end.fault, end.at) for what, end in ends.items()} == {
        "resume": ("b", "pause", 3.9),
        "catch_up": ("b", "straggler", 4.0),
    }
    assert not any(end.begins for end in ends.values())
    assert run.held == {("a", "kill"): "crash"}
    assert list(run.ended(TIMELINE, rest[:2])) == []


def test_overlapping_faults_of_a_verb_begin_anew_as_many():
    cuts = [Timed(at, Action("sever", "a", kind)) for at, kind in ((1.0, "one"), (2.0, "two"))]
    ends = [Timed(at, Action("mend", "a", "one")) for at in (3.0, 9.0)]
    timeline = (*cuts, *ends)
    both = tuple(Timed(2.5, cut.action) for cut in cuts)
    assert rest_of(timeline, 2.5) == (*both, *ends)
    # the records of both faults have the kind of the first
    assert rest_of(timeline, 5.0) == (Timed(5.0, cuts[0].action), ends[1])


def test_a_damaged_file_is_told(tmp_path):
    (tmp_path / "log").write_bytes(b"")
    (tmp_path / "reports").write_bytes(b"{\n")
    with pytest.raises(ValueError, match="reports:1"):
        read_lives(tmp_path / "log", tmp_path / "reports")
    assert list(read(tmp_path / "log")) == []
