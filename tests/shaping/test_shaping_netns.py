"""A node's link on this kernel, with real packets between two namespaces."""

import os
import subprocess
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

import pytest

from emulator.errors import DeploymentError
from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.shaping.command import Command
from emulator.units import Fraction, Rate
from emulator.world.links.link import FRAME, Link, Side
from tests.containers.host_pace import at_once, judged, judged_each
from tests.netem.lab import Lab, Way, lab

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
]

TBF = Backend(rate="tbf", loss="nftables", cut="nftables")
HTB = Backend(rate="htb", loss="nftables", cut="nftables")
DROP = Backend(rate="tbf", loss="nftables", cut="drop")
RARE = 1e-6
"""A loss that is drawn for one packet in a million: the qdiscs of a lossy link, without losses."""
RATES = [Rate(1e6), Rate(8e6), Rate(50e6)]
MODEL = 1_700_000
WAYS: tuple[Way, Way] = ("up", "down")


def _rated(rate: Rate) -> Link:
    return Link(up=Side(rate=rate), down=Side(rate=rate))


def _lossy(way: Way, loss: float, rate: Rate | None = None) -> Link:
    return Link(**{way: Side(rate=rate, loss=Fraction(loss))})


@pytest.mark.parametrize(
    ("backend", "lump"),
    [(TBF, 0), (HTB, 65536)],  # htb lets the last packet through whole, however long
    ids=["tbf", "htb"],
)
def test_goodput_is_the_rate_less_the_headers(backend: Backend, lump: int) -> None:
    """Late is TCP's fault now and then, when it loses the last of what it sends; early never is."""
    judged_each(
        lambda links: _bulk(backend, links, lump),
        [(rate, way) for rate in RATES for way in WAYS],
        lambda found, longer: found.share * longer > 0.97,
    )


class Goodput(NamedTuple):
    """Share of the modelled goodput, 1448/1514 of the rate, that a transfer had."""

    rate: str
    way: Way
    share: float


def _bulk(backend: Backend, links: list[tuple[Rate, Way]], lump: int) -> list[Goodput]:
    """Return the goodput of four seconds' worth of bytes on each of `links`, all at once."""
    with ExitStack() as stack:
        running = []
        for rate, way in links:  # a lab each: acknowledgements would take a share of the other way
            here = stack.enter_context(lab())
            here.shape(access.shape(_rated(rate), backend))
            running.append((rate, way, here.stream(way, size=_size(rate))))
        return [
            _goodput(rate, way, stream.messages()[0].took, lump) for rate, way, stream in running
        ]


def _size(rate: Rate) -> int:
    return round(4 * rate / 8 / FRAME)


def _goodput(rate: Rate, way: Way, took: float, lump: int) -> Goodput:
    found = Goodput(str(rate), way, round(Side(rate=rate).transfer(_size(rate)) / took, 4))
    assert took > Side(rate=rate).transfer(_size(rate) - lump) / 1.03, found
    return found


@pytest.mark.parametrize("backend", [TBF, HTB], ids=["tbf", "htb"])
def test_each_frame_of_a_fast_link_pays_its_overhead(backend: Backend) -> None:
    """In both directions; charged once for a packet of many frames, overhead would cost little."""
    side = Side(rate=Rate(50e6), overhead=400)
    size = _size(Rate(50e6)) // 2

    def slower(way: Way) -> tuple[Way, float]:
        """Return the duration of a message as a factor of the modelled one."""
        factor = here.stream(way, size=size).messages()[0].took / side.transfer(size)
        assert factor > 0.96, (way, factor)
        return way, factor

    with lab() as here:
        here.shape(access.shape(Link(up=side, down=side), backend))
        here.outside(access.shape(Link(), backend, beyond=[side]))
        judged_each(
            lambda ways: map(slower, ways), WAYS, lambda found, longer: found[1] < 1.04 * longer
        )


@pytest.mark.parametrize(
    ("rate", "size", "count"),
    [
        (Rate(8e6), MODEL, 1),
        (Rate(50e6), MODEL, 3),
        (Rate(1e6), 2_000, 100),
        (Rate(8e6), 22_000, 20),
    ],
    ids=["model-8mbit", "models-50mbit", "burst-1mbit", "updates-8mbit"],
)
def test_messages_take_the_time_that_virtual_time_charges(
    rate: Rate, size: int, count: int
) -> None:
    judged(
        lambda: _both_ways(rate, size, count),
        lambda found, longer: max(found.up, found.down) < found.modelled * 1.03 * longer + 0.01,
    )


class BothWays(NamedTuple):
    """Seconds that messages take up, and down, at the same time, and those of virtual time."""

    up: float
    down: float
    modelled: float


def _both_ways(rate: Rate, size: int, count: int) -> BothWays:
    link = _rated(rate)
    with lab() as up, lab() as down:
        streams = []
        for way, here in zip(WAYS, (up, down), strict=True):
            here.shape(access.shape(link, TBF))
            streams.append(here.stream(way, size, count))
        both = [stream.messages() for stream in streams]
    up_took, down_took = (messages[-1].received - messages[0].sent for messages in both)
    found = BothWays(up_took, down_took, link.up.transfer(count * size))
    first = 8 * 1600 / rate + 0.002  # what an idle link lets through at once
    assert min(up_took, down_took) > found.modelled * 0.97 - first, found
    return found


def test_the_slowest_link_still_carries() -> None:
    """TCP's first timeout is far too short for a dial-up line: some of it is sent twice."""
    link = _rated(Rate(49e3))
    with lab() as here:
        here.shape(access.shape(link, TBF))
        (message,) = here.stream("down", size=16_000).messages()
        assert message.took == pytest.approx(link.down.transfer(16_000), rel=0.3)


def test_an_update_is_not_let_through_whole() -> None:
    """TCP hands 64 KB down as one packet; charged after it has passed, it would take no time."""
    with lab() as here:
        link = _rated(Rate(1e6))
        here.shape(access.shape(link, TBF))
        for way in WAYS:
            took = here.stream(way, size=22_000).messages()[0].took
            assert took == pytest.approx(link.up.transfer(22_000), rel=0.12), way


@pytest.mark.parametrize("way", WAYS)
def test_loss_is_what_was_asked(way: Way) -> None:
    """Of 3,000 at 10 %, 99 in 100 honest runs lose 8.6 to 11.4 %: two outside are a fault."""

    def lost() -> float:
        times = here.ping(3000, gap=0.0005, wait=0.5)
        return times.count(None) / len(times)

    with lab() as here:
        here.shape(access.shape(_lossy(way, 0.1), TBF))
        judged(lost, lambda share, _: 0.086 <= share <= 0.114)


@pytest.mark.parametrize("way", WAYS)
def test_tcp_learns_of_losses_from_the_silence(way: Way) -> None:
    """Told by its own host, it would not count a segment as sent, nor ever slow down."""
    size = 1_500_000
    with lab() as here:
        here.shape(access.shape(_lossy(way, 0.1, Rate(50e6)), TBF))
        again = here.stream(way, size).again()
        print(way, again / (size / 1448))
        assert again > 0.06 * size / 1448


@pytest.mark.parametrize("backend", [TBF, DROP], ids=["nftables", "drop"])
def test_a_cut_stops_everything_and_connections_outlive_it(backend: Backend) -> None:
    link = _rated(Rate(8e6))
    with lab() as here:
        here.shape(access.shape(link, backend))
        streams = [here.stream(way, size=200, count=60, gap=0.05) for way in WAYS]
        time.sleep(1.0)
        here.shape(access.sever(link, backend))
        cut = time.monotonic()
        here.shape(access.sever(link, backend))  # as when a severed node crashes
        assert here.ping(20, gap=0.01, wait=0.1) == [None] * 20
        time.sleep(0.5)
        mended = time.monotonic()
        here.shape(access.mend(link, backend))
        here.shape(access.mend(link, backend))
        for stream in streams:
            messages = stream.messages()
            assert len(messages) == 60
            during = [m for m in messages if cut + 0.02 < m.received < mended]
            assert not during
            assert any(m.received < cut for m in messages)
            assert max(m.took for m in messages) > 0.8 * (mended - cut)
        assert None not in here.ping(20, gap=0.01)


def test_tcp_counts_as_sent_what_it_sends_into_a_cut() -> None:
    """Told of a drop, TCP would send nothing again, and would not close its window."""
    links = [
        (Link(), TBF),
        (_rated(Rate(8e6)), TBF),
        (_rated(Rate(8e6)), HTB),
        (_lossy("up", RARE), TBF),
        (_lossy("up", RARE, Rate(8e6)), TBF),
        (_lossy("up", RARE, Rate(8e6)), HTB),
    ]
    with ExitStack() as stack:
        labs = [stack.enter_context(lab()) for _ in links]
        for here, (link, backend) in zip(labs, links, strict=True):
            here.shape(access.shape(link, backend))
        streams = [here.stream("up", size=60_000, pause=2.0) for here in labs]
        time.sleep(1.5)
        for here, (link, backend) in zip(labs, links, strict=True):
            here.shape(access.sever(link, backend))
            here.shape(access.sever(link, backend))  # as when a severed node crashes
        cut = time.monotonic()
        time.sleep(1.5)
        mended = time.monotonic()
        for here, (link, backend) in zip(labs, links, strict=True):
            here.shape(access.mend(link, backend))
        for stream, (link, backend) in zip(streams, links, strict=True):
            (message,) = stream.messages()
            assert cut < message.sent < mended < message.received, "this host started it late"
            assert stream.again() > 0, (link, backend)


def test_a_lower_rate_blocks_no_packet_that_is_queued() -> None:
    """A tbf waits for ever with a packet that is longer than its bucket has become.

    Each fall has a sender of its own: one that lost a whole window by the fall before may wait for
    its timer, with nothing queued. Each way falls in a lab of its own, both at once.
    """
    at_once(_fall_thrice)(list(WAYS))


def _fall_thrice(way: Way) -> None:
    fast, slow = _rated(Rate(200e6)), _rated(Rate(8e6))
    device = "eth0" if way == "up" else "ifb-eth0"
    with lab() as here:
        here.shape(access.shape(fast, TBF, changing=True))
        for _ in range(3):
            here.stream(way, size=100_000_000, pause=0.5)
            time.sleep(1.2)  # amid the message
            here.shape(access.change(fast, slow, TBF))
            time.sleep(0.3)  # the bucket is full after a change
            since, before = time.monotonic(), _sent(here, device)
            time.sleep(0.5)
            bits = 8 * (_sent(here, device) - before)
            assert bits > 0.5 * 8e6 * (time.monotonic() - since)  # blocked, it sends nothing
            here.shape(access.change(slow, fast, TBF))


def _sent(here: Lab, device: str) -> int:
    """Return the bytes that have left a device of the node."""
    words = ["ip", "netns", "exec", here.near, "tc", "-s", "qdisc", "show", "dev", device]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return int(shown.split("Sent ")[1].split()[0])


def test_clearing_leaves_the_device_as_it_was() -> None:
    side = Side(rate=Rate(8e6), loss=Fraction(0.01))
    link = Link(up=side, down=side)
    with lab() as here:
        before = _state(here)
        here.shape(access.shape(link, TBF))
        here.shape(access.sever(link, TBF))
        assert _state(here) != before
        here.shape(access.clear())
        assert _state(here) == before
        here.shape(access.clear())


def test_what_others_shaped_is_refused_and_left_alone() -> None:
    with lab() as here:
        theirs = ["tc", "qdisc", "add", "dev", "eth0", "root", "handle", "7:", "pfifo"]
        subprocess.run(["ip", "netns", "exec", here.near, *theirs], check=True)
        before = _state(here)
        with pytest.raises(DeploymentError, match="tc refused: tc qdisc add dev eth0 root"):
            here.shape(access.shape(_rated(Rate(8e6)), TBF))
        here.shape(access.clear())
        assert _state(here) == before


def _state(here: Lab) -> list[str]:
    asked = ["tc qdisc show", "tc filter show dev eth0", "ip -d link show", "nft list ruleset"]
    return [
        subprocess.run(
            ["ip", "netns", "exec", here.near, *line.split()],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for line in asked
    ]


def test_commands_that_share_a_process_are_named_when_one_is_refused() -> None:
    good = Command.of("tc qdisc add dev eth0 root handle 1: tbf rate 1mbit burst 5k limit 10k")
    bad = Command.of("tc qdisc add dev eth0 parent 9:9 handle 2: bfifo limit 9000")
    never = Command.of("tc qdisc change dev eth0 root tbf rate 2mbit burst 5k limit 10k")
    with lab() as here:
        with pytest.raises(DeploymentError, match="tc refused: tc qdisc add dev eth0 parent 9:9"):
            here.shape([good, bad, never])
        assert "rate 1Mbit" in _state(here)[0]
        here.shape([replace(command, lenient=True) for command in (good, bad, never)])
        assert "rate 2Mbit" in _state(here)[0]
