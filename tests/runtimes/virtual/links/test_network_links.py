"""Networks in virtual time: shares against max-min by definition, delays, and whole runs."""

import math
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.link_path import LinkPath, RatedLink
from emulator.runtimes.virtual.links.network import NetworkFaults, build_links
from emulator.runtimes.virtual.links.shared_rates import NetworkLinks
from emulator.scenario import Scenario
from emulator.scenario.sections.network_section import NetworkLink
from emulator.scenario.timeline.compiled import timeline
from emulator.scenario.timeline.link_changes import reshaped_links
from emulator.units import Rate, Seconds
from emulator.world.links.bottleneck import SharedSide
from emulator.world.links.link import FRAME
from emulator.world.links.network_routes import Route, routes
from tests.fakes.small_scenario import mistakes, small
from tests.fakes.virtual.progressive_filling import progressively_filled
from tests.fakes.virtual_world import SCENARIO, played

EXACT = 1e-9
OWN_RATES = [5e5, 2e6, 7e6, math.inf]


@dataclass(eq=False)
class Flow:
    """A transfer on a path; `limits` are the numbers of the links that it passes."""

    path: LinkPath
    limits: frozenset[int]
    own_rate: float
    ended: float = math.nan

    def through(self) -> None:
        self.ended = self.path._clock.now


def drawn_network(dice: Random, routers: int) -> tuple[list[str], list[NetworkLink]]:
    """Return a connected random graph: a tree, and as many links beside it as half the routers."""
    names = [f"r{number}" for number in range(routers)]
    pairs = [(names[dice.randrange(place)], names[place]) for place in range(1, routers)]
    pairs += [tuple(dice.sample(names, 2)) for _ in range(routers // 2)]

    def side() -> SharedSide:
        rate = (
            Rate(dice.choice([1e6, 3e6, dice.uniform(1e6, 2e7)])) if dice.random() < 0.8 else None
        )
        return SharedSide(rate, Seconds(dice.randrange(10) / 1000))

    links = [
        NetworkLink(name=f"l{number}", between=pair, up=side(), down=side())
        for number, pair in enumerate(pairs)
    ]
    return names, links


class Shares:
    """A network's links in both directions, its paths, and the flows on them."""

    def __init__(self, dice: Random, routers: int, server: float) -> None:
        self.heap, self.flows = Heap(), list[Flow]()
        names, links = drawn_network(dice, routers)
        sides = {(e.name, way): getattr(e, way).rate for e in links for way in ("up", "down")}
        rated = {hop: rate for hop, rate in sides.items() if rate is not None}
        self.hops = list(rated)
        self.links = [RatedLink(rate) for rate in rated.values()] + [RatedLink(server)]
        numbers = {hop: number for number, hop in enumerate(self.hops)}
        found = routes(names, links, dice.choice(names))
        self.paths: list[tuple[LinkPath, frozenset[int]]] = []
        for route in found.values():
            for way in (route.up, route.down):
                passed = [numbers[hop] for hop in way if hop in numbers]
                # flows that end before the server's link, and those that begin behind a router
                for part in (passed, [*passed, len(self.hops)], passed[: len(passed) // 2]):
                    if part:
                        path = LinkPath(self.heap, [self.links[number] for number in part])
                        self.paths.append((path, frozenset(part)))

    def join(self, dice: Random, bits: float) -> None:
        path, limits = dice.choice(self.paths)
        flow = Flow(path, limits, dice.choice(OWN_RATES))
        self.flows.append(flow)
        path.join(flow, bits, flow.own_rate)

    def leave(self, dice: Random) -> None:
        flow = self.flows.pop(dice.randrange(len(self.flows)))
        flow.path.leave(flow, flow.own_rate)

    def expected(self) -> list[float]:
        own = [(flow.own_rate, [index]) for index, flow in enumerate(self.flows)]
        shared = [
            (link.rate, [i for i, flow in enumerate(self.flows) if number in flow.limits])
            for number, link in enumerate(self.links)
        ]
        return progressively_filled(len(self.flows), [*own, *shared])

    def rates(self) -> list[float]:
        return [flow.path.rate_of(flow.own_rate) for flow in self.flows]


@pytest.mark.mostly_slow(quick=12)
@pytest.mark.parametrize("seed", range(60))
def test_shares_are_max_min_fair_after_each_event(seed: int) -> None:
    """Flows begin and end, and links change their rates, in networks of 2 to 25 routers."""
    dice = Random(seed)
    shares = Shares(dice, 2 + seed % 24, dice.choice([2e6, 1e8, 1e12]))
    for _ in range(60):
        event = dice.random()
        if event < 0.6 or not shares.flows:
            shares.join(dice, 1e15)
        elif event < 0.9:
            shares.leave(dice)
        else:
            dice.choice(shares.links).change(shares.heap, dice.uniform(1e5, 1e7))
        assert shares.rates() == pytest.approx(shares.expected(), rel=EXACT)


@pytest.mark.parametrize("seed", range(6))
def test_every_bit_passes_a_network_at_the_time_that_fair_shares_give(seed: int) -> None:
    dice = Random(seed)
    shares = Shares(dice, 25, 1e7)
    sizes = [dice.uniform(1e3, 1e7) for _ in range(30)]
    for size in sizes:
        shares.join(dice, size)
    flows, left = list(shares.flows), dict(zip(shares.flows, sizes, strict=True))
    now, ends = 0.0, dict[Flow, float]()
    while shares.flows:
        rates = shares.expected()
        until = min(left[flow] / rate for flow, rate in zip(shares.flows, rates, strict=True))
        now += until
        for flow, rate in zip(list(shares.flows), rates, strict=True):
            left[flow] -= rate * until
            if left[flow] <= 1e-6:
                ends[flow] = now
                shares.flows.remove(flow)
    assert shares.heap.run(math.inf, 10**6)
    assert [flow.ended for flow in flows] == pytest.approx([ends[f] for f in flows], rel=EXACT)


# -- routes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_routes_have_the_least_delay(seed: int) -> None:
    """Against relaxation until nothing changes (Bellman & Ford), in both directions."""
    dice = Random(seed)
    names, links = drawn_network(dice, 2 + seed)
    server = dice.choice(names)
    found = routes(names, links, server)
    assert found.keys() == set(names)
    for way in ("up", "down"):
        least = {name: 0.0 if name == server else math.inf for name in names}
        for _ in names:
            for link in links:
                for (near, far), own in (
                    (link.between, "down" if way == "up" else "up"),
                    (link.between[::-1], "up" if way == "up" else "down"),
                ):
                    least[far] = min(least[far], least[near] + getattr(link, own).delay)
        delays = {name: getattr(route.shared, way).delay for name, route in found.items()}
        assert delays == pytest.approx(least)


def test_of_equal_paths_the_shorter_then_the_first_is_taken() -> None:
    def link(first: str, second: str, delay: float) -> NetworkLink:
        side = SharedSide(None, Seconds(delay))
        return NetworkLink(name=f"{first}-{second}", between=(first, second), up=side, down=side)

    names = ["s", "a", "b", "c"]
    links = [link("a", "b", 0.001), link("b", "s", 0.002), link("a", "s", 0.003)]
    links += [link("c", "b", 0.001), link("c", "a", 0.0)]
    found = routes(names, links, "s")
    assert _names(found["a"]) == ["a-s"]
    assert found["c"].routers == ("c", "a", "s")
    assert found["c"].back == ("s", "a", "c")
    assert [hop.way for hop in found["c"].down] == ["down", "down"]


def _names(route: Route) -> list[str]:
    return [hop.link for hop in route.up]


# -- what a scenario says --------------------------------------------------------------------------

LINE = """\
name: small
virtual: {tcp: false}
server: {link: {up: {delay: 16ms}, down: {delay: 8ms}}}
network:
  routers: [a, b, c]
  links:
    - {between: [a, b], up: {delay: 1ms}, down: {delay: 32ms}}
    - {between: [c, b], up: {delay: 2ms, rate: 2mbit}, down: {delay: 64ms}}
  attach: {one: a, pair: c}
  server: RS
"""


@pytest.mark.parametrize(
    ("server", "number", "up", "down"),
    [
        ("c", 0, 0.004 + 0.008 + 0.001 + 0.064, 0.128 + 0.016 + 0.032 + 0.002),
        ("a", 0, 0.012, 0.144),
    ],
)
def test_delays_add_along_the_path(server: str, number: int, up: float, down: float) -> None:
    own = "{name: one, link: {up: {delay: 4ms}, down: {delay: 128ms}}}"
    scenario = small(("name: one", own), ("name: small\n", LINE.replace("RS", server)))
    heap, arrived = Heap(), list[float]()
    links, _ = build_links(heap, scenario)
    links.up.send(number, 0, lambda: arrived.append(heap.now))
    links.down.send(number, 0, lambda: arrived.append(heap.now))
    heap.run(math.inf, 1000)
    assert sorted(arrived) == pytest.approx(sorted([up, down]))


def test_devices_behind_a_link_share_its_rate_in_the_direction_of_their_path() -> None:
    """The pair at c sends up the link c-b, of 2 mbit; the server at b."""
    scenario = small(("name: small\n", LINE.replace("RS", "b")))
    heap, arrived = Heap(), dict[int, float]()
    _, pair = build_links(heap, scenario)
    for number in range(2):
        pair.up.send(number, 125_000, lambda n: arrived.update({n: heap.now}), number)
    heap.run(math.inf, 1000)
    time = 2 * 1e6 * FRAME / 2e6 + 0.010
    assert arrived == pytest.approx({0: time, 1: time})


NETWORK = """\
network:
  routers: [core, east, west]
  links:
    - {between: [east, core], up: {rate: RATE, delay: 3ms}, down: {rate: RATE, delay: 3ms}}
    - {between: [west, east], up: {rate: RATE, delay: 3ms}, down: {rate: RATE, delay: 3ms}}
  attach: {adsl: west, fiber: east}
  server: core
"""


@pytest.mark.slow
def test_a_run_behind_a_network_is_slower_and_repeats(tmp_path: Path) -> None:
    def run(rate: str, folder: str) -> tuple[float, bytes]:
        text = SCENARIO.replace("faults:", f"{NETWORK.replace('RATE', rate)}faults:")
        folder_of_run, _, view = played(tmp_path / folder, text=text)
        return view.records[-1]["at"], (folder_of_run / "run.jsonl").read_bytes()

    (wide, _), narrow = run("1gbit", "a"), run("200kbit", "b")
    assert narrow == run("200kbit", "c")
    assert narrow[0] > 1.2 * wide


# -- faults of links -------------------------------------------------------------------------------

FAULTY = NETWORK.replace("RATE", "1mbit") + "faults: [{FAULT}]\n"


def faulty(fault: str) -> Scenario:
    """Return a scenario with devices at the routers `west` and `east`, and a fault."""
    text = FAULTY.replace("FAULT", fault).replace("adsl", "pair").replace("fiber", "one")
    return small(("name: small\n", f"name: small\nvirtual: {{tcp: false}}\n{text}"))


def test_a_cut_link_cuts_all_devices_behind_it_at_the_same_times() -> None:
    fault = "kind: partition, nodes: [west-east], every: {exponential: 1min}, lasts: 10s"
    actions = timeline(faulty(f"{fault}, between: [0s, 10min]"))
    times = {
        name: [timed.at for timed in actions if timed.action.node == name]
        for name in ("one", "pair-0", "pair-1")
    }
    assert not times["one"] and len(times["pair-0"]) > 2
    assert times["pair-0"] == times["pair-1"]
    (first, _, third) = timeline(faulty("kind: partition, nodes: [east-core], at: 9s"))
    assert (first.action.verb, first.action.node, third.action.node) == ("sever", "one", "pair-1")


def test_a_degraded_link_is_slower_and_later_for_the_devices_behind_it() -> None:
    fault = "kind: degrade, nodes: [west-east], at: 1s, lasts: 9s, rate: 50%, delay: 1s"
    scenario = faulty(fault)
    (begin, end) = (timed.action for timed in timeline(scenario))
    assert begin.node == "west-east"
    heap, arrived = Heap(), list[float]()
    network = NetworkLinks(heap, scenario)
    links = build_links(heap, scenario, network)
    faults = NetworkFaults(scenario, network, links)
    one, pair = links
    for action, rate, more in ((begin, 5e5, 1.0), (end, 1e6, 0.0)):
        faults.perform(action)
        for group, expected in (
            (pair, 2e6 * FRAME / rate + 0.006 + more),
            (one, 2e6 * FRAME / 1e6 + 0.003),
        ):
            began = heap.now
            group.up.send(0, 250_000, lambda began: arrived.append(heap.now - began), began)
            heap.run(math.inf, 1000)
            assert arrived[-1] == pytest.approx(expected)


def test_a_message_that_is_leaving_goes_on_at_the_rate_of_the_degraded_link() -> None:
    scenario = faulty("kind: degrade, nodes: [east-core], at: 1s, rate: 25%")
    heap, arrived = Heap(), list[float]()
    network = NetworkLinks(heap, scenario)
    links = build_links(heap, scenario, network)
    (begin,) = (timed.action for timed in timeline(scenario))
    for group in links:
        group.up.send(0, 125_000, lambda: arrived.append(heap.now))
    heap.at(1.0, NetworkFaults(scenario, network, links).perform, begin)
    heap.run(math.inf, 1000)
    whole = 2 * 1e6 * FRAME
    assert sorted(arrived) == pytest.approx([1 + (whole - 1e6) / 2.5e5 + d for d in (0.003, 0.006)])


def test_lost_packets_slow_tcp_on_the_devices_behind_the_link() -> None:
    scenario = faulty("kind: degrade, nodes: [west-east], at: 1s, loss: 10%")
    network = NetworkLinks(Heap(), scenario)
    network.reshape("west-east", {"loss": 0.1})
    ahead = network.ahead("pair-0")
    assert ahead is not None and ahead.loss == pytest.approx(0.1)
    assert network.ahead("one") == (scenario.shared_of["one"], 0.0)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            "kind: crash, nodes: [west-east], at: 1s",
            "nodes[0]: 'west-east' is a link: degrade and p",
        ),
        ("kind: partition, nodes: [wst-east], at: 1s", "'wst-east' is no device (did you mean"),
        (
            "kind: degrade, nodes: [west-east], loss: 1%, per_iteration: 1%",
            "per_iteration: is drawn",
        ),
        (
            "kind: degrade, nodes: [west-east], link: 2g, at: 1s",
            "nodes[0]: 'west-east' is a link of the network, and `link` takes",
        ),
        ("kind: degrade, nodes: [west-east], loss: 100%, at: 1s", "loss: all packets are lost"),
    ],
)
def test_a_fault_that_no_link_can_have_is_refused(fault: str, said: str) -> None:
    text = FAULTY.replace("FAULT", fault).replace("adsl", "pair").replace("fiber", "one")
    (told,) = mistakes(("name: small\n", f"name: small\n{text}"))
    assert told.startswith("scenario:9: faults[0].")
    assert said in told


def test_a_fault_of_one_group_or_link_leaves_the_links_of_other_groups_alone() -> None:
    """No loss can come on top of that of a loss model with four states."""
    model = "{name: one, link: {up: {loss_model: {state: {p13: 1%, p31: 30%}}}}}"
    for node in ("pair", "west-east"):
        fault = f"kind: degrade, nodes: [{node}], loss: 1%, at: 1s"
        text = FAULTY.replace("FAULT", fault).replace("adsl", "pair").replace("fiber", "one")
        scenario = small(("name: one", model), ("name: small\n", f"name: small\n{text}"))
        assert "one" not in reshaped_links(scenario)
