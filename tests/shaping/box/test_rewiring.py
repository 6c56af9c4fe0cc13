"""The commands that put TAP devices into a network, as golden texts."""

from dataclasses import replace

from emulator.shaping.backend import Backend
from emulator.shaping.box import rewiring
from emulator.shaping.box.rewiring import Addressing, parse_addressing
from emulator.shaping.command import Command
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side

TBF = Backend(rate="tbf")
SHOWN = """[{},{"ifindex":2,"ifname":"eth0","flags":["BROADCAST","UP"],"mtu":1400,
"address":"02:42:ac:11:00:02","addr_info":[
{"family":"inet","local":"172.17.0.2","prefixlen":16,"broadcast":"172.17.255.255",
 "scope":"global","label":"eth0"},
{"family":"inet6","local":"fd00::2","prefixlen":64,"scope":"global"},
{"family":"inet6","local":"fe80::42:acff:fe11:2","prefixlen":64,"scope":"link"}]}]"""
ROUTES = """default via 172.17.0.1
10.1.0.0/16 scope link linkdown
10.2.0.0/16 scope link
172.17.0.0/16 proto kernel scope link src 172.17.0.2
"""
ROUTES6 = """fd00::/64 proto kernel metric 256 pref medium
fe80::/64 proto kernel metric 256 pref medium
multicast ff00::/8 dev eth0 proto kernel metric 256 pref medium
default via fd00::1 metric 1024 pref medium
"""
OURS = parse_addressing(SHOWN, ROUTES, ROUTES6)


def _text(commands: list[Command]) -> str:
    return "".join(f"{'~' * command.lenient}{command}\n" for command in commands)


def test_addressing_is_read_without_what_the_kernel_adds() -> None:
    assert (
        Addressing(
            mac="02:42:ac:11:00:02",
            mtu=1400,
            addresses=(
                "172.17.0.2/16 broadcast 172.17.255.255 scope global",
                "fd00::2/64 scope global nodad",
            ),
            routes=("10.2.0.0/16 scope link", "default via 172.17.0.1"),
            routes6=("default via fd00::1 metric 1024 pref medium",),
            version6=True,
        )
        == OURS
    )


def test_the_device_is_taken_apart_and_joined() -> None:
    assert _text(rewiring.part("eth0")) == (
        "ip link set dev eth0 down\n"
        "ip address flush dev eth0\n"
        "ip link set dev eth0 name wire\n"
        "~ip link set dev wire addrgenmode none\n"
        "~ip link set dev wan addrgenmode none\n"
    )
    assert _text(rewiring.join(OURS, "eth0", 9)) == (
        "ip link set dev wan mtu 1400 txqueuelen 5000 up\n"
        "ip link set dev wire up\n"
        "ip link set dev eth0 txqueuelen 5000\n"
        "ip link set dev eth0 gso_max_segs 9\n"
        "ip link set dev eth0 address 02:42:ac:11:00:02 mtu 1400\n"
        "ip address add 172.17.0.2/16 broadcast 172.17.255.255 scope global dev eth0\n"
        "ip address add fd00::2/64 scope global nodad dev eth0\n"
        "ip link set dev eth0 up\n"
        "ip route add 10.2.0.0/16 scope link dev eth0\n"
        "ip route add default via 172.17.0.1 dev eth0\n"
        "ip -6 route add default via fd00::1 metric 1024 pref medium dev eth0\n"
    )
    assert "gso_max_segs" not in _text(rewiring.join(OURS, "eth0", 65535))


def test_a_device_without_ipv6_stays_without() -> None:
    """The engine switches IPv6 off at the device that it makes, and not at others."""
    alone = parse_addressing(SHOWN[: SHOWN.index(',\n{"family":"inet6"')] + "]}]", ROUTES, "")
    first, *others = rewiring.join(alone, "eth0", 9)
    assert _text([first]) == "~ip link set dev eth0 addrgenmode none\n"
    assert "addrgenmode" not in _text([*others, *rewiring.join(OURS, "eth0", 9)])


def test_redirection_joins_wan_and_wire() -> None:
    assert _text(rewiring.redirect()) == (
        "tc qdisc add dev wire ingress\n"
        "tc filter add dev wire parent ffff: protocol all u32 match u32 0 0 "
        "action mirred egress mirror dev wan drop\n"
        "tc qdisc add dev wan ingress\n"
        "tc filter add dev wan parent ffff: protocol all u32 match u32 0 0 "
        "action mirred egress redirect dev wire\n"
    )


def test_a_bridge_joins_wan_and_wire_where_redirection_is_missing() -> None:
    assert _text(rewiring.bridge(OURS)) == (
        "~tc qdisc del dev wire ingress\n"
        "~tc qdisc del dev wan ingress\n"
        "ip link add name wan-wire type bridge forward_delay 0 stp_state 0 mcast_snooping 0\n"
        "ip link set dev wan-wire arp off\n"
        "ip link set dev wire address 02:50:4e:11:00:02\n"
        "ip link set dev wire master wan-wire\n"
        "ip link set dev wan master wan-wire\n"
        "ip link set dev wan-wire up\n"
    )


def test_restoring_gives_the_device_back() -> None:
    assert _text(rewiring.restore(OURS, "eth0")).startswith(
        "~ip link set dev wire down\n"
        "~ip link del dev wan-wire type bridge\n"
        "~tc qdisc del dev wire ingress\n"
        "~tc qdisc del dev wire root handle 504e:\n"
        "~ip link set dev wire addrgenmode eui64\n"
        "~ip link set dev wire name eth0\n"
        "~ip link set dev eth0 down\n"
        "~ip link set dev eth0 address 02:42:ac:11:00:02 mtu 1400\n"
        "~ip address add 172.17.0.2/16"
    )


def _side(rate: float = 0, loss: float = 0) -> Side:
    return Side(Rate(rate) if rate else None, Seconds(0.025), loss=Fraction(loss))


UP = "tc qdisc {} dev wire root handle 504e:"
DOWN = "tc qdisc {} dev wan root handle 504e:"
SLOW = "tbf rate 1000000bit burst 1764 limit 31250"
FAST = "tbf rate 8000000bit burst 3514 limit 250000"
CUT = "peakrate 100gbit mtu 1514"


def test_rates_are_tbf_at_both_devices() -> None:
    link = Link(up=_side(1e6), down=_side(8e6, loss=0.01))
    assert _text(rewiring.shape(link, TBF, changing=False)) == (
        f"{UP.format('add')} {SLOW}\n{DOWN.format('add')} {FAST} {CUT}\n"
    )
    assert _text(rewiring.shape(link, TBF, changing=True)) == (
        f"{UP.format('add')} {SLOW} {CUT}\n{DOWN.format('add')} {FAST} {CUT}\n"
    )
    assert rewiring.shape(Link(up=_side()), TBF, changing=True) == []


def test_without_tbf_the_box_shapes_rates() -> None:
    link = Link(up=_side(1e6), down=_side(8e6))
    assert rewiring.shape(link, replace(TBF, rate="none"), changing=False) == []


def test_rates_change_in_place() -> None:
    old, new = Link(up=_side(1e6), down=_side(8e6)), Link(up=_side(8e6), down=_side(8e6, 0.1))
    assert _text(rewiring.reshape(old, new, TBF)) == f"{UP.format('change')} {FAST} {CUT}\n"
    assert _text(rewiring.reshape(Link(), old, TBF)) == (
        f"{UP.format('add')} {SLOW} {CUT}\n{DOWN.format('add')} {FAST} {CUT}\n"
    )
    assert _text(rewiring.reshape(old, Link(), TBF)) == (
        f"{UP.format('del')}\n{DOWN.format('del')}\n"
    )
