"""Background traffic in virtual time: what it leaves to transfers, its laws, and whole runs."""

from itertools import pairwise, takewhile
from pathlib import Path
from random import Random
from statistics import mean

import pytest

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.background_traffic import BackgroundTraffic
from emulator.runtimes.virtual.links.network import GroupLinks, build_links
from emulator.runtimes.virtual.links.shared_rates import NetworkLinks
from emulator.scenario import Scenario, dump, loads
from emulator.scenario.sections.devices import BackgroundSide
from emulator.scenario.timeline.link_changes import reshaped_links
from emulator.scenario.timeouts import answer_timeout
from emulator.units import Bytes, Rate, Seconds
from emulator.world.laws import Fixed
from emulator.world.links.link import FRAME
from emulator.world.links.offered_traffic import SPAN, offered
from tests.fakes.small_scenario import mistakes, small
from tests.fakes.virtual_world import SCENARIO, played

MEGABYTE = 8e6 * FRAME
"""Bits of frames of a message of a million bytes."""


def given(background: str, more: str = "", count: int = 1) -> Scenario:
    """Return a scenario with devices `home` on a link of 4 mbit, with `background` beside."""
    link = "link: {up: {rate: 4mbit}, down: {rate: 4mbit}}"
    home = f"{{name: home, count: {count}, {link}, background: {background}}}"
    home = home if background else home.replace(", background: ", "")
    return small(
        ("{name: pair, count: 2}", home),
        ("name: small\n", f"name: small\nvirtual: {{tcp: false}}\n{more}\n"),
    )


class World:
    """The links of a scenario with its background traffic, which begins at 0."""

    def __init__(self, scenario: Scenario) -> None:
        self.heap, self.arrived = Heap(), dict[int, float]()
        self.network = NetworkLinks(self.heap, scenario)
        self.links = build_links(self.heap, scenario, self.network)
        self.background = BackgroundTraffic(self.heap, scenario, self.network)
        self.background.begin(0.0)
        self.heap.run(0.0, 100)

    @property
    def homes(self) -> GroupLinks:
        return self.links[1]

    def send(self, number: int = 0, size: int = 1_000_000) -> None:
        self.homes.up.send(number, size, lambda: self.arrived.update({number: self.heap.now}))

    def run(self, until: float = 1000.0) -> dict[int, float]:
        self.heap.run(until, 10**6)
        return self.arrived


@pytest.mark.parametrize(
    ("background", "rate"),
    [
        ("", 4e6),
        ("{down: {rate: 3mbit}}", 4e6),
        ("{up: {rate: 1mbit}}", 3e6),
        ("{up: {rate: 3mbit}}", 1e6),
        ("{up: {rate: 9mbit}}", 4e4),  # a hundredth is left
        ("{up: {rate: 1mbit}, kind: tcp}", 3e6),
        ("{up: {rate: 3mbit}, kind: tcp}", 2e6),
        ("{up: {rate: 9mbit}, kind: tcp}", 2e6),
    ],
)
def test_a_transfer_has_what_a_stream_leaves(background: str, rate: float) -> None:
    world = World(given(background))
    world.send()
    assert world.run() == {0: pytest.approx(MEGABYTE / rate)}


def test_what_a_stream_carries_is_counted_at_each_link_that_it_passes() -> None:
    more = "bottlenecks: [{name: street, up: {rate: 2mbit}, members: [home]}]"
    world = World(given("{up: {rate: 3mbit}, down: {rate: 1mbit}}", more))
    world.run(8.0)
    assert world.background.counts() == {
        "home-0": (1_000_000, 3_000_000),
        "street": (1_000_000, round(0.99 * 2_000_000)),
    }
    world = World(given("{up: {rate: 3mbit}, kind: tcp}", more))
    world.send(size=250_000)
    world.run(8.0)
    # 1 mbit each on the street until the message is through, then 2 mbit
    through = 250_000 * 8 * FRAME / 1e6
    assert world.arrived[0] == pytest.approx(through)
    up = (through * 1e6 + (8 - through) * 2e6) / 8
    assert world.background.counts() == {"home-0": (0, round(up)), "street": (0, round(up))}


def test_a_bottleneck_has_traffic_of_its_own_which_its_members_share_with() -> None:
    stream = "background: {up: {rate: 1mbit}}"
    more = f"bottlenecks: [{{name: street, up: {{rate: 3mbit}}, members: [home], {stream}}}]"
    world = World(given("", more, count=2))
    for number in range(2):
        world.send(number)
    assert world.run() == pytest.approx(dict.fromkeys(range(2), 2 * MEGABYTE / 2000000.0))


def test_a_link_of_the_network_has_traffic_of_its_own() -> None:
    stream = "background: {up: {rate: 1mbit}}"
    net = f"{{between: [a, b], up: {{rate: 3mbit}}, {stream}}}"
    more = f"network: {{routers: [a, b], links: [{net}], server: b}}"
    world = World(given("", more))
    world.send()
    assert world.run() == {0: pytest.approx(MEGABYTE / 2e6)}
    world.network.reshape("a-b", {"rate": 0.5})
    began = world.heap.now
    world.send()
    assert world.run(2000)[0] - began == pytest.approx(MEGABYTE / 0.5e6)


def test_streams_that_heed_nobody_pass_no_more_than_a_link_has() -> None:
    more = "bottlenecks: [{name: street, up: {rate: 3mbit}, members: [home]}]"
    stream = "{up: {rate: 2mbit, law: on-off, on: 1s, off: 1s}}"
    world = World(given(stream, more, count=2))
    world.run(2.0)
    assert world.background.counts()["street"] == (0, round(0.99 * 3e6 / 8))


def test_a_stream_that_lacked_room_takes_what_another_releases() -> None:
    stream = "background: {up: {rate: 2500kbit}}"
    more = f"bottlenecks: [{{name: street, up: {{rate: 3mbit}}, members: [home], {stream}}}]"
    world = World(given("{up: {rate: 2mbit, law: on-off, on: 1s, off: 9s}}", more))
    world.run(2.0)
    # the device's stream came first: 2 and 0.97 mbit for a second, then 2.5 mbit
    assert world.background.counts()["street"] == (0, round((2.97e6 + 2.5e6) / 8))


def test_a_change_of_the_link_changes_what_is_left() -> None:
    world = World(
        given("{up: {rate: 1mbit}}", "faults: [{kind: degrade, nodes: [home], rate: 50%, at: 1s}]")
    )
    world.homes.reshape(0, {"rate": 0.5})
    world.send()
    assert world.run() == {0: pytest.approx(MEGABYTE / 1e6)}


def test_a_cut_stops_the_streams_beside_the_device() -> None:
    world = World(given("{up: {rate: 1mbit}}"))
    world.heap.at(2.0, lambda: world.background.cut("home-0", cut=True))
    world.heap.at(5.0, lambda: world.background.cut("home-0", cut=False))
    world.run(8.0)
    assert world.background.counts() == {"home-0": (0, round(5e6 / 8))}


# -- laws ------------------------------------------------------------------------------------------


def course(side: BackgroundSide, until: float, seed: int = 1) -> list[tuple[float, float]]:
    return list(takewhile(lambda change: change[0] < until, offered(side, Random(seed), 0.0)))


def mean_rate(changes: list[tuple[float, float]], until: float) -> float:
    times = [*(at for at, _ in changes), until]
    lasts = (after - before for before, after in pairwise(times))
    return sum(rate * span for (_, rate), span in zip(changes, lasts, strict=True)) / until


@pytest.mark.parametrize("size", [None, Bytes(65536)])
@pytest.mark.parametrize("rate", [1e6, 8e8])
def test_arrivals_are_those_of_a_poisson_process(size: Bytes | None, rate: float) -> None:
    """Mean and variance of the number of arrivals in a span are equal."""
    side = BackgroundSide(rate=Rate(rate), law="poisson", size=size)
    until = 2000 * SPAN
    changes = course(side, until)
    assert mean_rate(changes, until) == pytest.approx(rate, rel=0.06)
    every = iter(changes)
    bits, numbers = 8 * side.arrival, list[float]()
    _, now = next(every)
    upcoming = next(every, None)
    for span in range(2000):
        while upcoming is not None and upcoming[0] <= span * SPAN + 1e-9:
            now, upcoming = upcoming[1], next(every, None)
        numbers.append(now * SPAN / bits)
    assert all(number == pytest.approx(round(number)) for number in numbers)
    average = mean(numbers)
    variance = mean((number - average) ** 2 for number in numbers)
    assert variance == pytest.approx(average, rel=0.15)


def test_a_stream_is_on_and_off_in_turns() -> None:
    on, off = Fixed(Seconds(2)), Fixed(Seconds(3))
    side = BackgroundSide(rate=Rate(1e6), law="on-off", on=on, off=off)
    assert course(side, 11) == [(0, 1e6), (2, 0), (5, 1e6), (7, 0), (10, 1e6)]
    drawn = BackgroundSide(rate=Rate(1e6), law="on-off")
    assert mean_rate(course(drawn, 2e5), 2e5) == pytest.approx(5e5, rel=0.05)


def test_a_trace_gives_the_rate(tmp_path: Path) -> None:
    (tmp_path / "tv.csv").write_text("seconds,rate\n0,1mbit\n2,0bit\n3,2mbit\n5,end\n")
    text = dump(given("{up: {law: constant, rate: 1mbit}}"))
    home = text.replace("law: constant", "law: trace, trace: ./tv.csv").replace("rate: 1mbit, ", "")
    scenario = loads(home, folder=tmp_path)
    (_, group) = scenario.devices
    assert group.background is not None and group.background.up is not None
    changes = course(group.background.up, 9)
    assert changes == [(0, 1e6), (2, 0), (3, 2e6), (5, 1e6), (7, 0), (8, 2e6)]
    assert loads(dump(scenario)) == scenario


# -- what a scenario says --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("background", "place", "said"),
    [
        ("{}", "", "is no traffic: give `up`, `down` or both"),
        ("{up: {law: poisson}}", "up", "the law 'poisson' needs `rate`"),
        ("{up: {law: trace, rate: 1mbit}}", "up", "the law 'trace' needs `trace`"),
        ("{up: {rate: 1mbit, size: 1KiB}}", "up", "the law 'constant' has no size: leave it out"),
        ("{up: {rate: 1mbit, law: poison}}", "up.law", "'poison' (did you mean 'poisson'?)"),
        ("{up: {rate: 1mbit}, kind: dccp}", "kind", "'dccp' is not udp or tcp"),
        ("{up: {law: trace, trace: ./none.csv}}", "up.trace", "none.csv cannot be read"),
        ("{up: {law: trace, trace: {files: x}}}", "up.trace.files", "background traffic has one"),
    ],
)
def test_a_mistake_is_told_with_its_place(background: str, place: str, said: str) -> None:
    (told,) = mistakes(("{name: pair, count: 2}", f"{{name: home, background: {background}}}"))
    assert f"devices[1].background{f'.{place}' if place else ''}" in told
    assert said in told


def test_devices_wait_longer_beside_background_traffic() -> None:
    def timeout(background: str, more: str = "") -> float:
        scenario = given(background, more)
        group = scenario.devices[1]
        others = reshaped_links(scenario).get("home-0", ())
        return answer_timeout(scenario, group.link, 10**8, others)

    alone = timeout("")
    assert timeout("{up: {rate: 3mbit}, down: {rate: 3mbit}}") == pytest.approx(4 * alone, rel=0.01)
    assert timeout("{up: {rate: 9mbit}, kind: tcp}") == pytest.approx(1.5 * alone, rel=0.01)
    street = "bottlenecks: [{name: street, up: {rate: 1mbit}, members: [home]STREAM}]"
    free, beside = (
        timeout("", street.replace("STREAM", more)) - alone
        for more in ("", ", background: {up: {rate: 500kbit}}")
    )
    assert beside == pytest.approx(2 * free)


@pytest.mark.slow
def test_a_run_beside_background_traffic_is_slower_and_repeats(tmp_path: Path) -> None:
    def run(background: str, folder: str) -> tuple[float, bytes]:
        group = f"- name: adsl\n    background: {background}" if background else "- name: adsl"
        text = SCENARIO.replace("- name: adsl", group)
        made, _, view = played(tmp_path / folder, text=text)
        return view.records[-1]["at"], (made / "run.jsonl").read_bytes()

    free = run("", "a")
    stream = (
        "{up: {rate: 900kbit, law: poisson}, down: {rate: 7mbit, law: on-off, on: 3s, off: 1s}}"
    )
    busy = run(stream, "b")
    assert busy == run(stream, "c")
    assert b'"background"' in busy[1] and b'"background"' not in free[1]
    assert busy[0] > 1.1 * free[0]
