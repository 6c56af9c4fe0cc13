"""Bottlenecks in virtual time against the definition of max-min fairness, and in whole runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.link_path import LinkPath, RatedLink
from emulator.runtimes.virtual.links.network import build_links
from emulator.runtimes.virtual.links.server_link import ServerLink
from emulator.runtimes.virtual.links.shared_rates import MemberLinks
from emulator.runtimes.virtual.links.tcp import ACK, MOST_ACKS
from emulator.shaping.tc import burst
from emulator.units import Rate, Seconds
from emulator.world.links.bottleneck import SharedLink, SharedSide
from emulator.world.links.link import FRAME, Link, Side
from tests.fakes.small_scenario import small
from tests.fakes.virtual.progressive_filling import progressively_filled
from tests.fakes.virtual_world import SCENARIO, played

SERVER = "server: {link: {down: {rate: 1mbit}}}"
EXACT = 1e-9
CLOSE = 1e-6
"""Relative error of a rate that is measured as a difference of bits left."""
RATES = [1e6, 2e6, 5e6, 1e7, math.inf]


@dataclass(eq=False)
class Flow:
    """A transfer of device `number`, which is behind bottleneck `number % 3` unless that is 2."""

    heap: Heap
    number: int
    size: float
    own_rate: float
    begins: float = 0.0
    ended: float = math.nan

    def through(self) -> None:
        assert math.isnan(self.ended)
        self.ended = self.heap.now

    @property
    def bottleneck(self) -> int | None:
        return self.number % 3 if self.number % 3 < 2 else None


@dataclass
class Tree:
    """Two bottlenecks before a server's link, with a flow for each device."""

    rates: Sequence[float]
    server: float
    heap: Heap = field(default_factory=Heap)

    def __post_init__(self) -> None:
        server = [] if self.server == math.inf else [RatedLink(self.server)]
        rest = LinkPath(self.heap, server)
        made = [LinkPath(self.heap, [RatedLink(rate), *server]) for rate in self.rates]
        own = {number: made[number % 3] for number in range(99) if number % 3 < 2}
        self.links: Any = MemberLinks(own, rest)

    def begin(self, flow: Flow) -> None:
        self.heap.at(flow.begins, self.links.join, flow, flow.size, flow.own_rate)

    def rates_of(self, flows: Sequence[Flow]) -> list[float]:
        """Return the rates of all flows now, measured over a short time without an event."""
        before = [self.links.left(flow, flow.own_rate) for flow in flows]
        self.heap.now += 1e-3
        after = [self.links.left(flow, flow.own_rate) for flow in flows]
        return [(was - left) / 1e-3 for was, left in zip(before, after, strict=True)]


def limits(flows: Sequence[Flow], tree: Tree) -> list[tuple[float, list[int]]]:
    """Return each limit: a rate, and the flows that share it."""
    everyone = list(range(len(flows)))
    own = [(flow.own_rate, [index]) for index, flow in enumerate(flows)]
    shared = [
        (rate, [index for index in everyone if flows[index].bottleneck == number])
        for number, rate in enumerate(tree.rates)
    ]
    return [*own, *shared, (tree.server, everyone)]


FLOWS = st.lists(
    st.tuples(st.integers(0, 98), st.sampled_from(RATES)),
    min_size=1,
    max_size=12,
    unique_by=lambda pair: pair[0],
)


@pytest.mark.slow
@given(FLOWS, st.lists(st.sampled_from(RATES[:-1]), min_size=2, max_size=2), st.sampled_from(RATES))
def test_no_flow_could_be_faster_unless_a_smaller_one_became_slower(
    drawn: list[tuple[int, float]], rates: list[float], server: float
) -> None:
    """A flow is at a limit that is used up, and no other flow at that limit is larger."""
    tree = Tree(rates, server)
    flows = [Flow(tree.heap, number, 1e12, own) for number, own in drawn]
    bound = [
        flow
        for flow in flows
        if min(flow.own_rate, server) < math.inf or flow.bottleneck is not None
    ]
    for flow in bound:
        tree.begin(flow)
    tree.heap.run(1.0, 10**6)
    found = tree.rates_of(bound)
    at_limit: set[int] = set()
    for rate, sharing in limits(bound, tree):
        used = sum(found[index] for index in sharing)
        assert used <= rate * (1 + CLOSE)
        if sharing and used >= rate * (1 - CLOSE):
            largest = max(found[index] for index in sharing)
            at_limit |= {i for i in sharing if found[i] >= largest * (1 - CLOSE)}
    assert at_limit == set(range(len(bound)))


def ends(flows: Sequence[Flow], tree: Tree) -> list[float]:
    """Return when each flow is through, by going from event to event and sharing anew at each."""
    now, left, ended = 0.0, [flow.size for flow in flows], [math.nan] * len(flows)
    waiting = set(range(len(flows)))
    while waiting:
        active = [index for index in sorted(waiting) if flows[index].begins <= now]
        sharing = [flows[index] for index in active]
        rates = progressively_filled(len(sharing), limits(sharing, tree))
        ending = {i: now + left[i] / rate for i, rate in zip(active, rates, strict=True)}
        begins = [flows[index].begins for index in waiting if flows[index].begins > now]
        then = min([*ending.values(), *begins])
        for index, rate in zip(active, rates, strict=True):
            left[index] -= rate * (then - now)
            if ending[index] <= then:
                ended[index] = then
                waiting.discard(index)
        now = then
    return ended


@pytest.mark.parametrize("server", [3e6, 1.5e7, math.inf])
@pytest.mark.parametrize(("count", "seed"), [(3, 1), (12, 2), (12, 3), (40, 4)])
def test_every_bit_passes_at_the_time_that_fair_shares_give(
    server: float, count: int, seed: int
) -> None:
    dice, tree = Random(seed), Tree([4e6, 7e6], server)
    flows = [
        Flow(
            tree.heap,
            number,
            dice.uniform(1e3, 1e7),
            dice.choice(RATES[:-1]),
            dice.choice([0.0, dice.uniform(0, 5)]),
        )
        for number in range(count)
    ]
    for flow in flows:
        tree.begin(flow)
    assert tree.heap.run(math.inf, 10**6)
    assert [flow.ended for flow in flows] == pytest.approx(ends(flows, tree), rel=EXACT)


def test_a_flow_that_leaves_makes_room_behind_its_bottleneck_first() -> None:
    tree = Tree([10.0, 10.0], 30.0)
    stays, leaves, other = (Flow(tree.heap, number, 100.0, math.inf) for number in (0, 3, 1))
    for flow in (stays, leaves, other):
        tree.begin(flow)
    left = list[float]()
    tree.heap.at(4.0, lambda: left.append(tree.links.leave(leaves, math.inf)))
    tree.heap.run(math.inf, 100)
    assert left == [pytest.approx(80.0)]
    assert (stays.ended, other.ended) == (pytest.approx(12.0), pytest.approx(10.0))


def test_what_nothing_limits_takes_no_time() -> None:
    tree = Tree([10.0, 10.0], math.inf)
    free = Flow(tree.heap, 2, 1e9, math.inf, begins=3.0)
    tree.begin(free)
    tree.heap.run(math.inf, 10)
    assert free.ended == 3.0


# -- acknowledgements ------------------------------------------------------------------------------


@dataclass
class Street:
    """A message of 1 Mbit downwards, of device 0, and bottlenecks of both directions."""

    down: float
    up: float

    def __post_init__(self) -> None:
        self.heap = Heap()
        there, self.back = (LinkPath(self.heap, [RatedLink(rate)]) for rate in (self.down, self.up))
        links: Any = MemberLinks({0: there}, there, {0: self.back}, ACK / FRAME)
        self.links = links
        self.message = Flow(self.heap, 0, 1e6, math.inf)
        self.heap.at(0.0, links.join, self.message, self.message.size, math.inf)

    def ended(self) -> float:
        self.heap.run(math.inf, 1000)
        return self.message.ended


ACKNOWLEDGED = 1e6 * ACK / FRAME
"""Bits of the message's acknowledgements, one for every two segments."""


@pytest.mark.parametrize(
    ("down", "up", "seconds"),
    [
        (1e6, 1e6, 1.0),
        (1e8, 1e6, 0.01),  # fewer acknowledgements, as segments come together
        (math.inf, MOST_ACKS, 0.0),
        (1e8, 1e5, ACKNOWLEDGED / 1e5),
        (math.inf, 1e5, ACKNOWLEDGED / 1e5),
    ],
)
def test_a_message_waits_for_acknowledgements_that_a_slow_way_back_holds_up(
    down: float, up: float, seconds: float
) -> None:
    assert Street(down, up).ended() == pytest.approx(seconds)


def test_acknowledgements_share_the_way_back_with_the_messages_of_others() -> None:
    street = Street(math.inf, 2e5)
    other = Flow(street.heap, 1, 1e5, math.inf)
    street.heap.at(0.0, street.back.join, other, other.size, math.inf)
    assert street.ended() == pytest.approx(ACKNOWLEDGED / 1e5)
    assert other.ended == pytest.approx((1e5 + ACKNOWLEDGED) / 2e5)


@pytest.mark.parametrize(("down", "up"), [(1e8, 1e6), (1e8, 1e5), (1e5, 1e6)])
def test_a_message_that_is_cut_goes_on_where_it_was(down: float, up: float) -> None:
    whole, street = Street(down, up).ended(), Street(down, up)
    left = list[float]()
    street.heap.at(0.4 * whole, lambda: left.append(street.links.left(street.message, math.inf)))
    street.heap.at(0.4 * whole, lambda: left.append(street.links.leave(street.message, math.inf)))
    street.heap.at(20.0, lambda: street.links.join(street.message, left[1], math.inf))
    assert street.ended() == pytest.approx(20.0 + 0.6 * whole)
    assert left == pytest.approx([0.6e6, 0.6e6])


# -- what a scenario says --------------------------------------------------------------------------

GROUP = ("name: pair, count: 2", "name: home, count: 3, link: {up: {rate: 2mbit, delay: 10ms}}")
STREET = "{name: street, up: {rate: 3mbit, delay: 5ms}, down: {rate: 1mbit}, members: [MEMBERS]}"


def street(members: str, more: str = "") -> tuple[str, str]:
    entry = STREET.replace("MEMBERS", members)
    return "name: small", f"name: small\nvirtual: {{tcp: false}}\n{more}bottlenecks: [{entry}]"


def test_a_transfer_alone_has_the_slower_rate_and_both_delays() -> None:
    shared = SharedLink(SharedSide(Rate(3e6), Seconds(0.005)), SharedSide(Rate(1e6)))
    link = Link(Side(Rate(2e6), Seconds(0.01)), Side())
    assert shared.alone(link) == Link(Side(Rate(2e6), Seconds(0.015)), Side(Rate(1e6)))


@pytest.mark.parametrize(
    "server", ["", "server: {link: {up: {rate: 1gbit}, down: {rate: 1gbit}}}\n"]
)
def test_members_share_and_others_do_not(server: str) -> None:
    """Three members of 2 mbit behind 3 mbit, one of them alone in its group's link later."""
    scenario = small(GROUP, street("home-0, home-1", server))
    heap, arrived = Heap(), dict[int, float]()
    (_, homes) = build_links(heap, scenario)
    size = 1_000_000
    for number in range(3):
        homes.up.send(number, size, lambda number: arrived.update({number: heap.now}), number)
    heap.run(math.inf, 1000)
    bits = 8 * size * FRAME
    assert arrived[0] == arrived[1] == pytest.approx(bits / 1.5e6 + 0.015)
    assert arrived[2] == pytest.approx(bits / 2e6 + 0.01)


def test_a_fault_changes_the_link_before_the_bottleneck() -> None:
    fault = "faults: [{kind: degrade, nodes: [home-0], at: 1s, rate: 50%, delay: 1s}]\n"
    scenario = small(GROUP, street("home", fault))
    heap, arrived = Heap(), list[float]()
    (_, homes) = build_links(heap, scenario)
    size, setting = 1_000_000, {"rate": 0.5, "delay": 1.0}
    for change in (setting, None):
        homes.reshape(0, change)
        began = heap.now
        homes.up.send(0, size, lambda began: arrived.append(heap.now - began), began)
        heap.run(math.inf, 1000)
    bits = 8 * size * FRAME
    assert arrived == pytest.approx([bits / 1e6 + 1.015, bits / 2e6 + 0.015])


BURST = 8 * burst(Rate(1e8))
"""Bits that an idle link of 100 mbit lets through at once."""


@pytest.mark.parametrize(
    "narrow", ["bottlenecks: [{name: street, up: {rate: 1mbit}, members: [home]}]", SERVER]
)
@pytest.mark.parametrize("size", [10_000, 60_000], ids=["within", "beyond"])
def test_what_an_idle_link_saves_up_passes_no_other_link_for_free(narrow: str, size: int) -> None:
    fast = ("{name: pair, count: 2}", "{name: home, link: {up: {rate: 100mbit}}}")
    scenario = small(fast, ("name: small", f"name: small\n{narrow}"))
    heap, arrived = Heap(), list[float]()
    (_, homes) = build_links(heap, scenario)
    homes.up.send(0, size, lambda: arrived.append(heap.now))
    heap.run(math.inf, 1000)
    assert arrived == pytest.approx([8 * size * FRAME / 1e6])


def test_what_an_idle_link_saves_up_waits_for_no_rate_of_its_own() -> None:
    wide = "server: {link: {down: {rate: 1gbit}}}"
    fast = ("{name: pair, count: 2}", "{name: home, link: {up: {rate: 100mbit}}}")
    heap, arrived = Heap(), list[float]()
    (_, homes) = build_links(heap, small(fast, ("name: small", f"name: small\n{wide}")))
    homes.up.send(0, 60_000, lambda: arrived.append(heap.now))
    heap.run(8 * 10_000 / 1e9, 1000)
    assert homes.up.carried(0) == pytest.approx(10_000 / FRAME, abs=1)  # of the burst, so far
    heap.run(math.inf, 1000)
    assert homes.up.carried(0) == 60_000
    rest = 8 * 60_000 * FRAME - BURST
    assert arrived == pytest.approx([BURST / 1e9 + rest / 1e8])


@pytest.mark.parametrize("cut", [True, False])
def test_a_change_amid_a_burst_loses_no_bits(cut: bool) -> None:
    """After 10 ms at 1 mbit, in the burst, the device is cut off, or has another link of 2 mbit."""
    narrow = "server: {link: {down: {rate: 1mbit}}}\nvirtual: {tcp: true}"
    fault = "faults: [{kind: degrade, nodes: [home], at: 1s, link: {up: {rate: 2mbit}}}]"
    fast = ("{name: pair, count: 2}", "{name: home, link: {up: {rate: 100mbit}}}")
    scenario = small(fast, ("name: small", f"name: small\n{narrow}\n{fault}"))
    heap, arrived = Heap(), list[float]()
    (_, homes) = build_links(heap, scenario)
    homes.up.send(0, 60_000, lambda: arrived.append(heap.now))
    heap.run(0.01, 1000)
    if cut:
        homes.cut(0)
        homes.drop(0)
        assert homes.up.carried(0) == pytest.approx(1e4 / 8 / FRAME, abs=1)
        homes.up.send(0, 60_000, lambda: arrived.append(heap.now))
    else:
        homes.reshape(0, {"link": {"up": {"rate": 2e6}, "down": {}}})
    heap.run(math.inf, 1000)
    assert arrived == pytest.approx([8 * 60_000 * FRAME / 1e6 + 0.01 * cut])


def test_the_way_back_of_a_member_is_shared_with_acknowledgements() -> None:
    """Only the uplink of the street has a rate, which holds up what members receive."""
    entry = "{name: street, up: {rate: 200kbit}, members: [home-0]}"
    scenario = small(GROUP, ("name: small", f"name: small\nbottlenecks: [{entry}]"))
    heap, arrived = Heap(), dict[int, float]()
    (_, homes) = build_links(heap, scenario)
    for number in range(2):
        homes.down.send(number, 1_000_000, lambda n: arrived.update({n: heap.now}), number)
    heap.run(math.inf, 1000)
    assert arrived[0] == pytest.approx(1e6 * 8 * ACK / 2e5, rel=0.1)
    assert arrived[1] < 0.1


def test_without_bottlenecks_the_links_are_as_before() -> None:
    """Then no flow passes through the code for bottlenecks, so no byte of a run differs."""
    rated = "server: {link: {up: {rate: 1gbit}, down: {rate: 1gbit}}}"
    scenario = small(GROUP, ("name: small", f"name: small\n{rated}"))
    links = build_links(Heap(), scenario)
    assert {type(way._server_link) for each in links for way in (each.up, each.down)} == {
        ServerLink
    }
    links = build_links(Heap(), small(GROUP))
    assert {way._server_link for each in links for way in (each.up, each.down)} == {None}


ENTRY = "bottlenecks: [{name: street, up: {rate: RATE}, down: {rate: RATE}, members: [adsl]}]\n"


@pytest.mark.slow
def test_a_run_behind_a_bottleneck_is_slower_and_repeats(tmp_path: Path) -> None:
    def run(rate: str | None, folder: str) -> tuple[float, list[Any]]:
        entry = "" if rate is None else ENTRY.replace("RATE", rate)
        text = SCENARIO.replace("faults:", f"{entry}faults:")
        _, _, view = played(tmp_path / folder, text=text)
        return view.records[-1]["at"], view.records

    (free, _), (wide, _) = run(None, "a"), run("1gbit", "b")
    narrow, records = run("200kbit", "c")
    again = run("200kbit", "d")
    assert (narrow, records) == again
    assert wide == pytest.approx(free, rel=0.02)
    assert narrow > 1.2 * free
