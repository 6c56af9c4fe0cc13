"""Links in virtual time against arithmetic: exact to the nanosecond, shared to the bit."""

import math
from collections.abc import Callable
from random import Random
from statistics import fmean, pstdev

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.link_group import LinkGroup
from emulator.runtimes.virtual.links.network import link_constants
from emulator.runtimes.virtual.links.server_link import ServerLink
from emulator.runtimes.virtual.links.transmission import LinkConstants
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import FRAME, Link, Side
from emulator.world.links.loss_models import Gemodel, LossModel

EXACT = 1e-9


def lines(
    heap: Heap, law: LinkConstants, access: ServerLink | None = None, devices: int = 1
) -> LinkGroup:
    return LinkGroup(heap, law, devices, lambda who: Random(f"dice of {who}"), access)


def play(heap: Heap) -> None:
    assert heap.run(math.inf, 10**6)


def noting(heap: Heap, arrived: list[float]) -> Callable[[], None]:
    return lambda: arrived.append(heap.now)


# -- one message -----------------------------------------------------------------------------------


def test_a_thousand_transfers_take_what_they_must() -> None:
    dice = Random("transfers")
    for _ in range(1000):
        setup, delay = dice.uniform(0, 2), dice.uniform(0, 1)
        rate, size = 10 ** dice.uniform(3, 10), dice.randrange(1, 10**7)
        heap, arrived = Heap(), list[float]()
        line = lines(heap, LinkConstants(rate, delay=delay, setup=setup))
        line.send(0, size, noting(heap, arrived))
        play(heap)
        expected = setup + size * 8 * 1514 / 1448 / rate + delay
        assert arrived == [pytest.approx(expected, abs=EXACT, rel=1e-12)]
        assert line.carried(0) == size


def test_an_unshaped_line_takes_no_time() -> None:
    heap, arrived = Heap(), list[float]()
    lines(heap, LinkConstants(math.inf)).send(0, 10**9, noting(heap, arrived))
    play(heap)
    assert arrived == [0.0]


def test_messages_queue_behind_each_other_and_overlap_only_in_flight() -> None:
    heap, arrived = Heap(), list[float]()
    line = lines(heap, LinkConstants(8e6 * FRAME, delay=5.0, setup=0.25))
    for size in (1_000_000, 2_000_000, 500_000):
        line.send(0, size, noting(heap, arrived))
    play(heap)
    assert arrived == pytest.approx([6.25, 8.5, 9.25], abs=EXACT)


def test_devices_do_not_wait_for_each_other_on_lines_of_their_own() -> None:
    heap, arrived = Heap(), list[float]()
    line = lines(heap, LinkConstants(8e6 * FRAME), devices=2)
    line.send(0, 1_000_000, noting(heap, arrived))
    line.send(1, 1_000_000, noting(heap, arrived))
    play(heap)
    assert arrived == [1.0, 1.0]


@given(st.lists(st.integers(0, 10**5), min_size=2, max_size=30))
def test_jitter_never_lets_a_message_overtake(sizes: list[int]) -> None:
    heap, order = Heap(), list[int]()
    line = lines(heap, LinkConstants(1e8, delay=0.05, jitter=0.05))
    for number, size in enumerate(sizes):
        line.send(0, size, order.append, number)
    play(heap)
    assert order == sorted(order)


def test_jitter_is_normal_around_the_delay() -> None:
    heap, arrived = Heap(), list[float]()
    line = lines(heap, LinkConstants(math.inf, delay=0.1, jitter=0.01), devices=4000)
    for who in range(4000):
        line.send(who, 1, noting(heap, arrived))
    play(heap)
    mean = sum(arrived) / 4000
    deviation = math.sqrt(sum((item - mean) ** 2 for item in arrived) / 4000)
    assert (mean, deviation) == (pytest.approx(0.1, rel=0.02), pytest.approx(0.01, rel=0.05))


# -- cuts ------------------------------------------------------------------------------------------


@given(
    st.floats(0, 2),
    st.floats(0.1, 5),
    st.lists(st.floats(0.01, 2), min_size=2, max_size=9),
    st.sampled_from([None, 7e6, 1e9]),
)
def test_a_cut_delays_by_exactly_its_overlap(
    setup: float, seconds: float, gaps: list[float], shared: float | None
) -> None:
    """Down and up again at the running sums of `gaps`, on a line of 8 Mbit/s of payload."""
    heap, arrived = Heap(), list[float]()
    rate = 8e6 * FRAME
    access = None if shared is None else ServerLink(heap, shared * FRAME)
    line = lines(heap, LinkConstants(rate, delay=0.5, setup=setup), access)
    line.send(0, round(seconds * 1e6), noting(heap, arrived))
    at, down = 0.0, list[tuple[float, float]]()
    for number, gap in enumerate(gaps[: len(gaps) // 2 * 2]):
        at += gap
        if number % 2 == 0:
            heap.at(at, line.cut, 0)
            down.append((at, at))
        else:
            heap.at(at, line.mend, 0)
            down[-1] = (down[-1][0], at)
    play(heap)
    sending = setup + round(seconds * 1e6) * 8 / (8e6 if shared is None else min(8e6, shared))
    left = sending  # of the serialisation, as time goes on
    for begin, end in down:
        assume(abs(begin - left) > EXACT)  # a cut as the last bit leaves may stop it, or not
        if begin < left:
            left += end - begin
    assert arrived == [pytest.approx(left + 0.5, abs=EXACT)]


def test_what_has_left_arrives_though_the_line_is_cut() -> None:
    heap, arrived = Heap(), list[float]()
    line = lines(heap, LinkConstants(8e6 * FRAME, delay=2.0))
    line.send(0, 1_000_000, noting(heap, arrived))
    heap.at(1.5, line.cut, 0)
    play(heap)
    assert arrived == [3.0]


def test_a_message_told_in_a_cut_goes_when_it_is_over() -> None:
    heap, arrived = Heap(), list[float]()
    line = lines(heap, LinkConstants(8e6 * FRAME))
    line.cut(0)
    line.send(0, 1_000_000, noting(heap, arrived))
    heap.at(4.0, line.mend, 0)
    play(heap)
    assert arrived == [5.0]


def test_a_dead_devices_messages_are_dropped_but_for_those_that_had_left() -> None:
    heap, arrived = Heap(), list[float]()
    line = lines(heap, LinkConstants(8e6 * FRAME, delay=2.0))
    for _ in range(3):
        line.send(0, 1_000_000, noting(heap, arrived))
    heap.at(1.5, line.drop, 0)
    heap.at(2.0, line.send, 0, 1_000_000, noting(heap, arrived))
    play(heap)
    assert arrived == [3.0, 5.0]


@pytest.mark.parametrize(("resend", "expected"), [(True, [6.0, 7.0]), (False, [])])
def test_a_connection_that_died_loses_what_was_being_sent(
    resend: bool, expected: list[float]
) -> None:
    heap, arrived = Heap(), list[float]()
    line = lines(heap, LinkConstants(8e6 * FRAME))
    for _ in range(3):
        line.send(0, 1_000_000, noting(heap, arrived))
    heap.at(0.5, line.cut, 0)
    heap.at(5.0, lambda: line.reconnect(0, resend=resend))
    play(heap)
    assert arrived == expected


@pytest.mark.parametrize("shared", [None, 1e9])
def test_what_a_line_has_carried_grows_with_the_message(shared: float | None) -> None:
    heap, seen = Heap(), list[int]()
    access = ServerLink(heap, shared) if shared else None
    line = lines(heap, LinkConstants(8e6 * FRAME, setup=1.0), access)
    line.send(0, 1_000_000, lambda: None)
    for at in (0.5, 1.25, 1.5, 3.0):
        heap.at(at, lambda: seen.append(line.carried(0)))
    heap.at(1.5, line.cut, 0)
    heap.at(2.5, lambda: seen.append(line.carried(0)))
    heap.at(2.75, line.mend, 0)
    play(heap)
    assert seen == [0, pytest.approx(250_000, abs=2)] + 2 * [pytest.approx(500_000, abs=2)] + [
        pytest.approx(750_000, abs=2)
    ]


# -- the server's link -----------------------------------------------------------------------------


class Flow:
    def __init__(self, heap: Heap, size: float, top: float, begins: float) -> None:
        self.size, self.top, self.begins = size, top, begins
        self.heap, self.ended = heap, math.nan

    def through(self) -> None:
        self.ended = self.heap.now


def fair(rate: float, tops: list[float]) -> list[float]:
    """Return max-min shares by definition: fill all flows alike, freeze full flows."""
    shares, open_, left = [0.0] * len(tops), set(range(len(tops))), rate
    while open_:
        share = left / len(open_)
        full = {item for item in open_ if tops[item] <= share}
        for item in full or open_:
            shares[item] = min(tops[item], share)
        if not full:
            break
        left -= sum(tops[item] for item in full)
        open_ -= full
    return shares


def shared(rate: float, flows: list[Flow]) -> list[float]:
    """When each is through, by going from event to event and sharing anew at each."""
    now, left, ends = 0.0, [flow.size for flow in flows], [math.nan] * len(flows)
    waiting = set(range(len(flows)))
    while waiting:
        active = [item for item in sorted(waiting) if flows[item].begins <= now]
        rates = dict(zip(active, fair(rate, [flows[item].top for item in active]), strict=True))
        ending = {item: now + left[item] / rates[item] for item in active}
        begins = [flows[item].begins for item in waiting if flows[item].begins > now]
        then = min([*ending.values(), *begins])
        for item in active:
            left[item] -= rates[item] * (then - now)
            if ending[item] <= then:
                ends[item] = then
                waiting.discard(item)
        now = then
    return ends


@pytest.mark.parametrize(
    ("count", "seed"),
    [(2, 1), (2, 2), (10, 3), (10, 4), pytest.param(1000, 5, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("tops", [[math.inf], [4e6, 1e7, 5e7], [1e6, 3e6, math.inf]])
def test_flows_share_the_servers_link_fairly(count: int, seed: int, tops: list[float]) -> None:
    heap, dice = Heap(), Random(seed)
    access = ServerLink(heap, 2e7)
    flows = [
        Flow(
            heap, dice.uniform(1e3, 1e7), dice.choice(tops), dice.choice([0.0, dice.uniform(0, 5)])
        )
        for _ in range(count)
    ]
    for flow in flows:
        heap.at(flow.begins, access.join, flow, flow.size, flow.top)
    play(heap)
    assert [flow.ended for flow in flows] == pytest.approx(shared(2e7, flows), rel=EXACT)


def test_alike_flows_are_through_together() -> None:
    heap = Heap()
    access = ServerLink(heap, 1e6)
    flows = [Flow(heap, 1e4, math.inf, 0.0) for _ in range(1000)]
    for flow in flows:
        access.join(flow, flow.size, flow.top)
    play(heap)
    assert [flow.ended for flow in flows] == pytest.approx([10.0] * 1000, abs=EXACT)


def test_who_leaves_makes_room_for_the_others() -> None:
    heap = Heap()
    access = ServerLink(heap, 10.0)
    stays, leaves = Flow(heap, 100.0, math.inf, 0.0), Flow(heap, 100.0, math.inf, 0.0)
    access.join(stays, 100.0, math.inf)
    access.join(leaves, 100.0, math.inf)
    left = list[float]()
    heap.at(4.0, lambda: left.append(access.leave(leaves, math.inf)))
    play(heap)
    assert left == [pytest.approx(80.0)]
    assert stays.ended == pytest.approx(12.0)
    assert math.isnan(leaves.ended)


# -- what a scenario says --------------------------------------------------------------------------

HOME = Link(
    up=Side(Rate(1e6), Seconds(0.02), Seconds(0.003), setup=Seconds(0.1)),
    down=Side(Rate(8e6), Seconds(0.01)),
)
SERVER = Link(
    up=Side(Rate(1e9), Seconds(0.001)), down=Side(delay=Seconds(0.002), jitter=Seconds(0.002))
)


def test_both_ends_of_a_link_add_up_each_way() -> None:
    up, down = (
        link_constants(HOME, SERVER, "up", tcp=False),
        link_constants(HOME, SERVER, "down", tcp=False),
    )
    assert (up.rate, up.delay, up.setup) == (1e6, 0.022, 0.1)
    assert up.jitter == pytest.approx(math.hypot(0.003, 0.002))
    assert (down.rate, down.delay, down.jitter, down.setup) == (8e6, 0.011, 0.0, 0.0)
    assert (up.tcp, down.tcp) == (None, None)


def test_loss_is_for_tcp_alone() -> None:
    lossy = Link(up=Side(Rate(1e9), Seconds(0.05), loss=Fraction(0.05)))
    assert link_constants(lossy, Link(), "up", tcp=False).rate == 1e9
    assert link_constants(lossy, Link(), "up", tcp=True).rate < 1e7


def test_a_slow_way_back_holds_up_acknowledgements() -> None:
    def rate(back: float, *, tcp: bool = True) -> float:
        link = Link(up=Side(Rate(back)), down=Side(Rate(50e6)))
        return link_constants(link, Link(), "down", tcp=tcp).rate

    assert rate(200e3) == pytest.approx(200e3 * 2 * 1514 / 66)
    assert rate(500e3) == rate(200e3, tcp=False) == 50e6


def test_overhead_and_duplicates_take_their_share_of_the_rate() -> None:
    side = Side(Rate(1514e3), overhead=86, duplicate=Fraction(0.25))
    link = Link(up=side, down=Side(Rate(8e6)))
    up = link_constants(link, Link(), "up", tcp=True)
    assert up.rate == pytest.approx(1514e3 / 1600 * 1514 / 1.25)
    assert link_constants(link, Link(), "down", tcp=True).rate == 8e6


def test_a_burst_of_losses_slows_tcp_as_one_loss() -> None:
    def rate(model: LossModel | None, loss: float = 0.0, corrupt: float = 0.0) -> float:
        shares = {"loss": Fraction(loss), "corrupt": Fraction(corrupt)}
        side = Side(Rate(1e9), Seconds(0.02), loss_model=model, **shares)
        return link_constants(Link(up=side), Link(), "up", tcp=True).rate

    bursts = LossModel(Gemodel(Fraction(0.01), Fraction(0.2)))
    single = LossModel(Gemodel(Fraction(0.05)))
    assert bursts.chain.mean == pytest.approx(0.01 / 0.21)
    events = 0.01 / 0.21 / 5
    assert rate(bursts) == pytest.approx(rate(None, events))
    assert rate(single) == pytest.approx(rate(None, 0.05), rel=0.06)
    assert rate(None, corrupt=0.01) == pytest.approx(rate(None, 0.01))
    assert rate(bursts, corrupt=0.01) < rate(bursts)


def test_messages_are_late_by_the_distribution_of_the_link() -> None:
    side = Side(delay=Seconds(1), jitter=Seconds(0.1), distribution="uniform")
    constants = link_constants(Link(up=side), Link(), "up", tcp=False)
    heap, arrivals = Heap(), list[float]()
    line = lines(heap, constants)
    for number in range(2000):
        heap.at(10.0 * number, line.send, 0, 1, noting(heap, arrivals))
    play(heap)
    took = [at - 10.0 * number for number, at in enumerate(arrivals)]
    assert min(took) >= 0.9 and max(took) <= 1.1
    assert fmean(took) == pytest.approx(1, abs=0.005)
    assert pstdev(took) == pytest.approx(0.1 / 3**0.5, rel=0.05)
