"""A direction of the box over a clock of the test: order, delay, rate, loss and counts."""

import struct
from dataclasses import replace
from itertools import pairwise
from random import Random
from statistics import correlation, fmean, stdev
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.shaping import tc
from emulator.shaping.box.direction import MOST_ROOM, UNRATED_ROOM, Direction, room
from emulator.shaping.box.token_bucket import WHOLE
from emulator.shaping.playable_link import dilated_side
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Side
from emulator.world.links.loss_models import Gemodel, LossModel

IPV4, IPV6, ARP = b"\x08\x00", b"\x86\xdd", b"\x08\x06"


def _frame(number: int, size: int = 100, kind: bytes = IPV4) -> bytes:
    """Return a frame of `size` bytes on the wire that carries a number, with its offload header."""
    return (bytes(10 + 12) + kind + struct.pack("!Q", number)).ljust(10 + size, b"\0")


def _number(frame: bytes) -> int:
    number: int = struct.unpack_from("!Q", frame, 24)[0]
    return number


def _direction(side: Side, *, rates: bool = False, seed: str = "") -> Direction:
    return Direction(side, lambda use: Random(seed + use), rates=rates)


def _side(
    rate: float = 0, delay: float = 0, jitter: float = 0, loss: float = 0, setup: float = 0
) -> Side:
    wanted = Rate(rate) if rate else None
    return Side(wanted, Seconds(delay), Seconds(jitter), Fraction(loss), Seconds(setup))


Left = tuple[float, bytes]


def _play(direction: Direction, came: list[tuple[float, bytes]], end: float = 1e9) -> list[Left]:
    """Play arrivals, with a box that is never late; return when each frame left, up to `end`."""
    left: list[Left] = []

    def until(now: float) -> None:
        while (due := direction.deadline()) is not None and due <= now:
            left.extend((due, frame) for *_, frame in direction.release(due))

    for at, frame in came:
        until(at)
        if not direction.take(frame, at):
            left.append((at, frame))
    until(end)
    return left


SIDES = st.builds(
    lambda rate, delay, part, loss, duplicate, limit: replace(
        _side(rate, delay, delay * part, loss), duplicate=Fraction(duplicate), limit=limit
    ),
    duplicate=st.sampled_from([0, 0.3]),
    limit=st.sampled_from([None, 7]),
    rate=st.sampled_from([0, 50e3, 1e6, 50e6, 1e9]),
    delay=st.sampled_from([0, 0.001, 0.05, 2.0]),
    part=st.sampled_from([0, 0.1, 1.0]),
    loss=st.sampled_from([0, 0.1, 1.0]),
)
ARRIVALS = st.lists(
    st.tuples(st.sampled_from([0, 1e-5, 0.001, 0.3]), st.sampled_from([60, 1514])), max_size=150
)


def _came(gaps: list[tuple[float, int]]) -> list[tuple[float, bytes]]:
    at, came = 1.0, []
    for number, (gap, size) in enumerate(gaps):
        at += gap
        came.append((at, _frame(number, size)))
    return came


@pytest.mark.slow
@settings(deadline=None)
@given(side=SIDES, rates=st.booleans(), gaps=ARRIVALS, cut=st.sampled_from([1.0, 1.05, 1.4, 1e9]))
def test_order_is_kept_none_is_early_and_the_counts_add_up(
    side: Side, rates: bool, gaps: list[tuple[float, int]], cut: float
) -> None:
    came = [(at, frame) for at, frame in _came(gaps) if at <= cut]
    direction = _direction(side, rates=rates)
    left = _play(direction, came, end=cut)
    numbers = [_number(frame) for _, frame in left]
    assert numbers == sorted(numbers)
    assert side.duplicate or len(numbers) == len(set(numbers))
    arrivals = {_number(frame): at for at, frame in came}
    for at, frame in left:
        least = side.delay - 4 * side.jitter
        assert at >= arrivals[_number(frame)] + max(0.0, least) - 1e-9
    counts = direction.passage
    assert counts.packets == len(came)
    came_out = len(left) + counts.fates.lost + counts.dropped + direction.held()
    assert counts.packets + counts.fates.duplicated == came_out
    if cut == 1e9:
        assert direction.held() == 0


@settings(deadline=None)
@given(gaps=ARRIVALS, rate=st.sampled_from([50e3, 1e6, 50e6]))
def test_no_more_leaves_than_the_rate_and_a_burst(
    gaps: list[tuple[float, int]], rate: float
) -> None:
    left = _play(_direction(_side(rate), rates=True), _came(gaps))
    total = 0
    for at, frame in left:
        total += len(frame) - 10
        assert total <= tc.burst(Rate(rate)) + rate / 8 * (at - 1.0) + 1514 + 1e-3


def test_a_busy_link_has_its_rate() -> None:
    frames = [(1.0 + 0.001 * number, _frame(number, 1514)) for number in range(2000)]
    left = _play(_direction(_side(8e6), rates=True), frames)
    busy = [at for at, _ in left[100:]]
    assert (len(busy) - 1) * 1514 * 8 / (busy[-1] - busy[0]) == pytest.approx(8e6, rel=1e-6)


def test_a_late_box_does_not_lower_the_rate() -> None:
    direction = _direction(_side(8e6), rates=True)
    for number in range(100):
        direction.take(_frame(number, 1514), 1.0)
    last = 0.0
    for step in range(20):  # the box has its turn each 30 ms only
        for due, *_ in direction.release(1.0 + 0.03 * step):
            last = due
    assert direction.held() == 0
    assert last == pytest.approx(1.0 + (100 * 1514 - tc.burst(Rate(8e6))) * 8 / 8e6)


def test_a_full_queue_drops_and_says_so() -> None:
    direction = _direction(_side(1e6), rates=True)
    for number in range(1000):
        direction.take(_frame(number, 1514), 1.0)
    queued = tc.queue(Rate(1e6)) + tc.burst(Rate(1e6))
    assert direction.passage.dropped == pytest.approx(1000 - queued / 1514, abs=2)


def test_a_dilated_queue_holds_as_many_bytes() -> None:
    dropped = []
    for dilation in (1.0, 4.0):
        direction = _direction(dilated_side(_side(8e6), dilation), rates=True)
        for number in range(1000):
            direction.take(_frame(number, 1514), 1.0)
        dropped.append(direction.passage.dropped)
    assert dropped[0] == pytest.approx(1000 - (tc.queue(Rate(8e6)) + 3514) / 1514, abs=2)
    assert dropped[1] == dropped[0]


def test_frames_under_way_are_bounded() -> None:
    side = _side(8e6, delay=0.1)
    direction = _direction(side)
    for number in range(1000):
        direction.take(_frame(number, 1514), 1.0)
    assert direction.passage.dropped > 0
    assert direction.held() == room(side) // 1524
    assert room(_side(delay=10.0)) == UNRATED_ROOM
    assert room(_side(99e9, delay=3600.0)) == MOST_ROOM


def test_an_exact_delay_is_exact() -> None:
    came = [(1.0 + 0.01 * number, _frame(number)) for number in range(100)]
    left = _play(_direction(_side(delay=0.025)), came)
    assert [at for at, _ in left] == [at + 0.025 for at, _ in came]


def test_jitter_has_mean_and_deviation_asked_for() -> None:
    """With frames far apart, order holds none back."""
    came = [(1.0 + number, _frame(number)) for number in range(4000)]
    left = _play(_direction(_side(delay=0.05, jitter=0.005)), came)
    delays = [at - (1.0 + _number(frame)) for at, frame in left]
    assert fmean(delays) == pytest.approx(0.05, abs=0.0003)
    assert stdev(delays) == pytest.approx(0.005, rel=0.05)


def test_jitter_of_frames_close_together_keeps_their_order() -> None:
    """Each waits for the latest ahead of it, as in netem with a rate: later, and less spread."""
    came = [(1.0 + 0.001 * number, _frame(number)) for number in range(4000)]
    left = _play(_direction(_side(delay=0.05, jitter=0.005)), came)
    assert all(_number(a[1]) < _number(b[1]) and a[0] <= b[0] for a, b in pairwise(left))
    delays = [at - came[_number(frame)][0] for at, frame in left]
    assert 0.054 < fmean(delays) < 0.056  # netem of Linux 6.1: 0.0550, deviation 0.0033
    assert 0.003 < stdev(delays) < 0.0036


def test_loss_is_drawn_for_ipv4_only() -> None:
    direction = _direction(_side(delay=0.01, loss=1.0))
    left = _play(direction, [(1.0, _frame(0)), (1.0, _frame(1, kind=IPV6))])
    assert [_number(frame) for _, frame in left] == [1]
    assert direction.passage.fates.lost == 1


def test_loss_is_what_was_asked() -> None:
    """Of 3,000 at 10 %, 99 in 100 seeds lose 258 to 342."""
    direction = _direction(_side(loss=0.1), seed="a")
    _play(direction, [(1.0 + number, _frame(number)) for number in range(3000)])
    assert 258 <= direction.passage.fates.lost <= 342


def test_arp_passes_at_once_and_is_not_counted() -> None:
    direction = _direction(_side(1e3, delay=1.0, loss=1.0), rates=True)
    assert not direction.take(_frame(0, kind=ARP), 1.0)
    assert direction.passage.packets == 0


def test_a_seed_repeats_all_draws() -> None:
    side = _side(delay=0.05, jitter=0.02, loss=0.3)
    came = [(1.0 + 0.01 * number, _frame(number)) for number in range(300)]
    plays = [_play(_direction(side, seed=seed), came) for seed in ("a", "a", "b")]
    assert plays[0] == plays[1] != plays[2]


def test_the_draws_of_delays_do_not_depend_on_losses() -> None:
    came = [(1.0 + number, _frame(number)) for number in range(50)]
    delays = [
        [at for at, _ in _play(_direction(_side(delay=0.05, jitter=0.02, loss=loss)), came)]
        for loss in (0.0, 1e-9)
    ]
    assert delays[0] == delays[1]


def test_a_change_keeps_frames_under_way_and_their_order() -> None:
    direction = _direction(_side(delay=0.1))
    direction.take(_frame(0), 1.0)
    direction.change(_side(delay=0.01), 1.05)
    direction.take(_frame(1), 1.05)
    direction.take(_frame(2), 1.2)
    assert [(at, _number(frame)) for at, frame in _play(direction, [])] == [
        (1.1, 0),
        (1.1, 1),
        (1.21, 2),
    ]


@pytest.mark.parametrize(("rate", "took"), [(0.8e6, 0.1514 * 10), (0, 0.0), (80e6, 0.01514)])
def test_frames_in_the_queue_leave_at_the_new_rate(rate: float, took: float) -> None:
    direction = _direction(_side(8e6), rates=True)
    for number in range(110):  # 10 leave at once or soon
        direction.take(_frame(number, 1514), 1.0)
    (early, *_) = [len(direction.release(1.01514))]
    direction.change(_side(rate), 1.01514)
    left = _play(direction, [])
    assert len(left) == 110 - early
    assert left[-1][0] - 1.01514 == pytest.approx(took * len(left) / 100, abs=0.016)


def test_a_direction_gets_a_rate_by_a_change() -> None:
    direction = _direction(Side(), rates=True)
    direction.change(_side(8e6), 1.0)
    left = _play(direction, [(1.0, _frame(number, 1514)) for number in range(100)])
    assert left[-1][0] == pytest.approx(1.0 + (100 * 1514 - tc.burst(Rate(8e6))) / 1e6)


def test_superpackets_pass_whole_unless_frames_have_fates_of_their_own() -> None:
    late = _side(8e6, delay=0.1, jitter=0.05)
    assert _direction(late).form(late) == "superpackets"
    assert _direction(Side()).form(_side(loss=0.01)) == "single"
    assert _direction(Side()).form(Side(limit=100)) == "single"
    assert _direction(Side()).form(Side(corrupt=Fraction(0.01))) == "finished"
    assert _direction(Side(), rates=True).form(_side(8e6)) == "single"
    assert _direction(Side(), rates=True).form(_side(WHOLE)) == "superpackets"


def _each_second(side: Side, number: int) -> tuple[Direction, list[int]]:
    """Play a frame a second; return the direction and the numbers of frames in order."""
    direction = _direction(side, seed="a")
    left = _play(direction, [(1.0 + at, _frame(at)) for at in range(number)])
    return direction, [_number(frame) for _, frame in left]


def test_superpackets_are_cut_where_one_takes_longer_than_a_timer_may_be_late() -> None:
    assert pytest.approx(tc.SLACK) == 8 * tc.SUPERPACKET / WHOLE


def test_duplicates_are_what_was_asked() -> None:
    """Of 3,000 at 10 %, 99 in 100 seeds duplicate 258 to 342."""
    direction, numbers = _each_second(Side(duplicate=Fraction(0.1)), 3000)
    assert 258 <= direction.passage.fates.duplicated == len(numbers) - 3000 <= 342
    assert numbers == sorted(numbers)


def test_a_duplicate_is_lost_apart() -> None:
    """A frame that is duplicated and lost arrives once, as in netem."""
    side = Side(duplicate=Fraction(1), loss=Fraction(0.5))
    _, numbers = _each_second(side, 2000)
    twice = len(numbers) - len(set(numbers))
    assert len(set(numbers)) == 2000
    assert twice == pytest.approx(500, abs=80)  # neither the frame nor its duplicate is lost


@pytest.mark.slow
def test_losses_come_in_bursts_of_the_model() -> None:
    model = LossModel(Gemodel(p=Fraction(0.02), r=Fraction(0.25)))
    _, numbers = _each_second(Side(loss_model=model), 40_000)
    bursts = [after - before - 1 for before, after in pairwise(numbers) if after > before + 1]
    assert 1 - len(numbers) / 40_000 == pytest.approx(model.chain.mean, rel=0.15)
    assert fmean(bursts) == pytest.approx(4, rel=0.15)


def test_a_change_of_the_delay_does_not_end_a_burst_of_losses() -> None:
    model = LossModel(Gemodel(p=Fraction(0.02), r=Fraction(0.25)))
    changed, same = (_direction(Side(loss_model=model), seed="a") for _ in range(2))
    for number in range(2000):
        for direction in (changed, same):
            direction.take(_frame(number), number)
        changed.change(Side(delay=Seconds(0.01 * (number % 2)), loss_model=model), number)
    assert changed.passage.fates.lost == same.passage.fates.lost > 0


@pytest.mark.parametrize(("gap", "share"), [(1, 0.25), (5, 0.25 / 2)])
def test_frames_overtake_others_by_share_and_gap(gap: int, share: float) -> None:
    """With a gap of five, four frames pass before the next one may overtake: 1 in 4 + 4."""
    side = Side(delay=Seconds(0.5), reorder=Fraction(0.25), gap=gap)
    direction = _direction(side, seed="a")
    came = [(1.0 + 0.01 * number, _frame(number)) for number in range(8000)]
    left = _play(direction, came)
    early = [_number(frame) for at, frame in left if at < came[_number(frame)][0] + 0.4]
    assert len(early) == direction.passage.fates.reordered
    assert len(early) / 8000 == pytest.approx(share, rel=0.08)
    assert min(after - before for before, after in pairwise(early)) == gap


def test_a_damaged_frame_has_one_wrong_bit_and_an_empty_offload_header() -> None:
    direction = _direction(Side(corrupt=Fraction(1)))
    frame = b"\x01" + _frame(7)[1:]
    ((_, arrived),) = _play(direction, [(1.0, frame)])
    wrong = int.from_bytes(arrived[10:]) ^ int.from_bytes(frame[10:])
    assert wrong.bit_count() == 1
    assert arrived[:24] == bytes(22) + IPV4
    assert direction.passage.fates.corrupted == 1
    _play(direction, [(1.0, frame[:24])])  # of a hostile stack


@pytest.mark.parametrize(
    ("distribution", "deviation", "largest"),
    [("uniform", 0.577, 1.0), ("pareto", 0.88, 4.0), ("paretonormal", 0.84, 4.0)],
)
def test_delays_have_the_distribution_asked_for(
    distribution: Any, deviation: float, largest: float
) -> None:
    side = Side(delay=Seconds(0.5), jitter=Seconds(0.1), distribution=distribution)
    left = _play(_direction(side), [(10.0 * number, _frame(number)) for number in range(5000)])
    drawn = [(at - 10.0 * number - 0.5) / 0.1 for number, (at, _) in enumerate(left)]
    assert stdev(drawn) == pytest.approx(deviation, rel=0.1)
    assert max(drawn) <= largest + 1e-9


def test_jitter_is_correlated_as_asked() -> None:
    side = Side(delay=Seconds(0.5), jitter=Seconds(0.1), correlation=Fraction(0.6))
    left = _play(_direction(side), [(10.0 * number, _frame(number)) for number in range(5000)])
    delays = [at - 10.0 * number for number, (at, _) in enumerate(left)]
    assert correlation(delays[1:], delays[:-1]) == pytest.approx(0.6, abs=0.05)
    assert stdev(delays) == pytest.approx(0.1, rel=0.05)


def test_a_limit_counts_the_packets_that_wait_and_those_under_way() -> None:
    for rates in (True, False):
        direction = _direction(replace(_side(1e6, delay=1.0), limit=30), rates=rates)
        for number in range(100):
            direction.take(_frame(number, 1514), 1.0)
        assert direction.held() == 30
        assert direction.passage.dropped == 70


def test_the_rate_is_charged_for_the_overhead() -> None:
    side = replace(_side(8e6), overhead=486)
    left = _play(_direction(side, rates=True), [(1.0, _frame(n, 1514)) for n in range(100)])
    assert left[-1][0] - left[50][0] == pytest.approx(49 * 2000 * 8 / 8e6)


def test_a_report_states_mean_and_deviation_of_delays() -> None:
    direction = _direction(_side(delay=0.05))
    direction.note(0.001, 0.049)
    direction.note(0.004, 0.051)
    direction.note(0.001, 0.053)
    report = direction.report(1.0)
    assert report["delay"] == pytest.approx(0.051)
    assert report["delay_sd"] == pytest.approx(0.001633, abs=1e-6)
    assert (report["late"], report["latest"]) == (0.002, 0.004)
