"""A gateway's commands, word for word."""

from emulator.shaping import gateway
from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.links.bottleneck import SharedLink, SharedSide

SHARED = SharedLink(SharedSide(Rate(5e6)), SharedSide(Rate(2e7), Seconds(0.004)))


MEMBERS = ["10.0.0.4", "10.0.0.5"]
HTB = Backend(rate="tbf", shared="htb")
INGRESS = [
    "tc qdisc add dev eth0 ingress",
    "ip link add dev ifb-down type ifb",
    "ip link set dev ifb-down up",
    "tc filter add dev eth0 parent ffff: protocol ip pref 1 u32 match ip src 10.0.0.2/32 "
    "action mirred egress redirect dev ifb-down",
    "ip link add dev ifb-up type ifb",
    "ip link set dev ifb-up up",
    "tc filter add dev eth0 parent ffff: protocol ip pref 2 u32 match u32 0 0 "
    "action mirred egress redirect dev ifb-up",
]


def lines(shared: SharedLink, backend: Backend) -> list[str]:
    return list(map(str, gateway.forward(shared, "10.0.0.2", MEMBERS, backend)))


def test_each_member_has_a_queue_and_a_share_and_may_have_the_whole_rate() -> None:
    """Packets are told apart by their sender, and by their member."""
    down = "ceil 20000000bit cburst 6514 quantum 6514"
    root = "tc qdisc add dev ifb-down root handle 504e: htb default 0"
    made = lines(SHARED, HTB)
    assert made[: len(INGRESS) + 6] == [
        *INGRESS,
        root,
        "tc class add dev ifb-down parent 504e: classid 504e:1 htb "
        f"rate 20000000bit burst 6514 {down}",
        "tc class add dev ifb-down parent 504e:1 classid 504e:2 htb "
        f"rate 10000000bit burst 1514 {down}",
        "tc qdisc add dev ifb-down parent 504e:2 tbf rate 100gbit burst 6514 limit 625000",
        "tc filter add dev ifb-down parent 504e: protocol ip u32 match ip dst 10.0.0.4/32 "
        "flowid 504e:2",
        "tc class add dev ifb-down parent 504e:1 classid 504e:3 htb "
        f"rate 10000000bit burst 1514 {down}",
    ]
    assert made[-1] == (
        "tc filter add dev ifb-up parent 504e: protocol ip u32 match ip src 10.0.0.5/32 "
        "flowid 504e:3"
    )


def test_a_share_is_a_rate_that_can_be_played() -> None:
    """An equal share of a slow line, or of a dilated one, may be less."""
    slow = SharedLink(SharedSide(Rate(150)), SharedSide(Rate(300)))
    shares = [
        line.split(" rate ")[1].split()[0] for line in lines(slow, HTB) if ":1 classid" in line
    ]
    assert shares == ["150bit", "150bit", "100bit", "100bit"]


def test_without_tbf_nothing_is_cut_and_without_htb_all_share_one_queue() -> None:
    whole = lines(SHARED, Backend(rate="htb", shared="htb"))
    assert not [each for each in whole if "tbf" in each]
    assert "tc qdisc add dev ifb-up parent 504e:3 bfifo limit 156250" in whole
    assert [
        each for each in lines(SHARED, Backend(rate="tbf", shared="tbf")) if "root" in each
    ] == [
        "tc qdisc add dev ifb-down root handle 504e: tbf rate 20000000bit burst 6514 limit 625000",
        "tc qdisc add dev ifb-up root handle 504e: tbf rate 5000000bit burst 2764 limit 156250",
    ]


def test_a_direction_without_a_rate_has_no_queue_of_ours() -> None:
    made = lines(SharedLink(up=SHARED.up), HTB)
    assert not [each for each in made if "ifb-down root" in each]
    assert [each for each in made if "ifb-up root" in each]


def test_a_route_replaces_one_that_is_there() -> None:
    line = "ip route replace 10.0.0.2/32 via 10.0.0.3 dev eth0"
    assert str(gateway.route("10.0.0.2", "10.0.0.3")) == line
