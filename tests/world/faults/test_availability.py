"""Devices that come and go: by laws, and as traces say, worked out by hand."""

import math
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

from emulator.units import Seconds
from emulator.world.faults import FAULTS, Interval
from emulator.world.faults.on_off_trace import OnOffTrace
from emulator.world.laws import Fixed

DAY = "on 0, off 10, on 30, off 50, end 60"
WHOLE_RUN = Interval(0.0, math.inf)


def first(number: int, spans: Iterator[tuple[float, float]]) -> list[tuple[float, float]]:
    return [tuple(span) for span in islice(spans, number)]  # type: ignore[misc]


def test_a_trace_begins_anew() -> None:
    trace = OnOffTrace.parse(DAY)
    assert trace == OnOffTrace(60, ((10, 30), (50, 60)))
    assert first(4, trace.times_off(0)) == [(10, 30), (50, 60), (70, 90), (110, 120)]


def test_a_trace_may_begin_anywhere_in_it_and_run_faster() -> None:
    trace = OnOffTrace.parse(DAY)
    assert first(3, trace.times_off(20)) == [(-10, 10), (30, 40), (50, 70)]
    assert first(2, trace.times_off(45 + 600, speed=10)) == [(0.5, 1.5), (2.5, 4.5)]


def test_a_time_off_over_the_end_is_one() -> None:
    trace = OnOffTrace.parse("off 0, on 5, off 50, end 60")
    assert trace.off == ((50, 65),)
    assert first(3, trace.times_off(0)) == [(-10, 5), (50, 65), (110, 125)]


def test_before_the_first_step_a_device_is_as_after_the_last() -> None:
    """As FedScale reads it: inactive before the first active time."""
    assert OnOffTrace.parse("on 10, off 30, end 60").off == ((30, 70),)


def test_steps_that_repeat_and_an_end_without_the_word() -> None:
    assert OnOffTrace.parse("on 0, on 5, off 10, off 20, on 30") == OnOffTrace(30, ((10, 30),))
    assert OnOffTrace.parse("on 0, end 5") == OnOffTrace(5, ())
    assert first(3, OnOffTrace.parse("on 0, end 5").times_off(3)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("on 0, of 5, end 9", "step 2 of the trace, 'of 5': 'of' is not on, off or end"),
        ("on 0, off 5, on 5, end 9", "step 3 .*: 5 s does not follow 5 s"),
        ("on 0, off 5", "step 2 .*begins with on: add the time at which it begins anew"),
        ("off 0, end 5", "never on"),
        ("on 0, end 5, off 6", "step 2 .*steps follow the end"),
        ("on -1, end 5", "-1.0 is no time"),
        ("on nan, end 5", "nan is no time"),
        ("on, end 5", "'on': is not as `off 3600`"),
        ("on 0", "a step and an end at least"),
        ("end 0", "a step and an end at least"),
    ],
)
def test_a_trace_that_does_not_fit_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OnOffTrace.parse(text)


def test_churn_goes_on_and_off_in_turns_and_begins_on() -> None:
    churn = FAULTS["churn"](on=Fixed(Seconds(7)), off=Fixed(Seconds(3)))  # type: ignore[call-arg]
    spans = churn.episodes(WHOLE_RUN, Random(1))  # type: ignore[attr-defined]
    assert first(3, spans) == [(7, 10), (17, 20), (27, 30)]
    within = churn.episodes(Interval(100, 118), Random(1))  # type: ignore[attr-defined]
    assert list(within) == [(107, 110), (117, 118)]


def test_each_device_begins_its_trace_at_a_time_of_its_own() -> None:
    make = FAULTS["availability"]
    drawn = make(trace=(DAY,))  # type: ignore[call-arg]

    def starts(fault: object) -> set[float]:
        streams = (fault.episodes(WHOLE_RUN, Random(f"7/{n}")) for n in range(20))  # type: ignore[attr-defined]
        return {next(spans).end for spans in streams}

    assert len(starts(drawn)) == 20
    assert starts(make(trace=(DAY,), start=Seconds(20))) == {10.0}  # type: ignore[call-arg]
    ends = starts(make(trace=(DAY, "on 0, off 3, on 5, end 7"), start=Seconds(0)))  # type: ignore[call-arg]
    assert ends == {30.0, 5.0}
    again = drawn.episodes(WHOLE_RUN, Random("7/3"))  # type: ignore[attr-defined]
    assert next(again) == next(drawn.episodes(WHOLE_RUN, Random("7/3")))  # type: ignore[attr-defined]


def test_an_availability_within_a_span_of_the_run() -> None:
    fault = FAULTS["availability"](trace=(DAY,), start=Seconds(20))  # type: ignore[call-arg]
    spans = fault.episodes(Interval(100, 155), Random(1))  # type: ignore[attr-defined]
    assert list(spans) == [(100, 110), (130, 140), (150, 155)]
