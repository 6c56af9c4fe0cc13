"""A bottleneck's gateway on this kernel, with real packets of several members."""

import os
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.units import Rate
from emulator.world.links.bottleneck import SharedLink, SharedSide
from emulator.world.links.link import FRAME, Link, Side
from tests.containers.host_pace import at_once, judged_each
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
def test_members_share_the_whole_rate_of_the_bottleneck(control: str) -> None:
    """Each way on a street of its own, both at once.

    Two members have no rate of their own, and one has a third of what they should get. The gateway
    counts what it forwards of each. Arrivals of whole messages are too coarse: what a loss holds up
    arrives at once later, and the slow member sends seven messages a second.
    """
    if control not in AVAILABLE.read_text().split():
        pytest.skip(f"this kernel has not loaded the congestion control {control}")
    judged_each(at_once(lambda case: _carried(*case, control)), WAYS, _fairly)


class Carried(NamedTuple):
    """The carried share of the rate, and of what each member should get."""

    way: Way
    whole: float
    each: list[float]


def _fairly(found: Carried, longer: float) -> bool:
    fair = all(0.9 / longer < share < 1.1 * longer for share in found.each)
    return fair and found.whole * longer > 0.97


def _carried(way: Way, rate: Rate, control: str) -> Carried:
    shares = [3 / 7 * rate, 3 / 7 * rate, rate / 7]
    with street(SHARED, QUEUES, members=3) as here:
        slow = Side(Rate(rate / 7))
        here.shape(2, access.shape(Link(slow, slow), TBF))
        for member, share in enumerate(shares):
            here.stream(member, way, SIZE, _count(share), control)
        passed = _passed(here)[way]
    each = [round(had / share, 3) for had, share in zip(passed, shares, strict=True)]
    found = Carried(way, sum(passed) / rate, each)
    assert found.whole < 1.03, found
    return found


def _passed(here: Street) -> dict[Way, list[float]]:
    """Return the bits of frames a second of each member that leave the queues in the time that
    counts."""
    time.sleep(BEGIN + 0.5)  # the senders wait half a second
    since, before = time.monotonic(), here.passed()
    time.sleep(END - BEGIN)
    passed, took = here.passed(), time.monotonic() - since
    return {
        way: [8 * (more - less) / took for less, more in zip(before[way], passed[way], strict=True)]
        for way, _ in WAYS
    }


def _count(rate: float) -> int:
    return round(LONG * rate / (8 * FRAME * SIZE))


def _rate(messages: list[Message], began: float) -> float:
    """Return the bits of frames a second in the time that counts."""
    arrived = sum(BEGIN <= message.received - began < END for message in messages)
    return arrived * SIZE * 8 * FRAME / (END - BEGIN)


def test_a_member_alone_has_the_whole_rate() -> None:
    """Also after a while: a sender that the kernel redirects goes around the queue."""

    def carried(case: tuple[Way, Rate]) -> float:
        way, rate = case
        with street(SHARED, QUEUES, members=1) as here:
            messages = here.stream(0, way, SIZE, _count(rate)).messages()
        share = _rate(messages, messages[0].sent) / rate
        assert share < 1.03
        return share

    judged_each(at_once(carried), WAYS, lambda share, longer: share * longer > 0.97)


def test_the_directions_take_nothing_from_each_other() -> None:
    """Each has half of its rate to carry, as a full queue would hold acknowledgements up."""
    with street(SHARED, QUEUES, members=2) as here:
        for member in range(2):
            here.shape(member, access.shape(Link(Side(Rate(UP / 2)), Side(Rate(DOWN / 2))), TBF))
        for member, (way, rate) in enumerate(WAYS):
            here.stream(member, way, SIZE, _count(rate / 2))
        passed = _passed(here)
    for way, rate in WAYS:
        total = sum(passed[way])
        print(f"{way}: {total / rate:.4f} of the rate")
        assert 0.45 * rate < total < 0.6 * rate
