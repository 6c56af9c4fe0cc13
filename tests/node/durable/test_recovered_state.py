"""A server that comes back from its disk is the server that died, to the last bit."""

from contextlib import suppress

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from emulator import modulation
from emulator.codecs import Dense, StatelessEncoder
from emulator.core.plan import Durability
from emulator.core.server.refusal_counts import QuarantineRule
from emulator.core.wire.messages import Diverged, Update, UpdateSegment
from emulator.log.lines import read
from emulator.log.records import RecoveredRecord, UnsentRecord, UpdateRecord
from emulator.node.durable import journal, state_folder
from emulator.node.durable.packed_state import packed
from emulator.plugins.stateful import Stateful
from emulator.world.roles import CONDUCTOR
from tests.fakes.core.server_world import LAYOUT, World
from tests.fakes.node.durable_fleet import DurableFleet, frozen, plan_of
from tests.node.durable.durable_plans import PLANS
from tests.node.durable.equal_states import same


@pytest.mark.slow
@pytest.mark.parametrize("saves", [False, True], ids=["inputs", "states"])
@pytest.mark.parametrize("name", PLANS)
def test_a_killed_server_comes_back_the_same(name, saves, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "REPLAY", 0.0 if saves else 1e9)
    fleet = DurableFleet(plan_of(**PLANS[name]), tmp_path, seed=len(name))
    fleet.begin()
    for _ in range(4):
        fleet.play(60)
        before, lines, version = frozen(fleet.server.server), fleet.lines, fleet.server.version
        if fleet.server.journal._saving:
            fleet.server.journal._saving.result()
        fleet.boot()
        assert same(frozen(fleet.server.server), before)
        assert fleet.lines.startswith(lines) and fleet.lines.count(b"\n") == lines.count(b"\n") + 1
        assert fleet.server.version == version
    *_, last = (r for r in read(tmp_path / "run.jsonl") if isinstance(r, RecoveredRecord))
    assert last.lost == 0
    updates = [r.version for r in read(tmp_path / "run.jsonl") if isinstance(r, UpdateRecord)]
    assert updates == list(range(1, fleet.server.version + 1)) and len(updates) > 30
    if saves:  # the disk that it takes is bounded
        for _ in range(4):
            fleet.play(5)
            fleet.server.journal._spent = 1.0
            fleet.server.tick(fleet.now)
            fleet.server.journal._saving and fleet.server.journal._saving.result()
        assert len(list((tmp_path / "durable").glob("state-*"))) == 2
        assert len(list((tmp_path / "durable").glob("inputs-*"))) <= 3


@pytest.mark.parametrize("replay", [0.0, 1e9], ids=["states", "inputs"])
def test_refusals_and_quarantines_come_back(replay, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "REPLAY", replay)
    rule = QuarantineRule(refusals=3, within=1e6, lasts=1e6)
    fleet = DurableFleet(replace(plan_of(), quarantine=rule), tmp_path)
    fleet.begin()
    for number in range(4):
        fleet.server.handle("a", Diverged("a", 99), fleet.now)
        fleet.server.tick(fleet.now)
        fleet.server.tick(fleet.now)
        if fleet.server.journal._saving:
            fleet.server.journal._saving.result()
        before = frozen(fleet.server.server)
        fleet.boot()
        assert same(frozen(fleet.server.server), before)
        assert (b'"quarantine"' in fleet.lines) == (number >= 2)


def test_before_the_run_begins_hellos_are_kept(tmp_path):
    fleet = DurableFleet(plan_of(), tmp_path)
    from emulator.core.wire.messages import Hello

    fleet.tell(Hello("a", 0))
    fleet.boot()
    assert fleet.server.missing == ["b", "c", "d", "evaluator"]


@pytest.mark.parametrize("dies", [True, False], ids=["a crash", "no crash"])
def test_a_push_sent_again_is_applied_once(dies, tmp_path):
    fleet = DurableFleet(plan_of(), tmp_path)
    fleet.begin()
    for node in "abcd":
        fleet.pull(node)
        fleet.push(node)
    if dies:
        fleet.boot()
    theta, version = fleet.server.model.snapshot().copy(), fleet.server.version
    assert version >= 3
    for node in "abcd":
        for message in fleet.pushed[node]:
            assert fleet.tell(message) == []
    assert fleet.server.version == version
    assert (fleet.server.model.snapshot() == theta).all()
    assert b'"refused"' not in fleet.lines


def test_a_piece_that_was_refused_may_come_again(tmp_path):
    fleet = DurableFleet(plan_of(), tmp_path)
    fleet.begin()
    for first in (0, 1):  # the piece that arrived alone is the last one, or there was one before
        fleet.pull("d")
        version, ticket, _ = fleet.models.pop("d")
        layers = ((1, 1), (2, 2), (3, 3))[::-1]
        pieces = [
            UpdateSegment("d", version, ticket, part, 0.5, 0.01, fleet.frames(part))
            for part in layers
        ]
        before = fleet.server.version
        for piece in pieces[:first] + pieces[2:]:  # the connection broke before the others
            fleet.tell(piece)
        assert b"expected layers up to" in fleet.lines
        fleet.boot()
        for piece in pieces:  # sent again, before the next pull
            fleet.tell(piece)
        assert fleet.server.version == before + 1
        for piece in pieces:  # and again
            fleet.tell(piece)
        assert fleet.server.version == before + 1


def test_with_states_alone_updates_since_the_last_are_lost_and_told(tmp_path):
    fleet = DurableFleet(plan_of(durability=Durability(30.0)), tmp_path, seed=5)
    fleet.begin()
    fleet.play(90)
    fleet.now += 31.0
    fleet.server.tick(fleet.now)
    fleet.server.journal._saving.result()
    kept, theta = fleet.server.version, fleet.server.model.snapshot().copy()
    for node in "abcd" * 3:
        fleet.pull(node)
        fleet.push(node)
    lost = fleet.server.version - kept
    fleet.boot()
    assert lost > 5 and fleet.server.version == kept > 0
    assert (fleet.server.model.snapshot() == theta).all()
    *_, record = read(tmp_path / "run.jsonl")
    assert isinstance(record, RecoveredRecord) and (record.version, record.lost) == (kept, lost)
    fleet.play(20)


def test_a_resumed_run_stands_still_until_all_are_back(tmp_path):
    from emulator.core.wire.messages import Begin, Hello

    fleet = DurableFleet(plan_of(), tmp_path)
    fleet.begin()
    fleet.play(50)
    last, zero = fleet.now, fleet.server.zero
    fleet.boot(resumes=1)
    fleet.now = 5.0  # another boot of the host: its clock began anew
    assert fleet.server.zero is None and fleet.server.deadline() is None
    for node in ("a", "b", "c", "d"):
        assert fleet.tell(Hello(node, 7)) == []
    assert fleet.server.missing == ["evaluator"]
    replies = fleet.tell(Hello("evaluator", 7))
    assert sorted(node for node, _ in replies) == ["a", "b", "c", "d", "evaluator"]
    assert all(isinstance(reply, Begin) for _, reply in replies)
    moved = fleet.server.zero
    assert moved == pytest.approx(zero - (last - fleet.now))
    assert replies[0][1].zero == moved
    fleet.models.clear()
    fleet.play(50)
    before = frozen(fleet.server.server)
    fleet.boot(resumes=1)  # a crash of the resumed run: it goes on at once
    assert same(frozen(fleet.server.server), before)
    assert fleet.server.zero == moved


def test_a_conducted_run_waits_for_its_conductor_each_time(tmp_path):
    from emulator.core.wire.messages import Hello

    plan = msgspec.structs.replace(plan_of(), conducted=True)
    fleet = DurableFleet(plan, tmp_path)
    for resumes in (0, 1, 2):
        if resumes:
            fleet.boot(resumes=resumes)
        for node in fleet.tickets:
            assert fleet.tell(Hello(node, resumes)) == []
        assert fleet.server.zero is None and fleet.server.missing == [CONDUCTOR]
        assert len(fleet.tell(Hello(CONDUCTOR, 0))) == 5
        assert fleet.server.zero is not None and fleet.server.missing == []
        fleet.play(50)
    before = frozen(fleet.server.server)
    fleet.boot(resumes=2)  # a crash of the server alone: nobody has to let it go on
    assert same(frozen(fleet.server.server), before) and fleet.server.zero is not None
    fleet.play(20)


@pytest.mark.slow
def test_a_damaged_newest_state_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "REPLAY", 0.0)
    fleet = DurableFleet(plan_of(modulation=modulation.PerParameter()), tmp_path)
    fleet.begin()
    for _ in range(5):
        fleet.play(30)
        fleet.server.journal._saving and fleet.server.journal._saving.result()
    before = frozen(fleet.server.server)
    *_, newest = sorted((tmp_path / "durable").glob("state-*"))
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 4
    newest.write_bytes(content)
    fleet.boot()
    assert same(frozen(fleet.server.server), before)


def test_a_state_by_the_name_of_another_counts_as_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "REPLAY", 0.0)
    fleet = DurableFleet(plan_of(), tmp_path)
    fleet.begin()
    for _ in range(3):
        fleet.play(30)
        fleet.server.journal._spent = 1.0
        fleet.server.tick(fleet.now)
        fleet.server.journal._saving and fleet.server.journal._saving.result()
    before = frozen(fleet.server.server)
    older, newest = sorted((tmp_path / "durable").glob("state-*"))
    newest.write_bytes(older.read_bytes())
    fleet.boot()
    assert same(frozen(fleet.server.server), before)


def test_nothing_readable_is_an_error(tmp_path):
    fleet = DurableFleet(plan_of(), tmp_path)
    fleet.begin()
    fleet.play(10)
    for path in (tmp_path / "durable").iterdir():
        path.write_bytes(np.random.default_rng(0).bytes(1000))
    with pytest.raises(ValueError, match="no state and no inputs"):
        fleet.boot()


@pytest.mark.mostly_slow(quick=4)
@pytest.mark.parametrize("name", PLANS)
def test_a_push_that_came_back_with_the_state_has_its_bytes_once(name, tmp_path):
    """It crossed its link once, however often the server applies it."""
    fleet = DurableFleet(plan_of(durability=Durability(30.0), **PLANS[name]), tmp_path, seed=5)
    fleet.begin()
    fleet.server.tick(fleet.now)
    for node in "abcd":
        fleet.pull(node)
    models = dict(fleet.models)
    early, *late = models
    fleet.push(early)  # waits in the state, if pushes wait at all
    fleet.now += 31.0
    fleet.server.tick(fleet.now)
    fleet.server.journal._saving.result()
    for life in range(3):
        for node in late:  # each pushes anew, over a new connection
            fleet.models[node] = models[node]
            fleet.push(node)
        if life < 2:
            fleet.boot()
    updates = [r for r in read(tmp_path / "run.jsonl") if isinstance(r, UpdateRecord)]
    applied = {node: [r for r in updates if r.node == node] for node in "abcd"}
    assert sum(not r.again for r in applied[early]) <= 1
    assert not any(r.again for node in late for r in applied[node])
    again = [r for r in updates if r.again]
    assert not any(r.values or r.indices or r.headers or r.framing for r in again)
    assert bool(again) == (len(applied[early]) > 1)
    assert again or name not in ("softsync", "barrier", "local")


def push(world, ticket):
    """Let the server apply a push of `a` with the `ticket`."""
    (reply,) = world.pull("a")
    frames = StatelessEncoder(Dense(), LAYOUT).encode(np.ones(40, np.float32))
    world.server.receive(Update("a", reply[1].version, 0.5, 0.01, frames, ticket), 110.0)


@pytest.mark.parametrize(
    ("recoveries", "again"),
    [
        # the state has the push 1; the second push on record was lost
        ([({"a": 2}, 1)], [True, False, False]),
        # the push 2 waits in the second state, and no record has it
        ([({"a": 2}, 1), ({"b": 1}, 2)], [True, False, False]),
        # the pushes 1 and 2 still wait in the second state
        ([({"a": 2}, 2), ({"b": 1}, 2)], [True, True, False]),
        ([({"a": 1}, 2), ({"a": 2}, 2)], [True, True, False]),
    ],
)
def test_only_pushes_on_record_have_no_bytes_after_several_recoveries(recoveries, again):
    world = World()
    world.begin()
    for booked, last in recoveries:
        world.server.recover(booked, {"a": [last, [1]], "b": [9, [1]]})
    for ticket in (1, 2, 3):
        push(world, ticket)
    assert [record.get("again", False) for record in world.said("update")] == again


def test_a_left_over_of_one_recovery_does_not_count_in_the_next():
    world = World()
    world.begin()
    for ticket, booked in (1, {"a": 2}), (2, {"b": 1}), (3, {"b": 1}):
        world.server.recover(booked, {"a": [ticket, [1]], "b": [9, [1]]})
        push(world, ticket)
    assert [record.get("again", False) for record in world.said("update")] == [True, False, False]


@pytest.mark.parametrize("replay", [0.0, 1e9], ids=["states", "inputs"])
def test_unsent_answers_are_counted_once_over_crashes(replay, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "REPLAY", replay)
    fleet = DurableFleet(plan_of(), tmp_path)
    fleet.begin()
    lost = 0
    for node in ("a", "d") * 7:  # the answers to `d` have segments
        fleet.server.unsent(fleet.pull(node), fleet.now)
        lost += 1
        fleet.server.tick(fleet.now)
        if fleet.server.journal._saving:
            fleet.server.journal._saving.result()
        before = frozen(fleet.server.server)
        fleet.boot()
        assert same(frozen(fleet.server.server), before)
    fleet.server.end("canceled", fleet.now)
    records = [r for r in read(tmp_path / "run.jsonl") if isinstance(r, UnsentRecord)]
    assert sum(record.count for record in records) == lost
    assert sum(record.segments for record in records) > lost


def made(folder):
    folder.mkdir()
    return folder


CACHES = {"_lent", "_coded", "_rounded", "_patches", "_pieces", "_kept"}
"""Attributes that are made again from the state."""


def unsaid(fresh, played, path="server"):
    """Yield the attributes of `played`, and of the objects in it, that differ from those of a new
    object, and of which the state does not tell."""
    if not type(fresh).STATE:
        return
    for name, own in vars(fresh).items():
        later = getattr(played, name)
        if name in type(fresh).STATE:
            if isinstance(own, Stateful):
                yield from unsaid(own, later, f"{path}.{name}")
        elif name not in CACHES:
            with suppress(TypeError):
                if not same(packed(own), packed(later)):
                    yield f"{path}.{name}"


@pytest.mark.mostly_slow(quick=4)
@pytest.mark.parametrize("name", PLANS)
def test_whatever_changes_is_a_part_of_the_state(name, tmp_path):
    fleets = [DurableFleet(plan_of(**PLANS[name]), made(tmp_path / word), seed=4) for word in "ab"]
    fleets[1].begin()
    fleets[1].play(150)
    assert list(unsaid(*(fleet.server.server for fleet in fleets))) == []


def test_a_state_of_another_format_is_refused_and_stays(tmp_path, monkeypatch):
    """The version of emulate that wrote it can go on from it."""
    fleet = DurableFleet(plan_of(), tmp_path)
    fleet.begin()
    fleet.play(30)
    with monkeypatch.context() as earlier:
        earlier.setattr(state_folder, "FORMAT", 1)
        fleet.server._save(fleet.server.journal.number)
        fleet.server.journal.finish()
    before = frozen(fleet.server.server)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    with pytest.raises(ValueError, match=r"state of format 1, .* reads format 2"):
        fleet.boot()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == files
    monkeypatch.setattr(state_folder, "FORMAT", 1)
    fleet.boot()
    assert same(frozen(fleet.server.server), before)
