"""Bottlenecks in a scenario file: who is behind which, and what is said of mistakes."""

import pytest

from emulator.scenario import demand, dump, loads, overview
from emulator.scenario.timeouts import exchange_time
from emulator.units import Rate, Seconds
from emulator.world.links.bottleneck import SharedLink, SharedSide
from emulator.world.links.link import Link, Side
from tests.fakes.small_scenario import mistakes, small

GROUPS = ("name: pair, count: 2", "name: home, count: 3")
"""Beside the device `one`, a group `home` of three."""


def behind(*entries: str) -> tuple[str, str]:
    """Return a change of the small scenario that adds bottlenecks."""
    return "name: small", "name: small\nbottlenecks:\n" + "".join(f"  - {e}\n" for e in entries)


@pytest.mark.parametrize(
    ("members", "names"),
    [
        ("[home]", ["home-0", "home-1", "home-2"]),
        ("[home-2, one]", ["one", "home-2"]),
        ('["home-*"]', ["home-0", "home-1", "home-2"]),
        ('["ho*"]', ["home-0", "home-1", "home-2"]),
        ('["*e"]', ["one", "home-0", "home-1", "home-2"]),
        ('["*-1", home-1]', ["home-1"]),
    ],
)
def test_members_are_named_by_group_device_or_pattern(members: str, names: list[str]) -> None:
    entry = f"{{name: street, up: {{rate: 1mbit}}, members: {members}}}"
    scenario = small(GROUPS, behind(entry))
    assert list(scenario.bottleneck_of) == names
    assert {each.name for each in scenario.bottleneck_of.values()} == {"street"}
    (row,) = overview(scenario).bottlenecks
    assert list(row.members) == names


def test_a_scenario_without_bottlenecks_says_nothing_of_them() -> None:
    assert small().bottleneck_of == {}
    assert "bottlenecks" not in overview(small()).plain()


def test_what_a_run_keeps_has_the_same_bottlenecks() -> None:
    entry = "{name: street, up: {rate: 1mbit, delay: 5ms}, down: {rate: 8mbit}, members: [home]}"
    scenario = small(GROUPS, behind(entry))
    assert loads(dump(scenario)) == scenario


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{name: s, members: [one]}", "[0]: limits nothing: give up or down a rate, for example"),
        ("{name: s, up: {delay: 5ms}, members: [one]}", "[0]: limits nothing: give up or down"),
        (
            "{name: s, up: {rate: 1mbit, loss: 1%}, members: [one]}",
            "[0].up.loss: a shared queue has rate and delay alone: write loss in the links of",
        ),
        ("{name: s, up: {rte: 1mbit}, members: [one]}", "[0].up.rte: no such key (did you mean 'r"),
        ("{name: s, up: {rate: 1}, members: [one]}", "[0].up.rate: 1 has no unit: write it in bit"),
        ("{name: s, up: {rate: 1mbit}, members: []}", "[0].members: is empty: name the devices"),
        ("{name: s, up: {rate: 1mbit}}", "[0].members: is missing: members: names of devices"),
        (
            "{name: s, up: {rate: 1mbit}, members: [hom]}",
            "members[0]: 'hom' is no device (did you ",
        ),
        ('{name: s, up: {rate: 1mbit}, members: ["x*"]}', "'x*' is no device: there are one, home"),
        (
            "{name: one, up: {rate: 1mbit}, members: [one]}",
            "[0].name: 'one' is the name of devices",
        ),
        ("{name: server, up: {rate: 1mbit}, members: [one]}", "'server' is the name of another ro"),
        ("{name: a/b, up: {rate: 1mbit}, members: [one]}", "[0].name: 'a/b': a name is of a-z"),
    ],
)
def test_a_mistake_is_told_with_its_place(entry: str, said: str) -> None:
    (told,) = mistakes(GROUPS, behind(entry))
    assert told.startswith("scenario:3: bottlenecks[0]")
    assert said in told


def test_a_device_is_behind_one_bottleneck_and_all_mistakes_are_told() -> None:
    told = mistakes(
        GROUPS,
        behind(
            "{name: street, up: {rate: 1mbit}, members: [home]}",
            '{name: street, up: {rate: 1mbit, jitter: 1ms}, members: ["home-*", one, two]}',
        ),
    )
    assert [line.split(": ")[:2] for line in told] == [
        ["scenario:4", "bottlenecks[1].up.jitter"],
        ["scenario:4", "bottlenecks[1].name"],
        ["scenario:4", "bottlenecks[1].members[0]"],
        ["scenario:4", "bottlenecks[1].members[2]"],
    ]
    assert "home-0 and 2 more are behind bottlenecks[0] already" in told[2]
    assert "'street' is the name of bottlenecks[0] too" in told[1]


def test_a_member_waits_for_all_others_before_it_gives_up() -> None:
    entry = "{name: street, up: {rate: 1mbit}, down: {rate: 1mbit, delay: 1s}, members: [home]}"
    plain, shared = small(GROUPS), small(GROUPS, behind(entry))
    more = exchange_time(shared, Link(), 10**6) - exchange_time(plain, Link(), 10**6)
    assert more == pytest.approx(2 * Side(Rate(1e6), Seconds(1)).transfer(3 * 10**6))


def test_a_gateway_needs_a_port_and_memory() -> None:
    entry = "{name: street, up: {rate: 1mbit}, members: [home]}"
    plain, shared = demand(small(GROUPS)), demand(small(GROUPS, behind(entry)))
    assert shared.ports == plain.ports + 1
    assert shared.memory > plain.memory


def test_the_delays_of_link_and_bottleneck_add_up() -> None:
    shared = SharedLink(SharedSide(Rate(1e6), Seconds(0.01)), SharedSide(Rate(1e6)))
    link = Link(Side(Rate(5e6), Seconds(0.02)), Side(Rate(5e6)))
    assert shared.lengthen(link) == Link(Side(Rate(5e6), Seconds(0.03)), Side(Rate(5e6)))
    assert SharedLink().lengthen(link) is link
