"""What the step of a stale gradient is divided by, against the definition."""

from contextlib import ExitStack
from typing import TypeAlias
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import modulation
from emulator.core.server.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.modulation import AnyModulation, PerParameter, Staleness, history
from emulator.modulation.history import History
from emulator.vectors import Gradient, Indices, Vector
from tests.modulation.modulation_table import TABLE

SIZE = 30
LAYOUT = Layout((Variable("v", (SIZE,), "dense", 0),))


def narrow(entries: int, updates: int) -> ExitStack:
    """Histories with segments so small and few that a short test drops many segments."""
    stack = ExitStack()
    stack.enter_context(patch.object(history, "_SPARE", 0))
    stack.enter_context(patch.object(history, "_LEAST", entries))
    stack.enter_context(patch.object(history, "_UPDATES", updates))
    return stack


def ascending(*indices: int) -> Indices:
    return np.array(sorted(indices), np.uint32)


# -- against the definition ------------------------------------------------------------------------


class Naive:
    """The server as the paper writes it (algorithm of section A.2): counts and their snapshots."""

    def __init__(self, kind: str, rate: float) -> None:
        self.kind = kind
        self.rate = np.float32(rate)
        self.theta = np.zeros(SIZE, np.float32)
        self.count = np.zeros(SIZE, int)
        self.pulled: dict[int, tuple[int, Vector]] = {}
        self.version = 0

    def pull(self, worker: int) -> None:
        self.pulled[worker] = (self.version, self.count.copy())

    def push(self, worker: int, gradient: Gradient) -> list[int]:
        version, count = self.pulled[worker]
        whole = range(SIZE) if gradient.indices is None else gradient.indices.tolist()
        divisors = []
        for k, x in zip(whole, gradient.values, strict=True):
            stale = {
                "constant": 1,
                "staleness": self.version - version,
                "per-parameter": self.count[k] - count[k],
            }[self.kind]
            divisors.append(max(1, int(stale)))
            self.theta[k] -= self.rate / np.float32(divisors[-1]) * x
            self.count[k] += 1
        self.version += 1
        return divisors


Event: TypeAlias = tuple[int, set[int] | None, bool]
"""A worker pushes what touches these parameters (None: all, dense); then perhaps all forget."""

UPDATES = st.one_of(
    st.none(),
    st.sets(st.integers(0, SIZE - 1), max_size=6),
    st.sets(st.integers(0, SIZE - 1), max_size=SIZE),
    st.just(set(range(SIZE))),  # every parameter, one by one
)
EVENTS = st.lists(st.tuples(st.integers(0, 4), UPDATES, st.booleans()), max_size=60)


def compare(policy: AnyModulation, events: list[Event], draws: np.random.Generator) -> None:
    """The fast server does, bit for bit, what the naive one does."""
    naive = Naive(policy.kind, 0.1)
    fast = Parameters(np.zeros(SIZE, np.float32), 0.1, policy.start(LAYOUT))
    for worker in range(5):
        naive.pull(worker)
    for worker, touched, tell in events:
        indices = None if touched is None else ascending(*touched)
        values = draws.standard_normal(SIZE if indices is None else indices.size)
        gradient = Gradient(values.astype(np.float32), indices)
        version = naive.pulled[worker][0]
        expected = naive.push(worker, gradient)
        (mean,) = fast.apply([(gradient, version)])
        if expected:
            assert mean == pytest.approx(np.mean(expected), rel=1e-6)
        assert np.array_equal(fast.theta, naive.theta)
        assert fast.version == naive.version
        naive.pull(worker)
        needed = sorted({version for version, _ in naive.pulled.values()})
        if tell:
            fast.forget(needed[0], needed)
        assert fast.oldest <= needed[0]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("policy", TABLE)
@given(
    events=EVENTS,
    seed=st.integers(0, 99),
    entries=st.sampled_from([1, 8, 20, 4096]),
    updates=st.sampled_from([1, 4, 1024]),
)
@settings(max_examples=60, deadline=None)
def test_the_fast_server_is_the_naive_one(
    policy: AnyModulation, events: list[Event], seed: int, entries: int, updates: int
) -> None:
    with narrow(entries, updates):
        compare(policy, events, np.random.default_rng(seed))


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("policy", TABLE)
@pytest.mark.parametrize("entries, updates", [(1, 1024), (8, 4), (20, 1024), (4096, 1024)])
def test_so_it_is_over_a_long_run(policy: AnyModulation, entries: int, updates: int) -> None:
    draws = np.random.default_rng(entries)
    most = draws.choice([0, 3, 12, SIZE], 400)
    touched = [set(draws.integers(0, SIZE, size).tolist()) for size in most]
    events: list[Event] = [
        (int(draws.integers(5)), None if draws.random() < 0.1 else some, draws.random() < 0.3)
        for some in touched
    ]
    with narrow(entries, updates):
        compare(policy, events, draws)


@pytest.mark.slow
@given(events=EVENTS, entries=st.sampled_from([1, 8, 20]))
@settings(max_examples=60, deadline=None)
def test_no_parameter_is_staler_than_the_whole(events: list[Event], entries: int) -> None:
    with narrow(entries, updates=4):
        per_parameter, whole = PerParameter().start(LAYOUT), Staleness().start(LAYOUT)
        for now, (back, touched, _) in enumerate(events):
            indices = None if touched is None else ascending(*touched)
            gradient = Gradient(np.ones(SIZE if indices is None else indices.size, "f4"), indices)
            version = max(per_parameter.oldest, now - 9 * back)
            mine, theirs = (m.divisor(gradient, version) for m in (per_parameter, whole))
            assert (mine <= theirs).all() and np.min(mine, initial=1) >= 1
            assert np.asarray(mine).dtype == np.asarray(theirs).dtype == np.float32
            for modulator in (per_parameter, whole):
                modulator.applied([gradient])


@pytest.mark.parametrize("policy", TABLE)
def test_travels_as_plain_data(policy: AnyModulation) -> None:
    assert modulation.make(modulation.plain(policy)) == policy


def test_by_hand() -> None:
    modulator = PerParameter().start(LAYOUT)
    for touched in (ascending(1, 2), None, ascending(2), ascending()):
        values = np.ones(SIZE if touched is None else touched.size, np.float32)
        modulator.applied([Gradient(values, touched)])
    mine = Gradient(np.ones(3, np.float32), ascending(1, 2, 3))
    assert [np.broadcast_to(modulator.divisor(mine, v), 3).tolist() for v in range(5)] == [
        [2, 3, 1],
        [1, 2, 1],
        [1, 1, 1],
        [1, 1, 1],
        [1, 1, 1],
    ]


# -- the history's bounds --------------------------------------------------------------------------


@pytest.mark.parametrize("version", [-1, 3])
def test_a_version_that_never_was_is_refused(version: int) -> None:
    past = History(SIZE)
    past.record(ascending(1))
    past.record(None)
    with pytest.raises(ValueError, match=f"version {version} is not in 0 … 2"):
        past.since(version, ascending(1))


def test_what_is_forgotten_is_refused_and_its_memory_given_back() -> None:
    with narrow(entries=8, updates=1024):
        past = History(SIZE)
        for _ in range(1000):
            past.record(ascending(1, 2, 3))
        assert len(past._segments) > 300
        assert past.oldest == 0
        past.forget(990)
        assert 985 <= past.oldest <= 990
        assert len(past._segments) < 10
        assert list(past.since(990, ascending(2, 4))) == [10, 0]
        with pytest.raises(ValueError):
            past.since(900, ascending(2))


def test_a_silent_device_costs_one_segment() -> None:
    """However long the others go on; and its late update is divided as it should be."""
    dead = 7  # the version that it holds
    with narrow(entries=8, updates=1024):
        past, plain = History(SIZE), np.zeros(SIZE, int)
        touched = [ascending(number % SIZE, (number * number) % 7) for number in range(1000)]
        for now, some in enumerate(touched, 1):
            past.record(np.unique(some))
            plain[np.unique(some)] += now > dead
            if now > dead:
                past.forget(dead, [dead, now - 1, now])
        assert len(past._segments) <= 5
        assert list(past.since(dead, None)) == plain.tolist()
        with pytest.raises(ValueError, match="version 500 was forgotten"):
            past.since(500, None)


def test_no_history_is_larger_than_its_bound() -> None:
    """Of six devices one is dead, and some are slow."""
    dice, size, largest = np.random.default_rng(3), 40_000, 0
    past, held = History(size), dict.fromkeys(range(6), 0)
    for now in range(1, 600):
        entries = int(dice.integers(1, 9000))
        past.record(np.sort(dice.choice(size, entries, replace=False)).astype(np.uint32))
        held[int(dice.choice(6, p=[0, 0.01, 0.04, 0.15, 0.4, 0.4]))] = now
        past.forget(min(held.values()), sorted(set(held.values())))
        kept = sum(segment.nbytes for segment in past._segments)
        largest = max(largest, kept + past._tally.nbytes + past._slots.nbytes)
    assert past.oldest == 0
    assert history.bound(size, 7) / 2 < largest <= history.bound(size, 7)


@pytest.mark.parametrize(
    ("touched", "known"),
    [
        (ascending(*range(20)), 31),  # a tally each, 60 bytes: 31 and the open segment, of 92
        (ascending(*range(3)), 20 * 2 + 1),  # 21 segments of 92 bytes, two updates each
        (None, 30 * 8 + 4 + 3),  # joined there is no log: 30 tallies, eight updates each
    ],
)
def test_memory_is_bounded_though_nobody_forgets(touched: Indices | None, known: int) -> None:
    with narrow(entries=8, updates=4), patch.object(history, "MEMORY", 2000):
        past = History(SIZE)
        for now in range(1, 400):
            past.record(touched)
            asked = max(past.oldest, now - 3)
            counts = np.broadcast_to(past.since(asked, ascending(0, 29)), 2)
            assert counts.tolist() == [now - asked, now - asked if touched is None else 0]
        kept = sum(segment.tally.nbytes + segment.log.nbytes for segment in past._segments)
        assert kept <= 2000
        assert now - past.oldest == known  # and no less than there is room for


def test_what_is_joined_for_want_of_memory_is_still_exact() -> None:
    dice = np.random.default_rng(5)
    with narrow(entries=8, updates=4), patch.object(history, "MEMORY", 6000):
        past, updates = History(SIZE), []
        past._log_limit = 32
        for now in range(1, 300):
            updates.append(np.sort(dice.choice(SIZE, 3, replace=False)).astype(np.uint32))
            past.record(updates[-1])
            for asked in {past.oldest, (past.oldest + now) // 2, now}:
                expected = np.bincount(np.concatenate([[0], *updates[asked:]]), minlength=SIZE)
                expected[0] -= 1
                result = past.since(asked, ascending(*range(SIZE)))
                assert np.array_equal(np.broadcast_to(result, SIZE), expected)
        each = past._segments[-1].nbytes
        assert now - past.oldest > 1.5 * 2 * 6000 / each  # two updates fit into a segment


def test_large_updates_are_not_logged() -> None:
    past = History(100_000)
    for _ in range(50):
        past.record(np.arange(40_000, dtype=np.uint32))
        past.record(np.arange(100_000, dtype=np.uint32))
    assert list(past.since(1, ascending(3, 50_000))) == [99, 50]
    logs = [segment.log.nbytes for segment in past._segments]
    assert len(logs) < 102 and sum(map(bool, logs)) < 52


@pytest.mark.parametrize("touched", [None, ascending(*range(SIZE))])
def test_updates_of_everything_are_only_counted(touched: Indices | None) -> None:
    with narrow(entries=8, updates=1024):
        past = History(SIZE)
        for _ in range(1000):
            past.record(touched)
        assert past.since(990, ascending(2)) == 10
        assert len(past._segments) == 1


@pytest.mark.slow
def test_tallies_wrap_without_harm() -> None:
    past = History(SIZE)
    often, once = ascending(3), ascending(3, 5)
    for _ in range(70_000):
        past.record(often)
    assert 0 < past.oldest <= 70_000 - 60_000
    past.record(once)
    assert list(past.since(past.oldest, once)) == [70_001 - past.oldest, 1]


@pytest.mark.slow
def test_no_version_that_a_history_answers_for_reads_as_fresh() -> None:
    """Tallies are 16 bits wide: 65,536 updates behind would read as none."""
    past = History(SIZE)
    mine = ascending(3)
    for now in range(1, (1 << 16) + 2 * 1024):
        past.record(mine)
        if now - past.oldest >= 1 << 16 or now % 1024 < 2:
            assert list(past.since(past.oldest, mine)) == [now - past.oldest]


def test_a_dense_gradient_asks_about_every_parameter() -> None:
    with narrow(entries=8, updates=4):
        past = History(4)
        assert past.since(0, None) == 0
        for touched in (ascending(0), ascending(1, 2, 3), None, ascending(0, 2)):
            past.record(touched)
        assert np.broadcast_to(past.since(0, None), 4).tolist() == [3, 2, 3, 2]
        assert np.broadcast_to(past.since(2, None), 4).tolist() == [2, 1, 2, 1]
