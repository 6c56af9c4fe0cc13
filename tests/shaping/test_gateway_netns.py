"""A bottleneck's gateway on this kernel, with real packets of several members."""

import os
import time
from pathlib import Path

import pytest

from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.units import Rate
from emulator.world.bottleneck import SharedLink, SharedSide
from emulator.world.link import FRAME, Link, Side
from tests.netem.lab import Message, Way
from tests.netem.street import Street, street

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
]

TBF = Backend(rate="tbf")
QUEUES = Backend(rate="tbf", shared="htb")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
UP, DOWN = Rate(4e6), Rate(16e6)
SHARED = SharedLink(SharedSide(UP), SharedSide(DOWN))
WAYS: tuple[tuple[Way, Rate], ...] = (("up", UP), ("down", DOWN))
SIZE = 10_000
"""Bytes of a message, by which the bytes of a time are counted."""
BEGIN, END, LONG = 1.5, 5.5, 7.0
"""Seconds after the first message: the time that counts, and for which all are busy."""


@pytest.mark.parametrize("control", ["cubic", "bbr"])
@pytest.mark.parametrize(("way", "rate"), WAYS)
def test_members_share_the_whole_rate_of_the_bottleneck(way: Way, rate: Rate, control: str) -> None:
    """Two members have no rate of their own, and one has a third of what they should get."""
    if control not in AVAILABLE.read_text().split():
        pytest.skip(f"this kernel has not loaded the congestion control {control}")
    shares = [3 / 7 * rate, 3 / 7 * rate, rate / 7]
    with street(SHARED, QUEUES, members=3) as here:
        slow = Side(Rate(rate / 7))
        here.shape(2, access.shape(Link(slow, slow), TBF))
        streams = [
            here.stream(m, way, SIZE, _count(share), control) for m, share in enumerate(shares)
        ]
        total = _passed(here)[way]
        seen = [stream.messages() for stream in streams]
    began = min(messages[0].sent for messages in seen)
    found = [_rate(messages, began) for messages in seen]
    shown = [round(f / share, 3) for f, share in zip(found, shares, strict=True)]
    print(f"{way}, {control}: {total / rate:.4f} of the rate, of the shares {shown}")
    assert total == pytest.approx(rate, rel=0.03)
    # What a loss holds up arrives at once later; BBR loses more packets here than Cubic.
    assert sum(found) == pytest.approx(rate, rel=0.06 if control == "cubic" else 0.12)
    assert found[0] == pytest.approx(found[1], rel=0.05)
    assert found[:2] == pytest.approx(shares[:2], rel=0.15)
    assert found[2] == pytest.approx(shares[2], rel=0.3)  # it sends a third of the messages


def _passed(here: Street) -> dict[Way, float]:
    """Return the bits of frames a second that leave the queues in the time that counts."""
    time.sleep(BEGIN + 0.5)  # the senders wait half a second
    since, before = time.monotonic(), here.passed()
    time.sleep(END - BEGIN)
    passed, took = here.passed(), time.monotonic() - since
    return {way: 8 * (passed[way] - before[way]) / took for way, _ in WAYS}


def _count(rate: float) -> int:
    return round(LONG * rate / (8 * FRAME * SIZE))


def _rate(messages: list[Message], began: float) -> float:
    """Return the bits of frames a second in the time that counts."""
    arrived = sum(BEGIN <= message.received - began < END for message in messages)
    return arrived * SIZE * 8 * FRAME / (END - BEGIN)


@pytest.mark.parametrize(("way", "rate"), WAYS)
def test_a_member_alone_has_the_whole_rate(way: Way, rate: Rate) -> None:
    """Also after a while: a sender that the kernel redirects goes around the queue."""
    with street(SHARED, QUEUES, members=1) as here:
        messages = here.stream(0, way, SIZE, _count(rate)).messages()
    found = _rate(messages, messages[0].sent)
    print(f"{way}: {found / rate:.4f} of the rate")
    assert found == pytest.approx(rate, rel=0.03)


def test_the_directions_take_nothing_from_each_other() -> None:
    """Each has half of its rate to carry, as a full queue would hold acknowledgements up."""
    with street(SHARED, QUEUES, members=2) as here:
        for member in range(2):
            here.shape(member, access.shape(Link(Side(Rate(UP / 2)), Side(Rate(DOWN / 2))), TBF))
        for member, (way, rate) in enumerate(WAYS):
            here.stream(member, way, SIZE, _count(rate / 2))
        passed = _passed(here)
    for way, rate in WAYS:
        print(f"{way}: {passed[way] / rate:.4f} of the rate")
        assert 0.45 * rate < passed[way] < 0.6 * rate
