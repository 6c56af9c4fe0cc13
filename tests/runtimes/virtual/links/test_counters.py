"""Byte counters in virtual time: none ever falls, and their totals are the messages' frames."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis import read
from analysis.facts import traffic
from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.link_group import LinkGroup
from emulator.runtimes.virtual.links.network import link_constants
from emulator.runtimes.virtual.links.server_link import ServerLink
from emulator.runtimes.virtual.links.tcp import ACK
from emulator.runtimes.virtual.virtual_runtime import VirtualRuntime
from emulator.units import Rate, Seconds
from emulator.world.links.link import FRAME, Link, Side
from tests.fakes.virtual_world import played

# -- one line, in worlds drawn at random -----------------------------------------------------------

STEP = 0.05
"""Seconds between two samples."""

RATES = st.none() | st.sampled_from([2e5, 1.6e6, 9e6, 50e6])
SECONDS = st.sampled_from([0.0, 0.001, 0.03, 0.2])
SIDES = st.builds(
    lambda rate, delay, jittered, setup: Side(
        None if rate is None else Rate(rate),
        Seconds(delay),
        Seconds(delay / 4 if jittered else 0),
        setup=Seconds(setup),
    ),
    RATES,
    SECONDS,
    st.booleans(),
    SECONDS,
)
SIZES = st.integers(1, 400_000)
GAPS = st.floats(0.001, 2)
KINDS = st.sampled_from(["send", "send", "cut", "mend", "drop", "reconnect", "resend"])
EVENTS = st.lists(st.tuples(GAPS, KINDS, SIZES), min_size=1, max_size=20)


@dataclass
class Line:
    """A link with a list of things to do as time passes, and the last reading of the counter."""

    heap: Heap
    lines: LinkGroup
    sent: int = 0
    delivered: int = 0
    lossless: bool = True
    cut: bool = False
    still: set[int] = field(default_factory=set)
    """Readings during the cut that lasts."""
    last: int = 0

    def look(self) -> None:
        now = self.lines.carried(0)
        assert now >= self.last, f"{self.last} bytes, then {now} at {self.heap.now}"
        self.last = now
        if self.cut:
            self.still.add(now)
            assert len(self.still) == 1, f"{self.still} bytes have crossed a line that is cut"

    def do(self, what: str, size: int) -> None:
        self.look()
        if what == "send":
            self.sent += size
            self.lines.send(0, size, self._deliver, size)
        elif what == "cut" and not self.cut:
            self.lines.cut(0)
            self.still = set()
            self.cut = True
        elif what == "mend" and self.cut:
            self.lines.mend(0)
            self.cut = False
        elif what == "drop":
            self.lines.drop(0)
            self.cut = self.lossless = False
        elif what in ("reconnect", "resend") and self.cut:
            self.lines.reconnect(0, resend=what == "resend")
            self.cut = self.lossless = False
        self.look()

    def _deliver(self, size: int) -> None:
        self.delivered += size


_TIED = Side(Rate(2e5), Seconds(0), Seconds(0), setup=Seconds(0.2))
"""With a message of one byte, a cut after 0.2 s comes in the moment in which its bits leave."""


@pytest.mark.slow
@settings(deadline=None)  # a host that others use, too
@given(SIDES, RATES, st.booleans(), EVENTS)
@example(_TIED, None, True, [(1.0, "send", 1), (0.2, "cut", 1)])
def test_a_counter_never_falls_and_ends_at_what_was_delivered(
    side: Side, server: float | None, tcp: bool, events: list[tuple[float, str, int]]
) -> None:
    heap = Heap()
    access = None if server is None else ServerLink(heap, server)
    beyond = Link(down=Side() if server is None else Side(Rate(server)))
    constants = link_constants(Link(up=side, down=Side(delay=side.delay)), beyond, "up", tcp)
    line = Line(heap, LinkGroup(heap, constants, 1, lambda who: Random(who), access))
    at = 0.0
    for gap, what, size in [*events, (1.0, "mend", 0)]:
        at += gap
        heap.at(at, line.do, what, size)
    for number in range(math.ceil(at / STEP) + 200):
        heap.at(number * STEP, line.look)
    assert heap.run(math.inf, 10**6)
    line.look()
    assert line.delivered <= line.last <= line.sent
    if line.lossless:
        assert line.last == line.delivered == line.sent


def test_a_message_that_was_sent_into_a_cut_and_dropped_has_carried_nothing() -> None:
    heap, link = Heap(), Link(up=Side(Rate(9e6)), down=Side(delay=Seconds(0.1)))
    lines = LinkGroup(
        heap, link_constants(link, Link(), "up", tcp=True), 1, lambda who: Random(who)
    )
    lines.cut(0)
    heap.at(5.0, lines.send, 0, 100_000, _ignore)  # the shaper's bucket is full
    heap.at(6.0, lines.drop, 0)
    assert heap.run(math.inf, 100)
    assert lines.carried(0) == 0


def _ignore() -> None:
    pass


# -- whole runs ------------------------------------------------------------------------------------

PHONES = """
# Do the counters of phones that are cut off now and then only ever grow?
name: phones
seed: 5
training: {dataset: digits, model: digits-mlp, batch_size: 8, algorithm: asgd}
stop: {time: 15min}
virtual: {learner: none, step: 1s, boot: 5s}
devices:
  - {name: phone, count: 8, link: 4g, failures: [commuter-phone, flaky-home]}
"""


@dataclass
class Sent:
    """Bytes of messages by device, each way."""

    sent: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    delivered: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))


@contextmanager
def listening() -> Iterator[Sent]:
    """Record the messages on the links of all devices, which are one group."""
    noted, ways = Sent(), dict[LinkGroup, str]()
    deploy, send = VirtualRuntime.deploy, LinkGroup.send

    def deployed(self: VirtualRuntime, *arguments: Any) -> None:
        (both,) = self.links
        ways.update({both.up: "up", both.down: "down"})
        deploy(self, *arguments)

    def noting(
        self: LinkGroup, who: int, size: int, deliver: Callable[..., None], *arguments: Any
    ) -> None:
        key = f"phone-{who}", ways[self]
        noted.sent[key] += size

        if deliver is not delivered:  # else a message that is sent again
            arguments = key, size, deliver, *arguments
        send(self, who, size, delivered, *arguments)

    def delivered(
        key: tuple[str, str], size: int, deliver: Callable[..., None], *arguments: Any
    ) -> None:
        noted.delivered[key] += size
        deliver(*arguments)

    with patch.object(VirtualRuntime, "deploy", deployed), patch.object(LinkGroup, "send", noting):
        yield noted


@pytest.mark.slow
@pytest.mark.parametrize("link", ["4g", "3g", "edge"])
def test_phones_that_are_cut_off_have_counters_that_only_grow(tmp_path: Path, link: str) -> None:
    with listening() as noted:
        folder, summary, _ = played(tmp_path, f"devices[0].link={link}", text=PHONES)
    assert summary["faults_realised"] > 50
    run = read(folder)
    readings = run.records("traffic")
    falls = readings.groupby("node")[["rx", "tx"]].diff().min()
    assert (falls >= 0).all(), f"a counter fell by {-falls.min():.0f} bytes"
    totals = traffic.totals(run)
    for number in range(8):
        phone = f"phone-{number}"
        least, most = (_frames(phone, sizes) for sizes in (noted.delivered, noted.sent))
        for what in ("rx", "tx"):
            assert least[what] - 1 <= totals.loc[phone, what] <= most[what] + 1
    phones = totals.drop("server")
    assert abs(totals.loc["server", "rx"] - phones["tx"].sum()) <= 8  # each is rounded
    assert abs(totals.loc["server", "tx"] - phones["rx"].sum()) <= 8


def _frames(phone: str, sizes: dict[tuple[str, str], int]) -> dict[str, float]:
    """At the device's interface, with acknowledgements."""
    up, down = sizes[phone, "up"], sizes[phone, "down"]
    return {"rx": down * FRAME + up * ACK, "tx": up * FRAME + down * ACK}
