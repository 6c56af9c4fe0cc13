"""A link as commands, who serves what, and the delay line: no packet is sent here."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.shaping import access, tc
from emulator.shaping.backend import Backend
from emulator.shaping.command import Command
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.loss_models import FourStates, Gemodel, LossModel

ADSL = Link(
    up=Side(Rate(1e6), Seconds(0.025), Seconds(0.003), Fraction(0.001)),
    down=Side(Rate(8e6), Seconds(0.025)),
)
IN_KERNEL = Backend(rate="tbf", delay="netem", loss="netem", cut="nftables")
WITHOUT_NETEM = Backend(rate="tbf", delay="receiver", loss="nftables", cut="nftables")


def _text(commands: list[Command]) -> str:
    return "".join(f"{command}\n{command.text}" for command in commands)


# -- tc ------------------------------------------------------------------------------------------

CLASSES = """\
ip link set dev eth0 gso_max_segs 1
tc qdisc add dev eth0 root handle 504e: htb default 0
tc class add dev eth0 parent 504e: classid 504e:1 htb rate 32gbit burst 1048576 cburst 1048576 \
quantum 65536
tc class add dev eth0 parent 504e: classid 504e:2 htb rate 32gbit burst 1048576 cburst 1048576 \
quantum 65536
tc qdisc add dev eth0 parent 504e:2 blackhole
tc filter add dev eth0 parent 504e: protocol ip u32 match u32 0 0 flowid 504e:1
"""
REDIRECT = """\
ip link add dev ifb-eth0 type ifb
ip link set dev ifb-eth0 up
tc qdisc add dev eth0 ingress
tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect \
dev ifb-eth0
"""
UP = "tc qdisc add dev eth0 parent 504e:1 handle 504f: tbf rate 1000000bit burst 1764 limit 31250"


@pytest.mark.parametrize(
    ("link", "backend", "expected"),
    [
        (Link(), IN_KERNEL, ""),
        (
            ADSL,
            WITHOUT_NETEM,
            f"{CLASSES}{UP} peakrate 100gbit mtu 1514\n{REDIRECT}"
            "tc qdisc add dev ifb-eth0 root handle 504e: tbf rate 8000000bit burst 3514 "
            "limit 250000\n",
        ),
        (
            ADSL,
            IN_KERNEL,
            f"{CLASSES}{UP} peakrate 100gbit mtu 1514\n"
            "tc qdisc add dev eth0 parent 504f:1 handle 5050: netem limit 24 delay 25000us 3000us "
            "distribution normal loss 0.100000% rate 100gbit\n"
            f"{REDIRECT}"
            "tc qdisc add dev ifb-eth0 root handle 504e: tbf rate 8000000bit burst 3514 "
            "limit 250000\n"
            "tc qdisc add dev ifb-eth0 parent 504e:1 handle 504f: netem limit 182 delay 25000us "
            "rate 100gbit\n",
        ),
        (
            Link(up=Side(Rate(5e7))),
            WITHOUT_NETEM,
            "ip link set dev eth0 gso_max_segs 9\n"
            "tc qdisc add dev eth0 root handle 504e: tbf rate 50000000bit burst 14014 "
            "limit 1562500\n",
        ),
        (
            Link(down=Side(Rate(49e3))),
            Backend(rate="htb"),
            f"{REDIRECT}"
            "tc qdisc add dev ifb-eth0 root handle 504e: htb default 0\n"
            "tc class add dev ifb-eth0 parent 504e: classid 504e:1 htb rate 49000bit burst 1527 "
            "cburst 1527 quantum 1514\n"
            "tc class add dev ifb-eth0 parent 504e: classid 504e:2 htb rate 32gbit burst 1048576 "
            "cburst 1048576 quantum 65536\n"
            "tc qdisc add dev ifb-eth0 parent 504e:2 blackhole\n"
            "tc filter add dev ifb-eth0 parent 504e: protocol ip u32 match u32 0 0 flowid 504e:1\n"
            "tc qdisc add dev ifb-eth0 parent 504e:1 handle 504f: bfifo limit 155296\n",
        ),
        (
            Link(up=Side(delay=Seconds(0.04))),
            IN_KERNEL,
            "tc qdisc add dev eth0 root handle 504e: netem limit 10000 delay 40000us "
            "rate 100gbit\n",
        ),
        (Link(up=Side(delay=Seconds(0.04))), WITHOUT_NETEM, ""),
    ],
    ids=["unshaped", "adsl-bare", "adsl-netem", "rate-up", "dial-up-htb", "delay", "held"],
)
def test_a_link_in_tc_words(link: Link, backend: Backend, expected: str) -> None:
    assert _text(tc.shape(link, backend)) == expected


TBF = "tc qdisc add dev eth0 root handle 504e: tbf rate 8000000bit burst 3514 limit"
PEAK = "peakrate 100gbit mtu 1514"
LATE = Side(Rate(8e6), Seconds(0.02), Seconds(0.002))
GEMODEL = LossModel(Gemodel(Fraction(0.01), Fraction(0.25)))
FOUR = LossModel(state=FourStates(Fraction(0.01), Fraction(0.3), p14=Fraction(0.002)))

KEYS = [
    ("distribution", {"distribution": "pareto"}, "delay 20000us 2000us distribution pareto"),
    ("uniform", {"distribution": "uniform"}, "delay 20000us 2000us"),
    (
        "correlation",
        {"correlation": Fraction(0.25)},
        "delay 20000us 2000us 25.000000% distribution normal",
    ),
    (
        "gemodel",
        {"loss_model": GEMODEL},
        "delay 20000us 2000us distribution normal "
        "loss gemodel 1.000000% 25.000000% 100.000000% 0.000000%",
    ),
    (
        "state",
        {"loss_model": FOUR},
        "delay 20000us 2000us distribution normal "
        "loss state 1.000000% 30.000000% 0.000000% 100.000000% 0.200000%",
    ),
    (
        "duplicate",
        {"duplicate": Fraction(0.01)},
        "delay 20000us 2000us distribution normal duplicate 1.000000%",
    ),
    (
        "corrupt",
        {"corrupt": Fraction(0.001)},
        "delay 20000us 2000us distribution normal corrupt 0.100000%",
    ),
    (
        "reorder",
        {"reorder": Fraction(0.05), "gap": 5},
        "delay 20000us 2000us distribution normal reorder 5.000000% gap 5",
    ),
    ("limit", {"limit": 50}, "delay 20000us 2000us distribution normal"),
    ("overhead", {"overhead": 8}, "delay 20000us 2000us distribution normal"),
]


@pytest.mark.parametrize(("key", "changes", "words"), KEYS, ids=[key for key, _, _ in KEYS])
def test_each_key_in_netems_words(key: str, changes: dict[str, Any], words: str) -> None:
    side = replace(LATE, **changes)
    places = changes.get("limit", 184)
    framed = key not in ("distribution", "uniform", "correlation")
    apart = key in ("gemodel", "state", "corrupt")
    tbf = f"{TBF} 250000{' overhead 8' if key == 'overhead' else ''}"
    if apart:
        tbf = tbf.replace("root handle 504e:", "parent 504e:1 handle 504f:")
    netem = "parent 504f:1 handle 5050:" if apart else "parent 504e:1 handle 504f:"
    expected = (
        f"{tbf}{f' {PEAK}' if framed else ''}\n"
        f"tc qdisc add dev eth0 {netem} netem limit {places} {words} rate 100gbit\n"
    )
    if framed:
        expected = (CLASSES if apart else CLASSES.splitlines(keepends=True)[0]) + expected
    assert _text(tc.shape(Link(up=side), replace(IN_KERNEL, loss="netem"))) == expected


@pytest.mark.parametrize(
    ("side", "backend", "expected"),
    [
        (
            Side(Rate(8e6), limit=50),
            IN_KERNEL,
            f"ip link set dev eth0 gso_max_segs 1\n{TBF} 250000 {PEAK}\n"
            "tc qdisc add dev eth0 parent 504e:1 handle 504f: netem limit 50 rate 100gbit\n",
        ),
        (
            Side(Rate(8e6), overhead=8),
            WITHOUT_NETEM,
            f"ip link set dev eth0 gso_max_segs 1\n{TBF} 250000 overhead 8 {PEAK}\n",
        ),
        (
            Side(duplicate=Fraction(0.5)),
            IN_KERNEL,
            "ip link set dev eth0 gso_max_segs 1\ntc qdisc add dev eth0 root handle 504e: "
            "netem limit 10000 duplicate 50.000000% rate 100gbit\n",
        ),
        (
            Side(Rate(49e3), overhead=4),
            Backend(rate="htb"),
            CLASSES.replace(
                "504e:1 htb rate 32gbit burst 1048576 cburst 1048576 quantum 65536",
                "504e:1 htb rate 49000bit overhead 4 burst 1527 cburst 1527 quantum 1514",
            )
            + "tc qdisc add dev eth0 parent 504e:1 handle 504f: bfifo limit 155296\n",
        ),
    ],
    ids=["limit", "overhead-held", "duplicate", "htb"],
)
def test_keys_without_delays_of_the_kernel(side: Side, backend: Backend, expected: str) -> None:
    assert _text(tc.shape(Link(up=side), backend)) == expected


def test_frames_are_drawn_one_by_one_where_no_tbf_cuts_superpackets() -> None:
    beyond = [Side(delay=Seconds(0.01), reorder=Fraction(0.1))]
    commands = access.shape(Link(), IN_KERNEL, beyond=beyond)
    assert _text(commands) == "ip link set dev eth0 gso_max_segs 1\n"


def test_packets_are_single_frames_where_a_kernel_charges_overhead() -> None:
    """The box counts the frames of a superpacket itself; a tbf at the far end cuts superpackets."""
    plain, charged = Side(Rate(5e7)), Side(Rate(5e7), overhead=8)
    box, htb = Backend(rate="box"), Backend(rate="htb")
    assert [tc.segments(charged, [], each) for each in (WITHOUT_NETEM, htb)] == [1, 1]
    assert tc.segments(charged, [], box) == tc.segments(plain, [], box)
    assert tc.segments(Side(), [charged], htb) == 1
    assert tc.segments(Side(), [charged], WITHOUT_NETEM) == tc.ANY_SEGMENTS


@pytest.mark.parametrize(
    ("rates", "segments"),
    [([], None), ([8e6], None), ([1e9], None), ([200e6, 8e6, 50e6], 9), ([200e6], 34)],
    ids=["unrated", "too slow", "any fits", "the shortest that is not too slow", "one"],
)
def test_superpackets_are_as_long_as_the_buckets_beyond(
    rates: list[float], segments: int | None
) -> None:
    beyond = [Side(Rate(rate)) for rate in rates] + [Side(delay=Seconds(0.01))]
    lossy = Side(Rate(20e6), loss=Fraction(0.01))  # cuts them into frames in any case
    commands = access.shape(Link(), WITHOUT_NETEM, beyond=[*beyond, lossy])
    expected = "" if segments is None else f"ip link set dev eth0 gso_max_segs {segments}\n"
    assert _text(commands) == expected
    again = access.mend(Link(), replace(IN_KERNEL, cut="netem"), beyond=[*beyond, lossy])
    assert _text(again).endswith(expected or "65535\n")


def test_clearing_takes_only_what_is_ours_and_may_find_nothing() -> None:
    commands = access.clear()
    assert all(command.lenient for command in commands)
    assert _text(commands) == (
        "nft -f -\nadd table inet emulate-loss\ndelete table inet emulate-loss\n"
        "nft -f -\nadd table inet emulate-cut\ndelete table inet emulate-cut\n"
        "nft -f -\nadd table netdev emulate-cut\ndelete table netdev emulate-cut\n"
        "tc qdisc del dev eth0 root handle 504e:\n"
        "tc qdisc del dev eth0 ingress\n"
        "ip link del dev ifb-eth0 type ifb\n"
        "ip link set dev eth0 gso_max_segs 65535\n"
    )


@given(st.floats(49e3, 1e9))
def test_rates_are_plain_bits_and_buffers_have_room_for_tcp(rate: float) -> None:
    line = str(tc.shape(Link(up=Side(Rate(rate))), WITHOUT_NETEM)[-1])
    assert f" rate {round(rate)}bit " in line
    assert tc.burst(Rate(rate)) >= tc.ETHERNET
    assert tc.queue(Rate(rate)) >= max(16 * tc.ETHERNET, rate / 8 * 0.2)


@given(st.floats(1e5, 1e9), st.floats(0, 0.3), st.floats(0, 1))
def test_netem_holds_what_is_under_way_and_a_queue(rate: float, delay: float, part: float) -> None:
    side = Side(Rate(rate), Seconds(delay), Seconds(delay * part))
    words = str(tc.shape(Link(up=side), IN_KERNEL)[-1]).split()
    if "netem" in words:
        places = int(words[words.index("limit") + 1])
        assert places * 1514 >= rate / 8 * delay + tc.queue(Rate(rate))
