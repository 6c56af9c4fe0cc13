"""A link as commands, who serves what, and the delay line: no packet is sent here."""

import json
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.errors import DeploymentError, HostError
from emulator.shaping import access, nft, tc
from emulator.shaping.apply import apply
from emulator.shaping.backend import Backend, choose
from emulator.shaping.command import Command
from emulator.shaping.features import Features
from emulator.shaping.hold import Hold
from emulator.units import Fraction, Rate, Seconds
from emulator.world.link import Link, Side

ADSL = Link(
    up=Side(Rate(1e6), Seconds(0.025), Seconds(0.003), Fraction(0.001)),
    down=Side(Rate(8e6), Seconds(0.025)),
)
FULL = Features(netem=True, tbf=True, htb=True, ifb=True, nftables=True, egress=True)
BARE = replace(FULL, netem=False)
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


# -- nft -----------------------------------------------------------------------------------------


def test_loss_in_nft_words() -> None:
    link = Link(up=Side(loss=Fraction(0.015)), down=Side(loss=Fraction(0.1)))
    (command,) = nft.lose(link, "eth0")
    assert command.words == ("nft", "-f", "-")
    assert command.text == (
        "add table inet emulate-loss\n"
        "delete table inet emulate-loss\n"
        "table inet emulate-loss {\n"
        "  chain input {\n"
        "    type filter hook input priority 0; policy accept;\n"
        '    iifname "eth0" numgen random mod 1000000 < 100000 drop\n'
        "  }\n"
        "  chain output {\n"
        "    type filter hook output priority 0; policy accept;\n"
        '    oifname "eth0" numgen random mod 1000000 < 15000 meta priority set 0x504e0002\n'
        "  }\n"
        "}\n"
    )
    assert nft.lose(Link(up=Side(Rate(1e6))), "eth0") == []


def test_a_cut_in_nft_words() -> None:
    (command,) = access.sever(ADSL, IN_KERNEL)
    assert command.text == (
        "add table inet emulate-cut\n"
        "delete table inet emulate-cut\n"
        "table inet emulate-cut {\n"
        "  chain input {\n"
        "    type filter hook input priority 0; policy accept;\n"
        '    iifname != "lo" drop\n'
        "  }\n"
        "}\n"
        "add table netdev emulate-cut\n"
        "delete table netdev emulate-cut\n"
        "table netdev emulate-cut {\n"
        "  chain egress {\n"
        '    type filter hook egress device "eth0" priority 0; policy accept;\n'
        '    meta protocol != arp fwd to "lo"\n'
        "  }\n"
        "}\n"
    )
    (command,) = access.mend(ADSL, IN_KERNEL)
    assert command.text == (
        "add table inet emulate-cut\ndelete table inet emulate-cut\n"
        "add table netdev emulate-cut\ndelete table netdev emulate-cut\n"
    )


def test_a_cut_by_drops_in_nft_words() -> None:
    backend = replace(IN_KERNEL, cut="drop")
    (command,) = access.sever(ADSL, backend)
    assert command.text == (
        "add table inet emulate-cut\n"
        "delete table inet emulate-cut\n"
        "table inet emulate-cut {\n"
        "  chain input {\n"
        "    type filter hook input priority 0; policy accept;\n"
        '    iifname != "lo" drop\n'
        "  }\n"
        "  chain output {\n"
        "    type filter hook output priority 0; policy accept;\n"
        '    oifname != "lo" drop\n'
        "  }\n"
        "}\n"
    )
    (command,) = access.mend(ADSL, backend)
    assert command.text == "add table inet emulate-cut\ndelete table inet emulate-cut\n"


def test_a_cut_without_nft_loses_all_and_is_mended_by_shaping_anew() -> None:
    backend = replace(IN_KERNEL, cut="netem")
    severed = _text(access.sever(ADSL, backend))
    assert severed.startswith(_text(access.clear()))
    assert severed.count("loss 100.000000%") == 2
    assert access.mend(ADSL, backend) == access.clear() + access.shape(ADSL, backend)


def test_loss_is_picked_by_whom_the_backend_names() -> None:
    assert access.shape(ADSL, IN_KERNEL) == tc.shape(ADSL, IN_KERNEL)
    lose = nft.lose(ADSL, "eth0")
    assert access.shape(ADSL, WITHOUT_NETEM) == tc.shape(ADSL, WITHOUT_NETEM) + lose


# -- who serves what -----------------------------------------------------------------------------

RATED = Link(up=Side(Rate(1e6)), down=Side(Rate(1e6)))
LOSSY = Link(up=Side(loss=Fraction(0.1)), down=Side(loss=Fraction(0.1)))
LATE_DOWN = Link(down=Side(delay=Seconds(0.1)))


@pytest.mark.parametrize(
    ("features", "links", "cuts", "expected"),
    [
        (FULL, [ADSL], True, IN_KERNEL),
        (BARE, [ADSL], True, WITHOUT_NETEM),
        (BARE, [Link(), RATED], False, Backend(rate="tbf")),
        (replace(BARE, tbf=False), [RATED], False, Backend(rate="htb")),
        (
            replace(FULL, nftables=False, egress=False),
            [Link()],
            True,
            Backend(delay="netem", cut="netem"),
        ),
        (replace(FULL, egress=False), [ADSL], True, replace(IN_KERNEL, cut="netem")),
        (replace(BARE, egress=False), [ADSL], True, replace(WITHOUT_NETEM, cut="drop")),
        (replace(FULL, ifb=False), [LATE_DOWN], False, Backend(delay="receiver")),
        (
            replace(FULL, ifb=False),
            [LATE_DOWN, LOSSY],
            False,
            Backend(delay="receiver", loss="nftables"),
        ),
        (Features(), [Link(), LATE_DOWN], False, Backend()),
    ],
)
def test_the_best_that_the_kernel_can_do(
    features: Features, links: list[Link], cuts: bool, expected: Backend
) -> None:
    assert choose(features, links, cuts) == expected


@pytest.mark.parametrize(
    ("features", "links", "cuts", "named"),
    [
        (Features(), [RATED], False, ["sch_tbf", "ifb", "modprobe"]),
        (replace(BARE, ifb=False), [RATED], False, ["ifb"]),
        (replace(BARE, nftables=False), [LOSSY], False, ["sch_netem", "nft_numgen"]),
        (replace(BARE, htb=False), [LOSSY], False, ["uplink", "sch_htb"]),
        (replace(BARE, nftables=False, egress=False), [], True, ["partition", "nf_tables"]),
        (Features(), [ADSL], True, ["rate", "downlink", "loss", "uplink", "partition"]),
    ],
)
def test_all_that_is_missing_is_named_at_once(
    features: Features, links: list[Link], cuts: bool, named: list[str]
) -> None:
    with pytest.raises(HostError) as caught:
        choose(features, links, cuts)
    for word in named:
        assert word in str(caught.value)


def test_features_and_backends_survive_json() -> None:
    assert Features.read(json.loads(json.dumps(BARE.plain()))) == BARE
    assert Backend.read(json.loads(json.dumps(IN_KERNEL.plain()))) == IN_KERNEL


# -- running commands ----------------------------------------------------------------------------


def test_commands_are_run_in_order_with_their_input_behind_the_words_given() -> None:
    loud = Command(("sh", "-c", "cat >&2"), "heard")
    assert apply([Command.of("true"), loud]) == ["sh -c 'cat >&2': heard"]
    assert apply([Command(("sh", "-c", "echo $X >&2"))], inside=["env", "X=7"])[0].endswith(": 7")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (Command(("sh", "-c", "echo why >&2; exit 2")), "sh refused: sh -c .*: why"),
        (Command.of("no-such-tool x"), "no-such-tool is not installed, needed for: no-such-tool x"),
    ],
)
def test_a_refusal_says_what_was_tried_and_what_was_said(command: Command, message: str) -> None:
    with pytest.raises(DeploymentError, match=message):
        apply([command])
    assert apply([replace(command, lenient=True)]) == []


# -- holding at the receiver ---------------------------------------------------------------------

GAPS = st.lists(st.floats(0, 0.2), min_size=1, max_size=40)


def _released(hold: Hold[int], arrivals: list[float]) -> list[tuple[int, float]]:
    """Each message and when it came out of a line that is looked at exactly when it says."""
    out = []
    for number, at in enumerate([*arrivals, float("inf")]):
        while (due := hold.deadline()) is not None and due <= at:
            batch = hold.release(due)
            assert batch, "nothing was due at the deadline"
            out += [(one, due) for one in batch]
        if at != float("inf"):
            hold.take(number, at)
    return out


@settings(max_examples=60)
@given(GAPS, st.floats(0, 0.3), st.floats(0, 1), st.integers())
def test_none_is_lost_none_overtakes_none_is_early(
    gaps: list[float], delay: float, part: float, seed: int
) -> None:
    jitter = delay * part
    hold: Hold[int] = Hold(Seconds(delay), Seconds(jitter), Random(seed))
    arrivals = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    out = _released(hold, arrivals)
    assert [number for number, _ in out] == list(range(len(gaps)))
    times = [at for _, at in out]
    assert times == sorted(times)
    for (number, at), before in zip(out, [0.0, *times], strict=False):
        own = at - arrivals[number]
        assert own >= max(0.0, delay - 4 * jitter) - 1e-9
        assert own <= delay + 4 * jitter + 1e-9 or at == before


def test_without_jitter_the_delay_is_exact_and_draws_nothing() -> None:
    rng = Random(1)
    state = rng.getstate()
    hold: Hold[int] = Hold(Seconds(0.08), Seconds(0), rng)
    assert hold.deadline() is None
    assert [at for _, at in _released(hold, [1.0, 1.5])] == [1.08, 1.58]
    assert rng.getstate() == state


def test_the_jitter_is_normal_around_the_delay() -> None:
    hold: Hold[int] = Hold(Seconds(0.1), Seconds(0.01), Random(7))
    arrivals = [float(second) for second in range(4000)]
    waits = [at - arrivals[number] for number, at in _released(hold, arrivals)]
    mean = sum(waits) / len(waits)
    deviation = (sum((wait - mean) ** 2 for wait in waits) / len(waits)) ** 0.5
    assert mean == pytest.approx(0.1, abs=0.001)
    assert deviation == pytest.approx(0.01, rel=0.06)


def test_the_same_seed_holds_alike() -> None:
    runs = [
        _released(Hold(Seconds(0.1), Seconds(0.05), Random("7/adsl-0")), [0.0, 0.01, 0.5])
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
