"""TCP after a cut in virtual time, against this kernel's TCP over links with delay."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from emulator.scenario.sections.run_sections import Congestion
from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.links.link import Link, Side
from tests.containers.host_pace import judged_each
from tests.fakes.virtual.replayed_transfers import Transfer, modelled, resumed
from tests.netem.lab import Way, lab

pytestmark = [
    pytest.mark.netns,
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
    pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="needs /dev/net/tun, to hold"),
]

TBF = Backend(rate="tbf", cut="nftables")
SENT, CUT, MENDED = 3.0, 2.5, 5.5
"""Seconds after the connection began, more or less: the message is sent into the cut."""


@dataclass(frozen=True)
class Case:
    """Messages of `size` bytes, the first of which is sent into a cut.

    The node is cut, or the far end where the case is `beyond` the node's own kernel.
    """

    rate: float
    delay: float
    way: Way
    size: int
    count: int = 1
    gap: float = 0.0
    beyond: bool = False
    control: Congestion = "cubic"

    @property
    def link(self) -> Link:
        side = Side(Rate(self.rate), Seconds(self.delay))
        return Link(up=side, down=side)


CASES = [
    Case(9e6, 0.085, "down", 1_690_000),
    Case(9e6, 0.085, "up", 1_690_000),
    Case(50e6, 0.050, "up", 1_000_000, beyond=True),
    Case(9e6, 0.150, "down", 140_000, count=2, gap=9.0),
    Case(9e6, 0.085, "up", 1_690_000, control="reno"),
    Case(9e6, 0.085, "up", 1_690_000, control="bbr"),
]


def test_what_was_sent_into_a_cut_takes_as_long_as_in_virtual_time() -> None:
    """From its first segment to its last, as when the first comes is up to TCP's clock.

    So does a message from a node that is cut, whose TCP must not be told of it, as where the cut
    is beyond the node. The message after it takes longer than on a new connection, too.
    """
    with ThreadPoolExecutor() as threads:
        judged_each(lambda cases: threads.map(_transfers, cases), CASES, _in_time)


def _in_time(found: list[Transfer], longer: float) -> bool:
    return bool(found) and all(item.measured < 1.15 * longer * item.modelled for item in found)


def _transfers(case: Case) -> list[Transfer]:
    way, link, size = case.way, case.link, case.size
    with lab(case.delay) as here:
        here.shape(access.shape(link, TBF))
        end = here.outside if case.beyond else here.shape
        stream = here.stream(way, size, case.count, case.gap, case.control, SENT)
        time.sleep(CUT)
        end(access.sever(link, TBF))
        cut = time.monotonic()
        time.sleep(MENDED - CUT)
        mended = time.monotonic()
        end(access.mend(link, TBF))
        messages = stream.messages()
    first, *others = messages
    if not cut < first.sent < mended:
        return []  # this host took seconds to start a process
    sent = [message.sent for message in messages]
    model = modelled(link, way, size, sent, cut=(cut, mended), control=case.control)
    begun = [
        (first.begun, resumed(link, way, first.sent, (cut, mended))),
        *((message.sent, message.sent) for message in others),
    ]
    found = [
        Transfer(link, way, size, message.received - since, arrived - modelled_since)
        for message, arrived, (since, modelled_since) in zip(messages, model, begun, strict=True)
    ]
    # late may be this host's fault; early never is
    assert all(item.measured > 0.85 * item.modelled for item in found), found
    return found
