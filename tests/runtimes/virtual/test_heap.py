"""The virtual heap: events come in the order of time, and then as they were planned."""

import math
from collections.abc import Callable, Iterator
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.runtimes.virtual import clock as module
from emulator.runtimes.virtual.clock import Heap

# ties, the past, the next instant, far away, and never
DELAYS = st.one_of(
    st.sampled_from([-1.0, 0.0, 5e-324, 1e-9, 1.0, 1e300, math.inf]),
    st.floats(0, 10),
    st.floats(0, 1e-6),
)


@pytest.fixture(autouse=True, params=[(4, 2), (16, 4)])
def few_are_near(request: pytest.FixtureRequest) -> Iterator[None]:
    most, share = request.param
    with patch.object(module, "LARGEST_HEAP", most), patch.object(module, "BUCKET", share):
        yield


class Naive:
    """The same by a search through all planned events."""

    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Callable[[int], None]]] = []
        self._number = 0

    def at(self, when: float, call: Callable[[int], None], number: int) -> None:
        self._number += 1
        self._planned.append((when, self._number, lambda _: call(number)))

    def run(self, until: float, most: int) -> None:
        while self._planned and min(self._planned)[0] <= until and most:
            most -= 1
            event = min(self._planned)
            self._planned.remove(event)
            self.now = max(self.now, event[0])
            event[2](0)
        if most and until < math.inf:
            self.now = max(self.now, until)


def play(heap: Heap | Naive, delays: list[float], each: int) -> list[tuple[int, float]]:
    """Return events and times; an event plans `each` more, as long as `delays` last."""
    happened: list[tuple[int, float]] = []
    coming = iter(enumerate(delays))

    def happen(number: int) -> None:
        happened.append((number, heap.now))
        for number, delay in [next(coming, (0, None)) for _ in range(each)]:
            if delay is not None:
                heap.at(heap.now + delay, happen, number)

    for number in range(-20, 0):
        heap.at(number % 7, happen, number)
    heap.run(3.0, 11)
    heap.run(3.0, 10**6)
    heap.run(math.inf, 10**6)
    return happened


@given(st.lists(DELAYS, max_size=120), st.integers(1, 4))
def test_events_come_in_order(delays: list[float], each: int) -> None:
    assert play(Heap(), delays, each) == play(Naive(), delays, each)


def test_a_great_many_at_one_instant_come_as_they_were_planned() -> None:
    heap, order, tries = Heap(), list[int](), 0
    spread = Heap._spread

    def counted(self: Heap) -> None:
        nonlocal tries
        tries += 1
        spread(self)

    with patch.object(Heap, "_spread", counted):
        for number in range(1000):
            heap.at(1.0, order.append, number)
        assert heap.run(math.inf, 10**6)
    assert tries < 10  # each looks at all of them
    assert order == list(range(1000))


def test_a_fleet_that_starts_is_played_from_a_sorted_list() -> None:
    """All at one time, then all at another: a heap of a million costs cache misses, not levels."""
    heap, most = Heap(), 0

    def go(waves: int) -> None:
        nonlocal most
        most = max(most, len(heap._near))
        if waves:
            heap.at(heap.now + 1.0, go, waves - 1)

    for _ in range(1000):
        heap.at(1.0, go, 3)
    assert heap.run(math.inf, 10**6)
    assert heap.planned == 4000
    # at first half of the events wait behind the sorted list that the last spread made
    assert most <= 512


def test_a_fleet_that_plans_as_it_goes_is_kept_in_order() -> None:
    """Long enough for buckets within buckets, and for later events in the last bucket."""
    heap, seen, dice, most = Heap(), list[float](), Random(1), 0

    def go() -> None:
        nonlocal most
        seen.append(heap.now)
        most = max(most, len(heap._rungs))
        if len(seen) < 5000:
            heap.at(heap.now + dice.expovariate(1.0) ** 4, go)

    for _ in range(1000):
        heap.at(dice.random(), go)
    assert heap.run(math.inf, 10**6)
    assert len(seen) == 5999
    assert seen == sorted(seen)
    assert most > 1
    assert heap.planned == len(seen)
