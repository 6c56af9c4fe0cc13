"""Changes of a link as commands."""

from typing import Any

import pytest

from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.shaping.command import Command
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side

IN_KERNEL = Backend(rate="tbf", delay="netem", loss="netem", cut="nftables")
WITHOUT_NETEM = Backend(rate="tbf", delay="receiver", loss="nftables", cut="nftables")
BY_HTB = Backend(rate="htb", delay="receiver", loss="nftables", cut="nftables")


def both(**side: float) -> Link:
    types = {"rate": Rate, "delay": Seconds, "loss": Fraction}
    made = Side(**{name: types[name](value) for name, value in side.items()})  # type: ignore[arg-type]
    return Link(made, made)


def words(commands: list[Command]) -> list[str]:
    return [str(command) for command in commands]


def test_a_rate_changes_in_place_and_keeps_the_queue() -> None:
    changes = access.change(both(rate=8e6), both(rate=2e6), WITHOUT_NETEM)
    assert words(changes) == [
        f"tc qdisc change dev {device} root handle 504e: tbf rate 2000000bit burst 2014 "
        "limit 62500 peakrate 100gbit mtu 1514"
        for device in ("eth0", "ifb-eth0")
    ]
    by_htb = words(access.change(both(rate=8e6), both(rate=2e6), BY_HTB))
    assert by_htb[0] == (
        "tc class change dev eth0 parent 504e: classid 504e:1 htb rate 2000000bit burst 2014 "
        "cburst 2014 quantum 1514"
    )
    assert all(" change " in line for line in by_htb)


def test_a_delay_of_netem_changes_in_place() -> None:
    old, new = both(rate=8e6, delay=0.02), both(rate=8e6, delay=0.2)
    changes = words(access.change(old, new, IN_KERNEL))
    assert changes == [
        f"tc qdisc change dev {device} parent 504e:1 handle 504f: netem limit 298 delay 200000us "
        "rate 100gbit"
        for device in ("eth0", "ifb-eth0")
    ]
    assert access.change(old, new, WITHOUT_NETEM) == []  # the receiver holds messages for it


def test_another_tree_is_built_anew_and_a_cut_stays() -> None:
    old, new = both(rate=8e6), both(rate=8e6, loss=0.05)
    changes = access.change(old, new, WITHOUT_NETEM)
    shaped = access.shape(new, WITHOUT_NETEM, changing=True)
    outgoing = [each for each in shaped if each.words[:5] == ("tc", "qdisc", "add", "dev", "eth0")]
    *_, rules = shaped
    lines = words(changes)
    assert lines[0] == "tc qdisc del dev eth0 root handle 504e:"
    assert lines[1] == "tc qdisc add dev eth0 root handle 504e: htb default 0"
    assert {command for command in outgoing if "ingress" not in command.words} <= set(changes)
    # incoming packets keep their tree, and so those that wait in it
    assert not any("ifb-eth0" in line for line in lines)
    assert changes[-1] == rules
    assert not any("emulate-cut" in command.text for command in changes)
    back = access.change(new, old, WITHOUT_NETEM)
    assert words(back)[:2] == [
        "tc qdisc del dev eth0 root handle 504e:",
        "tc qdisc add dev eth0 root handle 504e: tbf rate 8000000bit burst 3514 limit 250000 "
        "peakrate 100gbit mtu 1514",
    ]
    assert back[-1].text == "add table inet emulate-loss\ndelete table inet emulate-loss\n"


def test_a_direction_loses_its_shape_and_gains_it() -> None:
    own, slow = Link(), Link(down=Side(rate=Rate(8e6)))
    segments, *shaped = access.shape(slow, WITHOUT_NETEM, changing=True)
    assert access.change(own, slow, WITHOUT_NETEM) == shaped
    assert str(segments) == "ip link set dev eth0 gso_max_segs 1"
    assert words(access.change(slow, own, WITHOUT_NETEM)) == [
        "tc qdisc del dev eth0 ingress",
        "ip link del dev ifb-eth0 type ifb",
    ]


@pytest.mark.parametrize("backend", [IN_KERNEL, WITHOUT_NETEM, BY_HTB])
@pytest.mark.parametrize("link", [Link(), both(rate=1e6, delay=0.01), both(rate=1e6, loss=0.01)])
def test_a_link_that_stays_needs_no_command(link: Link, backend: Backend) -> None:
    assert access.change(link, link, backend) == []


def test_no_superpacket_is_longer_than_a_bucket_to_come() -> None:
    commands = words(access.shape(both(rate=1e9), WITHOUT_NETEM, changing=True))
    assert commands[0] == "ip link set dev eth0 gso_max_segs 1"
    assert [line.split(" mtu ")[1] for line in commands if " tbf " in line] == ["1514", "1514"]


def jittered(**keys: Any) -> Link:
    return Link(up=Side(Rate(8e6), Seconds(0.02), Seconds(0.002), **keys))


@pytest.mark.parametrize(
    ("old", "new", "anew"),
    [
        ({}, {"distribution": "pareto"}, False),
        ({"distribution": "pareto"}, {}, False),
        ({"distribution": "pareto"}, {"distribution": "uniform"}, True),
        ({"distribution": "uniform"}, {}, False),
        ({"correlation": Fraction(0.1)}, {"correlation": Fraction(0.2)}, False),
        ({"correlation": Fraction(0.1)}, {}, True),
        ({"reorder": Fraction(0.1), "gap": 3}, {}, False),
        ({"duplicate": Fraction(0.1)}, {}, False),
        (
            {"corrupt": Fraction(0.1), "loss": Fraction(0.1)},
            {"corrupt": Fraction(0.2), "loss": Fraction(0.1)},
            False,
        ),
        ({"corrupt": Fraction(0.1), "loss": Fraction(0.1)}, {"loss": Fraction(0.1)}, True),
    ],
    ids=str,
)
def test_a_netem_is_built_anew_where_a_change_would_leave_a_setting_in_force(
    old: dict[str, Any], new: dict[str, Any], anew: bool
) -> None:
    changes = words(access.change(jittered(**old), jittered(**new), IN_KERNEL))
    assert changes and (changes[0] == "tc qdisc del dev eth0 root handle 504e:") == anew
    assert anew or all(" change " in line for line in changes)
