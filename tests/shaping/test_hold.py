"""Messages held at the receiver, where the kernel delays no packets."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.shaping.hold import Hold
from emulator.units import Seconds

GAPS = st.lists(st.floats(0, 0.2), min_size=1, max_size=40)


def _released(hold: Hold[int], arrivals: list[float]) -> list[tuple[int, float]]:
    """Each message and when it came out of a line that is looked at exactly when it says."""
    out = []
    for number, at in enumerate([*arrivals, float("inf")]):
        while (due := hold.deadline()) is not None and due <= at:
            batch = hold.release(due)
            assert batch, "nothing was due at the deadline"
            out += [(item, due) for item in batch]
        if at != float("inf"):
            hold.take(number, at)
    return out


@settings(max_examples=60)
@given(GAPS, st.floats(0, 0.3), st.floats(0, 1), st.integers())
def test_none_is_lost_none_overtakes_none_is_early(
    gaps: list[float], delay: float, part: float, seed: int
) -> None:
    jitter = delay * part
    hold: Hold[int] = Hold(Seconds(delay), Seconds(jitter), Random(seed))
    arrivals = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    out = _released(hold, arrivals)
    assert [number for number, _ in out] == list(range(len(gaps)))
    times = [at for _, at in out]
    assert times == sorted(times)
    for (number, at), before in zip(out, [0.0, *times], strict=False):
        own = at - arrivals[number]
        assert own >= max(0.0, delay - 4 * jitter) - 1e-9
        assert own <= delay + 4 * jitter + 1e-9 or at == before


def test_without_jitter_the_delay_is_exact_and_draws_nothing() -> None:
    rng = Random(1)
    state = rng.getstate()
    hold: Hold[int] = Hold(Seconds(0.08), Seconds(0), rng)
    assert hold.deadline() is None
    assert [at for _, at in _released(hold, [1.0, 1.5])] == [1.08, 1.58]
    assert rng.getstate() == state


def test_the_jitter_is_normal_around_the_delay() -> None:
    hold: Hold[int] = Hold(Seconds(0.1), Seconds(0.01), Random(7))
    arrivals = [float(second) for second in range(4000)]
    waits = [at - arrivals[number] for number, at in _released(hold, arrivals)]
    mean = sum(waits) / len(waits)
    deviation = (sum((wait - mean) ** 2 for wait in waits) / len(waits)) ** 0.5
    assert mean == pytest.approx(0.1, abs=0.001)
    assert deviation == pytest.approx(0.01, rel=0.06)


def test_the_same_seed_holds_alike() -> None:
    runs = [
        _released(Hold(Seconds(0.1), Seconds(0.05), Random("7/adsl-0")), [0.0, 0.01, 0.5])
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


# -- set-up ----------------------------------------------------------------------------------------

RATE = 1e6
"""Bytes per second of the link below."""


def _linked(setup: float, delay: float = 0.0) -> Hold[int]:
    return Hold(Seconds(delay), Seconds(0), Random(1), setup=setup, pace=1 / RATE)


def _model(sent: list[float], sizes: list[int], setup: float) -> tuple[list[float], list[float]]:
    """When messages sent at the times `sent` arrive over the link without and with set-up."""
    ends = []
    for extra in (0.0, setup):
        free, out = 0.0, []
        for at, size in zip(sent, sizes, strict=True):
            free = max(free, at) + extra + size / RATE
            out.append(free)
        ends.append(out)
    return ends[0], ends[1]


MESSAGES = st.lists(st.tuples(st.floats(0, 0.3), st.integers(1, 300_000)), min_size=1, max_size=30)


@pytest.mark.slow
@settings(max_examples=200)
@given(MESSAGES, st.floats(1e-4, 0.2), st.floats(0, 0.1))
def test_set_up_is_exact_for_idle_links_and_for_queues(
    messages: list[tuple[float, int]], setup: float, delay: float
) -> None:
    sizes = [size for _, size in messages]
    sent = [sum(gap for gap, _ in messages[: i + 1]) for i in range(len(messages))]
    arrived, expected = _model(sent, sizes, setup)
    hold = _linked(setup, delay)
    out = []
    for number, at in enumerate(arrived):
        hold.take(number, at, sizes[number])
    while (due := hold.deadline()) is not None:
        hold.release(due)
        out.append(due)
    assert sorted(set(out)) == out
    assert out == pytest.approx([end + delay for end in expected], abs=1e-9)


def test_set_up_is_exact_for_the_first_messages_alone_of_devices_that_share_a_link() -> None:
    """Two equal devices send three messages each over a link that halves the rate of both: as long
    as 1 MB over 100 mbit."""
    setup, size = 0.05, 80_000
    alone = size / RATE
    hold = _linked(setup)
    for number in range(3):  # without set-ups, both devices send all the time
        hold.take(number, (number + 1) * 2 * alone, size)
    out = [held.due for held in hold._line]
    # with set-ups, both devices are in a set-up or in a message at the same time
    exact = [(number + 1) * (setup + 2 * alone) for number in range(3)]
    assert out[0] == pytest.approx(exact[0])
    # docs/why.md names the difference: 530 ms in place of 630 ms
    assert out[-1] == pytest.approx(0.53)
    assert exact[-1] == pytest.approx(0.63)


def test_messages_found_late_count_from_their_arrival() -> None:
    """Two pieces arrived behind a first one while the node computed for 100 ms."""
    hold = _linked(0.01)
    hold.take(1, 1.005, 5000)  # waited for: its bits took 5 ms
    for number in (2, 3):
        hold.take(number, 1.105, 5000, after=1.004)
    dues = []
    while (due := hold.deadline()) is not None:
        dues.append(due)
        hold.release(due)
    assert dues == pytest.approx([1.015, 1.030, 1.045])


def test_a_message_found_late_did_not_come_before_the_last_look() -> None:
    hold = _linked(0.01)
    hold.take(1, 1.005, 5000)
    hold.take(2, 3.0, 5000, after=2.0)
    assert hold.release(2.009) == [1]
    assert hold.deadline() == pytest.approx(2.01)


def test_a_boot_loses_messages_that_were_still_on_the_old_link() -> None:
    hold = _linked(0.1, delay=1.0)
    for number in (1, 2, 3):
        hold.take(number, 1.0, 0)  # they leave the emulated link at 1.1, 1.2 and 1.3
    hold.renew(1.25)
    hold.take(4, 1.25, 0)
    assert hold.release(2.3) == [1, 2]
    assert hold.deadline() == pytest.approx(2.35)
    assert hold.release(2.4) == [4]
