"""The clock of a resumed run goes on from the last record, however old the server's state is."""

import pytest

from emulator.core.plan import Durability
from emulator.core.wire.messages import Begin, Hello
from emulator.log.lines import read
from emulator.log.records import (
    EvaluationRecord,
    HelloRecord,
    RecoveredRecord,
    RefusedRecord,
    UpdateRecord,
)
from emulator.node.durable.recovery import seen_tickets
from tests.fakes.node.durable_fleet import DurableFleet, plan_of

NODES = ("a", "b", "c", "d", "evaluator")


def begun(tmp_path, durability) -> DurableFleet:
    """Return a fleet that has played for a while since its only state, that of the run's zero."""
    fleet = DurableFleet(plan_of(durability=durability), tmp_path, seed=3)
    fleet.begin()
    fleet.server.tick(fleet.now)
    fleet.play(60)
    return fleet


def resume(fleet, resumes: int, at: float, clock: float):
    """Resume the run; its last record was `at`, the host's clock now reads `clock`."""
    fleet.boot(resumes, at)
    fleet.now = clock
    fleet.models.clear()
    return [reply for node in NODES for reply in fleet.tell(Hello(node, resumes))]


def records_of(fleet):
    return list(read(fleet.output / "run.jsonl"))


@pytest.mark.parametrize("durability", [Durability(1e6), Durability()], ids=["every", "update"])
def test_times_ascend_and_lost_updates_stand_before_the_recovery(durability, tmp_path):
    fleet = begun(tmp_path, durability)
    last = max(record.at for record in records_of(fleet)) + 0.4  # of the conductor's reports
    old = sum(isinstance(record, UpdateRecord) for record in records_of(fleet))
    replies = resume(fleet, 1, last, 5.0)
    assert {reply.zero for _, reply in replies if isinstance(reply, Begin)} == {fleet.server.zero}
    assert fleet.server.zero == pytest.approx(fleet.now - last)
    fleet.play(60)
    records = records_of(fleet)
    (place,) = [n for n, each in enumerate(records) if isinstance(each, RecoveredRecord)]
    recovered = records[place]
    assert (
        recovered.at == pytest.approx(last, abs=1e-6) and recovered.version + recovered.lost == old
    )
    assert bool(recovered.lost) == (durability.every is not None)
    untimely = [each for each in records if not isinstance(each, EvaluationRecord)]
    assert [each.at for each in untimely] == sorted(each.at for each in untimely)
    assert all(each.at >= recovered.at for each in records[place:] if each in untimely)


def test_a_crash_right_after_a_resumption_keeps_its_clock(tmp_path):
    fleet = begun(tmp_path, Durability(1e6))
    resume(fleet, 1, 50.0, 5.0)
    fleet.play(20)
    zero, before = fleet.server.zero, fleet.now
    fleet.boot(resumes=1, at=50.0)
    assert fleet.server.zero == zero and not fleet.server.missing
    assert fleet.server.now - fleet.server.server.zero >= 50.0
    assert fleet.now == before
    fleet.play(20)


def test_an_update_is_lost_once(tmp_path):
    fleet = begun(tmp_path, Durability(1e6))
    for _ in range(2):  # the state is older than the first recovery
        fleet.boot()
        fleet.models.clear()
        fleet.play(40)
    fleet.boot()
    made = 0
    for record in records_of(fleet):
        match record:
            case UpdateRecord():
                made += 1
                assert record.version == made
            case RecoveredRecord():
                assert record.lost == made - record.version
                made = record.version


@pytest.mark.parametrize("durability", [Durability(1e6), Durability()], ids=["every", "update"])
def test_each_boot_of_two_resumptions_in_a_row_is_on_record(durability, tmp_path):
    fleet = begun(tmp_path, durability)
    for resumes in (1, 2):
        at = max(record.at for record in records_of(fleet))
        resume(fleet, resumes, at, 5.0)
    hellos = [each for each in records_of(fleet) if isinstance(each, HelloRecord)]
    assert [each.incarnation for each in hellos if each.node == "a"][-2:] == [1, 2]
    refusals = [each for each in records_of(fleet) if isinstance(each, RefusedRecord)]
    assert not any("hello" in each.reason for each in refusals)


@pytest.mark.parametrize("durability", [Durability(10.0), Durability()], ids=["every", "update"])
def test_the_largest_ticket_of_each_node_is_known_from_the_files(durability, tmp_path):
    fleet = begun(tmp_path, durability)
    fleet.tickets = dict.fromkeys(fleet.tickets, 5 << 32)
    fleet.play(100)
    fleet.server.close()
    known = seen_tickets(tmp_path)
    fleet.boot()
    assert known == {node: ticket for node, (ticket, _) in fleet.server.seen.plain().items()}
    assert {ticket >> 32 for ticket in known.values()} == {5}
