"""A gateway's commands, word for word."""

from emulator.shaping import gateway
from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.bottleneck import SharedLink, SharedSide

SHARED = SharedLink(SharedSide(Rate(5e6)), SharedSide(Rate(2e7), Seconds(0.004)))


def test_packets_are_told_apart_by_their_sender_and_queue_in_both_directions() -> None:
    assert list(map(str, gateway.forward(SHARED, "10.0.0.2", Backend(rate="tbf")))) == [
        "tc qdisc add dev eth0 ingress",
        "ip link add dev ifb-down type ifb",
        "ip link set dev ifb-down up",
        "tc filter add dev eth0 parent ffff: protocol ip pref 1 u32 match ip src 10.0.0.2/32 "
        "action mirred egress redirect dev ifb-down",
        "ip link add dev ifb-up type ifb",
        "ip link set dev ifb-up up",
        "tc filter add dev eth0 parent ffff: protocol ip pref 2 u32 match u32 0 0 "
        "action mirred egress redirect dev ifb-up",
        "ip link set dev ifb-down gso_max_segs 4",
        "tc qdisc add dev ifb-down root handle 504e: tbf rate 20000000bit burst 6514 limit 625000",
        "tc qdisc add dev ifb-up root handle 504e: tbf rate 5000000bit burst 2764 limit 156250",
    ]


def test_a_direction_without_a_rate_has_no_queue_of_ours() -> None:
    commands = gateway.forward(SharedLink(up=SHARED.up), "10.0.0.2", Backend(rate="tbf"))
    assert [str(each) for each in commands if "ifb-down root" in str(each)] == []
    assert any("ifb-up root" in str(each) for each in commands)


def test_the_queue_is_by_htb_where_links_are() -> None:
    commands = gateway.forward(SHARED, "10.0.0.2", Backend(rate="htb"))
    assert any("htb rate 5000000bit" in str(each) for each in commands)
    assert not any("tbf" in str(each) for each in commands)


def test_a_route_replaces_one_that_is_there() -> None:
    line = "ip route replace 10.0.0.2/32 via 10.0.0.3 dev eth0"
    assert str(gateway.route("10.0.0.2", "10.0.0.3")) == line
