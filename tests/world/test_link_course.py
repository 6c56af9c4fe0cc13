"""The course of a link: its links over time, with steps and traces, and the bound for time-outs."""

from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.errors import MisplacedKeysError
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links import reshaping
from emulator.world.links.link import Link, Side
from emulator.world.links.link_course import (
    OUTAGE,
    _moment,
    link_at,
    link_course,
    silent_from,
    slowest,
)
from emulator.world.links.link_steps import LinkStep, PlayedTrace, TraceStart
from emulator.world.links.reshaping import reshaped

SAMPLES = "0 8000000 0.04 0.01, 1 4000000, 2 4000000, 3.5 0, end 4"
STEPS = (
    LinkStep(at=Seconds(10), rate=Rate(1e6)),
    LinkStep(at=Seconds(20), delay=Seconds(0.2), loss=Fraction(0.1)),
    LinkStep(at=Seconds(30), delay=Seconds(0.2), loss=Fraction(0.1)),
)
OWN = Side(rate=Rate(5e6), delay=Seconds(0.02), jitter=Seconds(0.01))


def stepped(**keys: object) -> Link:
    return Link(up=Side(rate=Rate(5e6), steps=STEPS, **keys))  # type: ignore[arg-type]


def traced(side: Side = OWN, **keys: object) -> Link:
    trace = PlayedTrace(samples=SAMPLES, **keys)  # type: ignore[arg-type]
    return Link(down=Side(side.rate, side.delay, side.jitter, trace=trace))


def told(link: Link, rows: int, draw: float = 0.0, since: float = 0.0) -> list[str]:
    """Return the first changes of `link` as text."""
    lines = []
    for at, now in islice(link_course(link, draw, since), rows):
        assert not now.changes
        sides = [f"{s.rate} {s.delay} ±{s.jitter} {s.loss}" for s in (now.up, now.down) if s.shaped]
        lines.append(f"{at:g}: {', '.join(sides)}")
    return lines


def test_steps_name_what_they_change() -> None:
    """The step at 30 s changes nothing, and is left out."""
    assert told(stepped(), 9) == [
        "0: 5mbit 0s ±0s 0%",
        "10: 1mbit 0s ±0s 0%",
        "20: 5mbit 200ms ±0s 10%",
    ]
    assert told(stepped(), 9, since=15) == ["15: 1mbit 0s ±0s 0%", "20: 5mbit 200ms ±0s 10%"]
    assert told(stepped(), 9, since=20) == ["20: 5mbit 200ms ±0s 10%"]


def test_a_step_at_the_begin_takes_the_place_of_the_own_keys() -> None:
    side = Side(rate=Rate(5e6), steps=(LinkStep(at=Seconds(0), rate=Rate(1e6)),))
    assert told(Link(up=side), 9) == ["0: 1mbit 0s ±0s 0%"]


def test_a_trace_begins_anew() -> None:
    """What a sample does not know are the side's own keys; an outage is the slowest rate."""
    assert told(traced(), 5) == [
        "0: 8mbit 40ms ±10ms 1%",
        "1: 4mbit 20ms ±10ms 0%",
        "3.5: 100bit 20ms ±10ms 0%",
        "4: 8mbit 40ms ±10ms 1%",
        "5: 4mbit 20ms ±10ms 0%",
    ]


def test_a_trace_that_ends_keeps_its_last_values() -> None:
    assert told(traced(loop=False), 9)[-1] == "3.5: 100bit 20ms ±10ms 0%"


def test_a_trace_starts_within_and_is_scaled() -> None:
    link = traced(start=TraceStart(3), scale=0.5)
    assert told(link, 3) == [
        "0: 2mbit 20ms ±10ms 0%",
        "0.5: 100bit 20ms ±10ms 0%",
        "1: 4mbit 40ms ±10ms 1%",
    ]


def test_a_random_start_is_drawn() -> None:
    link = traced(start=TraceStart.parse("random"))
    assert told(link, 2, draw=0.75) == told(traced(start=TraceStart(3)), 2)


def test_both_sides_change_at_once() -> None:
    trace = PlayedTrace(samples=SAMPLES)
    link = Link(Side(trace=trace), Side(rate=Rate(1e6), trace=trace))
    times = [at for at, _ in islice(link_course(link), 4)]
    assert times == [0, 1, 3.5, 4]


def test_a_constant_trace_changes_nothing() -> None:
    link = Link(up=Side(trace=PlayedTrace(samples="0 12000000, end 0.001")))
    assert [(at, now.up.rate) for at, now in link_course(link)] == [(0, 12e6)]


def test_a_link_without_changes_has_one_moment() -> None:
    link = Link(OWN, Side())
    assert list(link_course(link, since=7)) == [(7, link)]
    assert slowest(link) is link


def test_a_delay_below_the_jitter_cuts_the_jitter() -> None:
    samples = "0 1000000 0.005, 1 1000000 0, end 2"
    side = Side(delay=Seconds(0.02), jitter=Seconds(0.01), reorder=Fraction(0.1))
    side = Side(**{**vars(side), "trace": PlayedTrace(samples=samples)})
    first, second = (now.up for _, now in islice(link_course(Link(up=side)), 2))
    assert (first.jitter, first.reorder) == (0.005, 0.1)
    assert (second.jitter, second.reorder) == (0, 0)


@pytest.mark.slow
@given(st.floats(0, 50).map(lambda at: round(at, 6)), st.floats(0, 0.999), st.booleans())
def test_the_course_from_later_is_the_rest_of_the_course(
    since: float, draw: float, loop: bool
) -> None:
    link = traced(loop=loop, start=TraceStart.parse("random"))
    whole = list(islice(link_course(link, draw), 60))
    begun = [(at, now) for at, now in whole if at <= since + 1e-6]
    later = [(at, now) for at, now in whole if at > since + 1e-6]
    first, *rest = islice(link_course(link, draw, since), len(later) + 1)
    assert first == (since, begun[-1][1])
    assert [now for _, now in rest] == [now for _, now in later]
    assert [at for at, _ in rest] == pytest.approx([at for at, _ in later], abs=2e-6)
    assert all(before[1] != after[1] for before, after in pairwise(whole))


@pytest.mark.slow
@given(
    st.floats(0.01, 1),
    st.floats(0, 5).map(lambda value: round(value, 3)),
    st.floats(0, 1).map(lambda value: round(value, 3)),
)
def test_a_fault_changes_the_link_of_the_moment(rate: float, delay: float, loss: float) -> None:
    setting = {"rate": rate, "delay": delay, "loss": loss}
    for _, now in islice(link_course(traced()), 4):
        struck = reshaped(now, setting).down
        assert struck.rate == now.down.rate * rate
        assert struck.delay == pytest.approx(now.down.delay + delay)
        assert 1 - struck.loss == pytest.approx((1 - now.down.loss) * (1 - loss))


@pytest.mark.parametrize("link", [stepped(), traced(start=TraceStart(1)), traced(loop=False)])
def test_a_changing_link_survives_json(link: Link) -> None:
    again = reshaping.read(reshaping.plain(link))
    assert list(islice(link_course(again), 20)) == list(islice(link_course(link), 20))


RATES = st.lists(st.sampled_from([0, 1000, 10**6, 10**7]), min_size=1, max_size=8).filter(any)


@pytest.mark.slow
@given(RATES, st.booleans(), st.floats(0, 20), st.floats(1, 1e8))
def test_no_transfer_is_slower_than_on_the_slowest_link(
    rates: list[int], loop: bool, since: float, bits: float
) -> None:
    if not loop and not rates[-1]:
        return
    text = ", ".join([*(f"{at} {rate}" for at, rate in enumerate(rates)), f"end {len(rates)}"])
    side = Side(trace=PlayedTrace(samples=text, loop=loop))
    bound = slowest(Link(up=side)).up
    assert bound.rate is not None
    assert not bound.changes
    left, at = bits, since
    for before, after in pairwise(link_course(Link(up=side), 0.0, since)):
        carried = (before[1].up.rate or 0.0) * (after[0] - before[0])
        if carried >= left or after[0] > since + 2000:
            break
        left, at = left - carried, after[0]
    now = link_at(Link(up=side), 0.0, at).up.rate
    assert now is not None
    if now > OUTAGE:
        assert at + left / now - since <= (bound.setup + bits / bound.rate) * (1 + 1e-6) + 1e-6


def test_a_step_that_does_not_fit() -> None:
    steps = (
        LinkStep(at=Seconds(5), jitter=Seconds(1)),
        LinkStep(at=Seconds(5), rate=Rate(1e6)),
    )
    with pytest.raises(MisplacedKeysError) as refused:
        Side(steps=steps)
    assert [key for key, _ in refused.value.conflicts] == [("steps", 1, "at"), ("steps", 0)]


def test_traces_of_many_devices_are_each_looked_through_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bound is found once, not again for each device or caller; from the end on, and only as far
    as it takes to see whether the link carries at last."""
    made = 0

    def moment(*args: Any) -> Side:
        nonlocal made
        made += 1
        return _moment(*args)

    monkeypatch.setattr("emulator.world.links.link_course._moment", moment)
    links = [
        traced(Side(Rate(rate), Seconds(0.02)), loop=False, start=TraceStart.parse("random"))
        for rate in range(5_000_000, 5_000_300)
    ]
    for number in range(600):
        draw = number / 600  # of another device each time
        assert silent_from(links[number % 300], draw=draw) == max(0.0, 3.5 - 4 * draw)
    assert made == 300 * 2
    for link in links * 2:
        slowest(link)
    assert made == 300 * (2 + 4)


def test_a_loop_has_no_moment_at_its_end() -> None:
    """A mahimahi file ends at its last packet, here soon after a full second."""
    trace = PlayedTrace(samples="0 1000000, 1 2000000, 2 19000000, end 2.0625")
    assert told(Link(up=Side(trace=trace)), 4) == [
        "0: 1mbit 0s ±0s 0%",
        "1: 3mbit 0s ±0s 0%",
        "2.0625: 1mbit 0s ±0s 0%",
        "3.0625: 3mbit 0s ±0s 0%",
    ]
    once = PlayedTrace(samples="0 1000000, 2 2000000, end 2.0625", loop=False)
    assert told(Link(up=Side(trace=once)), 4)[-1] == "2: 2mbit 0s ±0s 0%"
