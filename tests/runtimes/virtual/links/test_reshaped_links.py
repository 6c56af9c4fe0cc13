"""Links that change while messages are on them, against arithmetic."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.cubic import INITIAL
from emulator.runtimes.virtual.links.link_group import LinkGroup
from emulator.runtimes.virtual.links.server_link import ServerLink
from emulator.runtimes.virtual.links.tcp import Tcp
from emulator.runtimes.virtual.links.transmission import LinkConstants
from emulator.units import Rate, Seconds
from emulator.world.links.link import FRAME, Side

MB = 1_000_000
"""Bytes that `FULL` sends in a second."""
FULL, HALF = LinkConstants(8e6 * FRAME, delay=0.5), LinkConstants(4e6 * FRAME, delay=0.75)


class Player:
    """A group of links with a script of changes, and the arrivals of messages."""

    def __init__(self, constants: LinkConstants, shared: float | None = None) -> None:
        self.heap, self.arrived = Heap(), list[float]()
        server = None if shared is None else ServerLink(self.heap, shared * FRAME)
        self.links = LinkGroup(
            self.heap, constants, 2, lambda who: Random(who), server, changing=True
        )

    def send(self, at: float, size: int, number: int = 0) -> None:
        self.heap.at(at, self.links.send, number, size, lambda: self.arrived.append(self.heap.now))

    def reshape(self, at: float, constants: LinkConstants | None) -> None:
        self.heap.at(at, self.links.reshape, 0, constants)

    def play(self) -> list[float]:
        assert self.heap.run(math.inf, 10**6)
        return self.arrived


@pytest.mark.parametrize("shared", [None, 1e9])
def test_what_is_leaving_goes_on_at_the_new_rate(shared: float | None) -> None:
    """1 MB of 2 at the full rate, 0.5 MB at half of it, 0.5 MB at the full rate again."""
    player = Player(FULL, shared)
    player.send(0.0, 2 * MB)
    player.reshape(1.0, HALF)
    player.reshape(2.0, None)
    assert player.play() == [pytest.approx(1 + 1 + 0.5 + 0.5)]


def test_what_has_left_arrives_as_it_would_have() -> None:
    player = Player(FULL)
    player.send(0.0, MB)  # leaves at 1.0
    player.reshape(1.25, HALF)
    player.send(1.25, MB)  # takes 2 s, and 0.75 s of delay
    assert player.play() == pytest.approx([1.5, 4.0])


def test_a_message_on_a_shorter_link_does_not_overtake() -> None:
    slow = LinkConstants(math.inf, delay=5.0)
    player = Player(slow)
    player.send(0.0, 1)
    player.reshape(1.0, LinkConstants(math.inf, delay=0.1))
    player.send(1.0, 1)
    assert player.play() == pytest.approx([5.0, 5.0])


def test_a_link_without_a_rate_can_get_one_during_a_setup() -> None:
    player = Player(LinkConstants(math.inf, setup=2.0))
    player.send(0.0, MB)
    player.reshape(1.0, FULL)
    assert player.play() == [pytest.approx(2.0 + 1.0 + 0.5)]


def test_a_change_during_a_cut_counts_from_the_cuts_end() -> None:
    """Half of the message leaves at the full rate; the other half after the cut, at half of it."""
    player = Player(FULL)
    player.send(0.0, MB)
    player.heap.at(0.5, player.links.cut, 0)
    player.reshape(1.0, HALF)
    player.heap.at(3.0, player.links.mend, 0)
    assert player.play() == [pytest.approx(3.0 + 1.0 + 0.75)]


def test_a_message_that_leaves_at_the_moment_of_a_change_has_left() -> None:
    for shared in (None, 8e6):
        player = Player(FULL, shared)
        player.reshape(1.0, HALF)
        player.send(0.0, MB)
        assert player.play() == [pytest.approx(1.5)]
        assert player.links.carried(0) == MB


def test_on_the_servers_link_the_others_take_what_a_slow_link_leaves() -> None:
    """Two flows share 8 Mbit/s; from 1.0 on the first has 2 Mbit/s of its own."""
    player = Player(LinkConstants(math.inf), shared=8e6)
    player.send(0.0, MB, 0)
    player.send(0.0, MB, 1)
    player.reshape(1.0, LinkConstants(2e6 * FRAME))
    # half a megabyte is left of each: 2 s at 2 Mbit/s, and 2/3 s at 6 Mbit/s
    assert player.play() == pytest.approx([1 + 4 / 6, 3.0])


def test_a_dead_devices_link_stays_changed() -> None:
    player = Player(FULL)
    player.reshape(0.0, HALF)
    player.heap.at(1.0, player.links.drop, 0)
    player.send(2.0, MB)
    assert player.play() == [pytest.approx(2 + 2 + 0.75)]


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.1, 3.0)), max_size=6),
    st.sampled_from([None, 7e6, 1e9]),
)
def test_bits_are_conserved(changes: list[tuple[float, float]], shared: float | None) -> None:
    """The bits sent in each stretch of time, at its rate, are those of the message."""
    player = Player(LinkConstants(8e6 * FRAME), shared)
    player.send(0.0, 2 * MB)
    at, left, rate, arrival = 0.0, 16e6, 8e6, None
    limit = math.inf if shared is None else shared
    for gap, factor in changes:
        sent = gap * min(rate, limit)
        if arrival is None and sent >= left:
            arrival = at + left / min(rate, limit)
        at, left, rate = at + gap, left - sent, 8e6 * factor
        player.reshape(at, LinkConstants(rate * FRAME))
    if arrival is None:
        arrival = at + left / min(rate, limit)
    assert player.play() == [pytest.approx(arrival)]
    assert player.links.carried(0) == 2 * MB


def tcp(rate: float, delay: float) -> LinkConstants:
    side = Side(rate=Rate(rate * FRAME), delay=Seconds(delay))
    model = Tcp.of(side, Side(delay=Seconds(delay)), Side(), Side())
    return LinkConstants(rate * FRAME, delay=delay, tcp=model)


def test_tcp_keeps_its_window_and_opens_it_for_a_longer_path() -> None:
    """1 MB with a full window on a short path, then 100 ms each way: what is left needs more."""
    short, long = tcp(8e6, 0.0), tcp(8e6, 0.1)
    player = Player(short)
    player.send(0.0, MB)
    player.reshape(0.5, long)
    (arrived,) = player.play()
    credit = player_credit(short)
    left = MB - 0.5e6 - credit
    window = widest(short, MB)
    idle, _ = tcp_of(long).ramp(left, long.rate, window)
    assert idle > 0
    assert arrived == pytest.approx(0.5 + left * 8 / 8e6 + idle + 0.1, abs=1e-3)


def tcp_of(constants: LinkConstants) -> Tcp:
    assert constants.tcp is not None
    return constants.tcp


def player_credit(constants: LinkConstants) -> float:
    """Bytes of messages that an idle shaper lets through at once."""
    return tcp_of(constants).credit(math.inf) / 8 / FRAME


def widest(constants: LinkConstants, size: int) -> float:
    """The window at the change: slow start ends at once, as the link is never idle."""
    return tcp_of(constants).widened(INITIAL, 0.5)


def test_with_tcp_too_a_rate_that_falls_slows_the_rest() -> None:
    player = Player(tcp(8e6, 0.0))
    player.send(0.0, MB)
    player.reshape(0.5, tcp(4e6, 0.0))
    (arrived,) = player.play()
    left = MB - 0.5e6 - player_credit(tcp(8e6, 0.0))
    assert arrived == pytest.approx(0.5 + left * 8 / 4e6, abs=1e-6)


def test_equal_constants_change_nothing() -> None:
    same = tcp(8e6, 0.02)
    plain, changed = Player(same), Player(same)
    for player in (plain, changed):
        player.send(0.0, MB)
    changed.reshape(0.03, tcp(8e6, 0.02))
    assert plain.play() == changed.play()
