"""Networks in a scenario file: spelled out, from GraphML and from topohub, and what is said of
mistakes."""

from pathlib import Path

import pytest

from emulator.checks.links import standing_clock
from emulator.errors import ScenarioError
from emulator.scenario import Scenario, dump, loads, overview
from emulator.scenario.timeouts import exchange_time
from emulator.units import Rate, Seconds
from emulator.world.links.bottleneck import SharedSide
from emulator.world.links.link import Link, Side
from tests.fakes.small_scenario import SMALL, mistakes, small

LINE = """{routers: [a, b, c], server: c, attach: {one: a, "pair-*": b}, links: [
  {between: [a, b], up: {rate: 1mbit, delay: 2ms}, down: {rate: 2mbit, delay: 3ms}},
  {name: last, between: [c, b], up: {rate: 3mbit, delay: 100us}, down: {delay: 1ms}}]}"""


def network(text: str) -> tuple[str, str]:
    """Return a change of the small scenario that adds a network."""
    return "name: small", f"name: small\nnetwork: {text}"


def test_devices_have_the_paths_of_their_routers() -> None:
    scenario = small(network(LINE))
    assert [link.name for link in scenario.network_links] == ["a-b", "last"]
    one, pair = scenario.route_of["one"], scenario.route_of["pair-1"]
    assert (one.routers, one.back) == (("a", "b", "c"), ("c", "b", "a"))
    assert one.shared.up == SharedSide(Rate(1e6), Seconds(0.003))
    assert pair.shared.down == SharedSide(Rate(3e6), Seconds(0.0001))
    assert scenario.behind_links == {"a-b": ("one",), "last": ("one", "pair-0", "pair-1")}
    rows = overview(scenario).paths
    assert [(row.router, row.devices) for row in rows] == [
        ("a", ("one",)),
        ("b", ("pair-0", "pair-1")),
    ]


def test_a_bottleneck_stands_before_the_network() -> None:
    street = "bottlenecks: [{name: street, up: {rate: 500kbit, delay: 1ms}, members: [one]}]"
    scenario = small(network(f"{LINE}\n{street}"))
    assert scenario.shared_of["one"].up == SharedSide(Rate(5e5), Seconds(0.004))
    assert scenario.shared_of["pair-0"].up == SharedSide(None, Seconds(0.001))


def test_a_scenario_without_a_network_says_nothing_of_it() -> None:
    assert (small().route_of, small().shared_of, small().behind_links) == ({}, {}, {})
    assert not {"paths", "network"} & overview(small()).plain().keys()


def test_devices_that_are_not_attached_are_dealt_over_the_other_routers() -> None:
    given = "{routers: [a, b, c], links: [{between: [a, b]}, {between: [b, c]}]}"
    scenario = small(network(given))
    assert scenario.network is not None and scenario.network.server_router == "b"
    routers = {name: route.routers[0] for name, route in scenario.route_of.items()}
    assert routers == {"one": "a", "pair-0": "c", "pair-1": "a"}


@pytest.mark.parametrize("text", [LINE, "{topohub: gabriel/25/0, link: {up: {rate: 5mbit}}}"])
def test_what_a_run_keeps_has_the_same_network(text: str, tmp_path: Path) -> None:
    scenario = small(network(text))
    assert "topohub" not in dump(scenario)
    assert loads(dump(scenario), folder=tmp_path) == scenario


def test_a_topology_of_topohub_has_the_delays_of_its_lengths() -> None:
    scenario = small(network("{topohub: sndlib/polska, link: {up: {rate: 5mbit}}}"))
    given = scenario.network
    assert given is not None and len(given.routers) == 12 and len(given.links) == 18
    (link,) = (each for each in given.links if each.between == ("gdansk", "warsaw"))
    assert link.up == SharedSide(Rate(5e6), Seconds(0.00137))  # 273.93 km at 200,000 km/s
    assert link.down == SharedSide(None, Seconds(0.00137))


NODE = '<node id="{}"><data key="label">{}</data></node>'
KEYS = "".join(
    f'<key id="{key}" for="{what}" attr.name="{key}" attr.type="{kind}"/>'
    for key, what, kind in (
        *[("label", "node", "string"), ("rate", "edge", "string"), ("dist", "edge", "double")],
        *[("up_rate", "edge", "string"), ("delay", "edge", "string")],
    )
)
EDGE = '<edge source="{}" target="{}">{}</edge>'


def graphml(nodes: str, edges: str) -> str:
    return f'<graphml>{KEYS}<graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'


def data(**values: object) -> str:
    return "".join(f'<data key="{key}">{value}</data>' for key, value in values.items())


def from_file(folder: Path, text: str, more: str = "") -> Scenario:
    (folder / "net.graphml").write_text(text)
    given = f"network: {{file: ./net.graphml{more}}}"
    return loads(SMALL.replace("name: small", f"name: small\n{given}"), folder=folder)


def test_a_file_has_routers_and_links(tmp_path: Path) -> None:
    nodes = "".join(
        NODE.format(*each) for each in [("0", "Zürich HB"), ("1", "server"), ("2", "a" * 40)]
    )
    edges = EDGE.format(0, 1, data(rate="10mbit", dist="200")) + EDGE.format(
        1, 2, data(up_rate="1mbit", delay="5ms")
    )
    scenario = from_file(tmp_path, graphml(nodes, edges), ", link: {down: {rate: 8mbit}}")
    assert scenario.network is not None
    assert scenario.network.routers == ("zurich-hb", "server-r", "a" * 18)
    first, second = scenario.network_links
    ten = SharedSide(Rate(1e7), Seconds(0.001))
    assert (first.name, first.up, first.down) == ("zurich-hb-server-r", ten, ten)
    assert second.up == SharedSide(Rate(1e6), Seconds(0.005))
    assert second.down == SharedSide(Rate(8e6), Seconds(0.005))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no xml", "is no GraphML: syntax error"),
        (graphml("", ""), "0 routers: from 1 to 1,000 are possible"),
        (
            graphml(NODE.format(0, "a"), EDGE.format(0, 1, data(rate="10"))),
            "an edge has rate '10': '10' is not in bit or kbit",
        ),
    ],
)
def test_a_mistake_in_a_file_is_told_with_the_place(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"scenario:2: network\.file: ") as error:
        from_file(tmp_path, text)
    assert said in str(error.value)


def test_a_file_that_is_missing_is_named() -> None:
    (told,) = mistakes(network("{file: ./none.graphml}"))
    assert "network.file: " in told and told.endswith(
        "none.graphml cannot be read: No such file or directory"
    )


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("{}", "", "write one of routers, file and topohub (none found)"),
        ("{routers: [a], file: ./x}", "", "write one of routers, file and topohub (routers and f"),
        ("{routers: [a], link: {up: {rate: 1mbit}}}", "link", "is of file and topohub"),
        ("{topohub: nope/1}", "topohub", "'nope/1' is no topology of topohub: there are gabriel"),
        ("{topohub: ../x}", "topohub", "'../x' is no topology: write as gabriel/25/0"),
        ("{topohub: gabriel/25/0, links: []}", "links", "stands beside topohub"),
        ("{topohub: gabriel/25/0, link: {up: {rate: 1}}}", "link.up.rate", "1 has no unit"),
        ("{routers: [a, a]}", "routers[1]", "'a' is the name of network.routers[0] too"),
        ("{routers: [one]}", "routers[0]", "'one' is the name of devices[0] too"),
        ("{routers: [a, B]}", "routers[1]", "'B': a name is of a-z"),
        (
            "{routers: [a, b], links: [{between: [a, c]}]}",
            "links[0].between[1]",
            "'c' is no router",
        ),
        ("{routers: [a, b], links: [{between: [a, a]}]}", "links[0].between", "joins a router wit"),
        ("{routers: [a, b], links: [{between: [a]}]}", "links[0].between[1]", "is missing"),
        (
            "{routers: [a, b], links: [{between: [a, b]}, {between: [a, b]}]}",
            "links[1].name",
            "'a-b' is the name of network.links[0].name too",
        ),
        (
            "{routers: [a, b], links: [{between: [a, b], up: {rate: 1mbit, loss: 1%}}]}",
            "links[0].up.loss",
            "a shared queue has rate and delay alone: write loss in the links of the devices",
        ),
        ("{routers: [a, b], links: []}", "links", "b is not connected with the server's router"),
        ("{routers: [a, b], attach: {one: b, pair: a}, server: a}", "attach.one", "b is not conn"),
        ("{routers: [a], server: b}", "server", "'b' is no router: there are a"),
        ("{routers: [a], attach: {one: a}}", "attach", "pair-0 and 1 more are attached to no"),
        ("{routers: [a], attach: {one: a, pair: a, ones: a}}", "attach.ones", "'ones' is no devi"),
        ("{routers: [a], attach: {one: a, pair: x}}", "attach.pair", "'x' is no router"),
        ("{routers: [a], attach: {pair: a, '*': a}}", "attach.*", "pair-0 is attached by 'pair' a"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, place: str, said: str) -> None:
    (told,) = mistakes(network(text))
    where, _, rest = told.partition(f"network{f'.{place}' if place else ''}: ")
    assert where.startswith("scenario:") and rest.startswith(said)


def test_no_loss_comes_on_top_of_a_model_with_four_states() -> None:
    fault = "faults: [{kind: degrade, nodes: [a-b], loss: 1%, at: 1s}]"
    model = "{name: one, link: {up: {loss_model: {state: {p13: 1%, p31: 30%}}}}}"
    (told,) = mistakes(("name: one", model), network(f"{LINE}\n{fault}"))
    assert "faults[0].loss: one is behind the link" in told


def test_shards_and_a_network_are_refused() -> None:
    (told,) = mistakes(network("{routers: [a]}\nserver: {shards: 2}"))
    assert "network: messages share the rate of a network's links" in told


def test_a_device_waits_for_all_others_before_it_gives_up() -> None:
    plain, shared = small(), small(network(LINE))
    more = exchange_time(shared, Link(), 10**6) - exchange_time(plain, Link(), 10**6)
    slowest = Side(Rate(1e6), Seconds(0.002)).transfer(10**6)
    assert more == pytest.approx(2 * (slowest + 0.0031))
    fault = "faults: [{kind: degrade, nodes: [last], rate: 10%, at: 1s, lasts: 1s}]"
    faulty = small(network(f"{LINE}\n{fault}"))
    worse = exchange_time(faulty, Link(), 10**6) - exchange_time(plain, Link(), 10**6)
    assert worse == pytest.approx(
        2 * (Side(Rate(3e5), Seconds(0.0001)).transfer(3 * 10**6) + 0.0031)
    )


@pytest.mark.parametrize(("rate", "stands"), [("1mbit", False), (None, True)])
def test_a_network_that_takes_time_lets_the_clock_go_on(rate: str | None, stands: bool) -> None:
    side = f", up: {{rate: {rate}}}" if rate else ""
    given = f"{{routers: [a, b], links: [{{between: [b, a]{side}}}], server: a}}"
    scenario = small(
        network(f"{given}\nvirtual: {{step: 0s}}"), ("stop: {updates: 10}", "stop: {time: 1s}")
    )
    assert bool(list(standing_clock(scenario))) == stands
