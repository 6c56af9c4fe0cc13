"""Bottlenecks as containers have them: addresses, routes, the gateway, and delays on the links."""

from dataclasses import replace

import pytest

from emulator.errors import DeploymentError
from emulator.node.config import GatewayRole
from emulator.node.link.access_link import AccessLink
from emulator.runtimes.docker.configs import spec
from emulator.runtimes.docker.network.ways import Ways, addresses
from emulator.runtimes.docker.play_containers import bottlenecks
from emulator.shaping import access, gateway
from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.links.link import Side
from emulator.world.links.reshaping import read, read_side
from tests.runtimes.docker.configs.pair_configs import DELAYED, HELD, TEXT, configs
from tests.runtimes.docker.configs.wanted_container import MARKS, WANTED

STREET = """\
bottlenecks:
  - {name: street, up: {rate: 500kbit, delay: 5ms}, down: {rate: 4mbit, delay: 3ms}, members: [far]}
"""
SHARED = TEXT + STREET
NODES = ["server", "evaluator", "street", "near", "far"]
ADDRESSES = {name: f"10.9.0.{number}" for number, name in enumerate(NODES, 2)}
QUEUES = replace(HELD, shared="htb")
WAYS = Ways({"far": "street"}, ADDRESSES)


def shared(backend: Backend = HELD, text: str = SHARED):
    return replace(configs(backend, text), ways=WAYS)


def test_every_node_has_an_address_of_its_own_behind_the_engines() -> None:
    assert addresses("10.9.0.0/24", NODES) == ADDRESSES
    with pytest.raises(DeploymentError, match="has addresses for 5 of 6 containers"):
        addresses("10.9.0.0/29", [*NODES, "more"])


def test_members_and_server_meet_at_the_gateway_and_others_do_not() -> None:
    there, back = gateway.route("10.9.0.2", "10.9.0.4"), gateway.route("10.9.0.6", "10.9.0.4")
    made = shared()
    near, far = made.scenario.nodes
    assert made.device(far, ["x"]).network.shape[0] == there
    assert made.server().network.shape[1] == back
    for node in (made.device(near, ["x"]), made.evaluator(["x"])):
        assert not [each for each in node.network.shape if "route" in str(each)]


def test_a_run_without_bottlenecks_has_no_routes() -> None:
    assert Ways().routes("server") == Ways().routes("far") == []
    assert bottlenecks(configs().scenario, HELD) == {}


def test_a_gateway_shapes_nothing_but_the_queues() -> None:
    made = shared(QUEUES)
    (street,) = made.scenario.bottlenecks
    node = made.gateway(street)
    assert (node.name, node.part) == ("street", GatewayRole())
    there = "10.9.0.2", ["10.9.0.6"]
    assert node.network.shape == gateway.forward(street.shared, *there, QUEUES)
    entry = {"queue": "htb, a queue for each member", "members": ["far"]}
    assert bottlenecks(made.scenario, QUEUES) == {"bottlenecks": {"street": entry}}


def test_the_kernel_delays_a_members_packets_by_the_bottlenecks_delay_too() -> None:
    made, plain = shared(DELAYED), configs(DELAYED)
    _, far = made.scenario.nodes
    (street,) = made.scenario.bottlenecks
    link, beyond = street.shared.lengthen(far.link), made.scenario.server.link.down
    assert (link.up.delay, link.down.delay) == pytest.approx((0.03, 0.028))
    ends = [beyond, Side(street.up.rate)]
    assert made.device(far, ["x"]).network.shape[1:] == access.shape(link, DELAYED, beyond=ends)
    assert plain.device(far, ["x"]).network.shape == access.shape(
        far.link, DELAYED, beyond=[beyond]
    )


def test_the_receivers_hold_messages_for_the_bottlenecks_delay_too() -> None:
    made, plain = shared(), configs()
    _, far = made.scenario.nodes
    held = [
        (each.server().part.holds["far"].delay, each.device(far, ["x"]).part.connection.hold.delay)
        for each in (plain, made)
    ]
    assert held[1] == pytest.approx((held[0][0] + 0.005, held[0][1] + 0.003))


@pytest.mark.parametrize("backend", [HELD, DELAYED])
def test_a_link_in_place_of_a_members_own_keeps_the_bottlenecks_delay(backend: Backend) -> None:
    fault = "{kind: degrade, nodes: [far], at: 1s, link: {up: {rate: 9mbit, delay: 1ms}}}"
    text = TEXT.replace("\nfaults: [", f"\nfaults: [{fault}, ") + STREET
    made = shared(backend, text)
    _, far = made.scenario.nodes
    setting = {"link": {"up": {"rate": 9e6, "delay": 0.001}, "down": {}}}
    reshaping = made.device(far, ["x"]).network.reshaping
    assert reshaping is not None
    assert reshaping.delays == (0.005, 0.003)
    assert read(reshaping.link).up.delay == pytest.approx(0.025)
    ours = AccessLink(made.device(far, ["x"]).network)
    ours.reshape(setting)
    assert ours._wanted.up == Side(Rate(9e6), Seconds(0.006))
    assert ours._wanted.down == read_side({"delay": 0.003})
    held = made.received_delay(far, setting).delay
    assert held == pytest.approx(0.008 if backend is HELD else 0.0)


def test_a_gateways_container_word_for_word() -> None:
    wanted = replace(WANTED, node="street", cpu=None, memory=None, address="10.9.0.4", gateway=True)
    kwargs, plain = spec.container(wanted), spec.container(replace(WANTED, cpu=None, memory=None))
    assert {key: kwargs[key] for key in kwargs if kwargs[key] != plain.get(key)} == {
        "name": "emulate-abc123-street",
        "hostname": "street",
        "cap_add": ["NET_ADMIN"],
        "sysctls": {"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.send_redirects": "0"},
        "cpu_shares": 65536,
        "networking_config": {
            "emulate-abc123-wan": {"IPAMConfig": {"IPv4Address": "10.9.0.4"}},
        },
    }


def test_a_network_with_addresses_names_the_subnet() -> None:
    made = spec.network("emulate-abc123-wan", MARKS, "10.9.0.0/24")
    assert made["ipam"]["Config"][0]["Subnet"] == "10.9.0.0/24"
    del made["ipam"]
    assert made == spec.network("emulate-abc123-wan", MARKS)
