"""The backend chosen for a link from the features of a kernel, and commands that run."""

import json
from dataclasses import replace

import pytest

from emulator.errors import DeploymentError, HostError
from emulator.shaping.backend import Backend, Delay, boxed, choose
from emulator.shaping.command import Command, apply
from emulator.shaping.features import Features
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.loss_models import Gemodel, LossModel

ADSL = Link(
    up=Side(Rate(1e6), Seconds(0.025), Seconds(0.003), Fraction(0.001)),
    down=Side(Rate(8e6), Seconds(0.025)),
)
FULL = Features(netem=True, tbf=True, htb=True, ifb=True, nftables=True, egress=True, tun=True)
TUN = replace(FULL, netem=False)
BARE = replace(TUN, tun=False)
IN_KERNEL = Backend(rate="tbf", delay="netem", loss="netem", cut="nftables")
BY_PACKETS = Backend(rate="tbf", delay="packets", loss="box", cut="nftables")
WITHOUT_NETEM = Backend(rate="tbf", delay="receiver", loss="nftables", cut="nftables")


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
        (replace(FULL, ifb=False, tun=False), [LATE_DOWN], False, Backend(delay="receiver")),
        (
            replace(FULL, ifb=False, tun=False),
            [LATE_DOWN, LOSSY],
            False,
            Backend(delay="receiver", loss="nftables"),
        ),
        (TUN, [ADSL], True, BY_PACKETS),
        (replace(FULL, ifb=False), [LATE_DOWN], False, Backend(delay="packets")),
        (replace(TUN, tbf=False), [ADSL], True, replace(BY_PACKETS, rate="box")),
        (replace(TUN, ifb=False), [ADSL], True, replace(BY_PACKETS, rate="box")),
        (replace(TUN, ifb=False), [Link(up=RATED.up)], False, Backend("tbf", "packets")),
        (Features(tun=True), [ADSL, LOSSY], False, Backend("box", "packets", "box")),
        (replace(FULL, ifb=False, egress=False), [], True, Backend(delay="netem", cut="drop")),
        (
            replace(FULL, egress=False, ifb=False),
            [LATE_DOWN],
            True,
            Backend(delay="packets", cut="drop"),
        ),
        (Features(), [Link(), LATE_DOWN], False, Backend()),
    ],
)
def test_the_best_that_the_kernel_can_do(
    features: Features, links: list[Link], cuts: bool, expected: Backend
) -> None:
    assert choose(features, links, cuts) == expected


@pytest.mark.parametrize(
    ("features", "shaping", "expected"),
    [
        (FULL, "netem", IN_KERNEL),
        (FULL, "packets", BY_PACKETS),
        (FULL, "receiver", WITHOUT_NETEM),
        (replace(FULL, egress=False), "packets", replace(BY_PACKETS, cut="drop")),
    ],
)
def test_a_delay_that_is_forced(features: Features, shaping: Delay, expected: Backend) -> None:
    assert choose(features, [ADSL], True, shaping) == expected


@pytest.mark.parametrize(
    ("features", "shaping", "named"),
    [
        (TUN, "netem", "sch_netem"),
        (replace(FULL, ifb=False), "netem", "ifb"),
        (BARE, "packets", "/dev/net/tun"),
    ],
)
def test_a_delay_that_cannot_be_forced(features: Features, shaping: Delay, named: str) -> None:
    with pytest.raises(HostError, match=named):
        choose(features, [ADSL], True, shaping)


@pytest.mark.parametrize(
    ("link", "others", "backend", "expected"),
    [
        (ADSL, [], BY_PACKETS, True),
        (LOSSY, [], BY_PACKETS, True),
        (LATE_DOWN, [], BY_PACKETS, True),
        (RATED, [], BY_PACKETS, False),
        (RATED, [], replace(BY_PACKETS, rate="box"), True),
        (RATED, [LOSSY], BY_PACKETS, True),
        (Link(), [], BY_PACKETS, False),
        (Link(up=Side(setup=Seconds(1))), [], replace(BY_PACKETS, rate="box"), False),
        (ADSL, [LATE_DOWN], IN_KERNEL, False),
        (ADSL, [], WITHOUT_NETEM, False),
    ],
)
def test_links_with_more_than_a_rate_pass_the_box(
    link: Link, others: list[Link], backend: Backend, expected: bool
) -> None:
    assert boxed(link, backend, others) is expected


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


def test_a_receiver_refuses_the_keys_of_packets_each_with_its_remedy() -> None:
    side = Side(
        Rate(1e6), Seconds(0.02), Seconds(0.01), distribution="pareto", duplicate=Fraction(0.1)
    )
    links = [Link(up=side), Link(down=Side(loss_model=LossModel(Gemodel(Fraction(0.01)))))]
    with pytest.raises(HostError) as refusal:
        choose(BARE, links)
    need = "needs sch_netem, or /dev/net/tun in containers (tun)"
    for key in ("distribution", "duplicate", "loss_model"):
        assert f"\n  `{key}` of a link {need}\n" in str(refusal.value)
    assert choose(FULL, links) == Backend(rate="tbf", delay="netem", loss="netem")
    assert choose(TUN, links) == Backend(rate="tbf", delay="packets", loss="box")
    assert choose(BARE, [Link(up=Side(Rate(1e6), overhead=8))]) == Backend(rate="tbf")
    assert not boxed(Link(up=Side(Rate(1e6), overhead=8)), BY_PACKETS)
    assert boxed(Link(up=Side(limit=9)), BY_PACKETS)
    assert boxed(Link(up=Side(Rate(1e6), limit=9)), BY_PACKETS)


def test_a_correlation_is_kept_by_packets_alone() -> None:
    side = Side(delay=Seconds(0.02), jitter=Seconds(0.01), correlation=Fraction(0.5))
    links = [Link(down=side)]
    assert choose(FULL, links) == Backend(delay="packets")
    with pytest.raises(HostError, match="`correlation` of a link needs packets"):
        choose(FULL, links, shaping="netem")
    with pytest.raises(HostError, match="`correlation` of a link needs /dev/net/tun"):
        choose(replace(FULL, tun=False), links)
