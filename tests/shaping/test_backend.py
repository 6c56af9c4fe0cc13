"""The backend chosen for a link from the features of a kernel, and commands that run."""

import json
from dataclasses import replace

import pytest

from emulator.errors import DeploymentError, HostError
from emulator.shaping.apply import apply
from emulator.shaping.backend import Backend, choose
from emulator.shaping.command import Command
from emulator.shaping.features import Features
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
