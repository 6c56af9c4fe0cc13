"""TCP in virtual time against real TCP, over links that this kernel shapes."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product

import pytest

from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.shaping.command import Command
from emulator.units import Rate
from emulator.world.links.link import ETHERNET, Link, Side
from tests.containers.host_pace import judged_each
from tests.fakes.virtual.replayed_transfers import Transfer, modelled
from tests.netem.lab import Lab, Stream, Way, lab

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
]

TBF = Backend(rate="tbf", cut="nftables")
HTB = Backend(rate="htb", cut="nftables")
RATES = [Rate(1e6), Rate(8e6), Rate(50e6)]
SIZES = [10_000, 100_000, 1_000_000, 10_000_000]
WAYS: tuple[Way, Way] = ("up", "down")
ROUSING = 0.002
"""Seconds that a busy host takes to wake the receiver."""
CUT = Rate(8e6)


def _rated(rate: Rate) -> Link:
    return Link(up=Side(rate=rate), down=Side(rate=rate))


# -- transfers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Messages on one connection: new for the first message, open and at rest for the others."""

    link: Link
    way: Way
    size: int
    count: int
    gap: float
    control: str


def _cases(control: str, longest: float) -> Iterator[Case]:
    for rate, way, size in product(RATES, WAYS, SIZES):
        link = _rated(rate)
        took = link.up.transfer(size)
        if took < longest:
            yield Case(link, way, size, 3 if took < 1 else 1, 1.1 * took + 0.3, control)


@pytest.mark.parametrize(
    ("backend", "control", "longest", "spared"),
    [
        (TBF, "cubic", 4.0, 0),
        pytest.param(TBF, "cubic", 11.0, 0, marks=pytest.mark.thorough),
        pytest.param(
            # it lets a frame pass that no more than begins to fit
            *(HTB, "cubic", 11.0, ETHERNET),
            marks=pytest.mark.thorough,
        ),
        (TBF, "bbr", 2.0, 0),  # this host's default perhaps; without loss it makes no difference
    ],
    ids=["tbf-cubic", "tbf-cubic-longest", "htb-cubic", "tbf-bbr"],
)
def test_transfers_take_as_long_as_in_virtual_time(
    backend: Backend, control: str, longest: float, spared: int
) -> None:
    judged_each(
        lambda cases: _transfers(backend, cases, spared), _cases(control, longest), _in_time
    )


def _transfers(backend: Backend, cases: list[Case], spared: int) -> list[list[Transfer]]:
    """Send the messages of all cases at the same time, on separate links."""
    with ExitStack() as stack:
        running = [(case, _started(stack.enter_context(lab()), case, backend)) for case in cases]
        return [_found(case, stream, spared) for case, stream in running]


def _started(here: Lab, case: Case, backend: Backend) -> Stream:
    here.shape(access.shape(case.link, backend))
    if backend.rate == "htb":  # as it has the near end do: what is let through is whole packets
        here.outside([Command.of("ip link set dev eth0 gso_max_segs 1")])
    return here.stream(case.way, case.size, case.count, case.gap, case.control)


def _found(case: Case, stream: Stream, spared: int) -> list[Transfer]:
    messages = stream.messages()
    sent = [message.sent for message in messages]
    model = modelled(case.link, case.way, case.size, sent, spared=spared)
    found = [
        Transfer(case.link, case.way, case.size, message.took, arrived - message.sent)
        for message, arrived in zip(messages, model, strict=True)
    ]
    # late may be this host's fault; early never is
    assert all(item.measured > 0.9 * item.modelled for item in found), found
    return found


def _in_time(found: list[Transfer], longer: float) -> bool:
    """Return whether the first, and the best of the rest, took no longer than modelled."""
    first, *others = (item.measured < 1.1 * longer * item.modelled + ROUSING for item in found)
    return first and (not others or any(others))


# -- cuts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A cut, and when something first came after it; seconds from when TCP found none."""

    way: Way
    mended: float
    measured: float
    modelled: float

    def __repr__(self) -> str:
        return (
            f"{self.way:4} mended after {self.mended:6.3f}, resumed after {self.measured:6.3f}, "
            f"modelled {self.modelled:6.3f}: {self.modelled / self.measured - 1:+.1%}"
        )


def test_what_is_sent_into_a_cut_arrives_when_tcp_tries_again() -> None:
    """As long as a cut lasts that ends well between two tries."""
    with ThreadPoolExecutor() as threads:
        judged_each(
            lambda cuts: threads.map(_into, cuts),
            product(WAYS, (0.45, 2.6)),
            lambda found, longer: abs(found.modelled / found.measured - 1) < 1 - 0.75 / longer,
        )


def _into(what: tuple[Way, float]) -> Cut:
    (way, lasts), link = what, _rated(CUT)
    with lab() as here:
        here.shape(access.shape(link, TBF))
        stream = here.stream(way, size=20_000, count=2, gap=1.5)
        time.sleep(1.2)
        cut = _sever(here, link)
        time.sleep(0.4 + lasts)  # sent after 1.5 s and what a process takes to start
        mended = _mend(here, link)
        first, second = stream.messages()
    model = modelled(link, way, 20_000, [first.sent, second.sent], cut=(cut, mended))
    at = second.sent
    found = Cut(way, mended - at, second.received - at, model[-1] - at)
    assert found.measured > found.mended, found
    return found


def test_what_a_cut_interrupts_goes_on_a_try_sooner_or_later() -> None:
    """The time-out depends on the queue at the bottleneck, and doubles: so may the difference."""
    with ThreadPoolExecutor() as threads:
        result = list(threads.map(_through, product(WAYS, (0.5, 3.0))))
    print("", *result, sep="\n")
    for item in result:
        assert item.measured > item.mended - ROUSING, str(item)
        assert item.modelled / 2.5 < item.measured < 2.5 * item.modelled, str(item)


def _through(what: tuple[Way, float]) -> Cut:
    (way, lasts), link, size = what, _rated(CUT), 1400
    with lab() as here:
        here.shape(access.shape(link, TBF))
        stream = here.stream(way, size, count=1500)
        time.sleep(1.2)
        cut = _sever(here, link)
        time.sleep(lasts)
        mended = _mend(here, link)
        messages = stream.messages()
    model = modelled(link, way, size, [message.sent for message in messages], cut=(cut, mended))
    after = [
        min(at for at in times if at > mended) for times in ([m.received for m in messages], model)
    ]
    return Cut(way, mended - cut, after[0] - cut, after[1] - cut)


def _sever(here: Lab, link: Link) -> float:
    here.shape(access.sever(link, TBF))
    return time.monotonic()


def _mend(here: Lab, link: Link) -> float:
    """Return the moment before the mend: messages that come at once come after it."""
    now = time.monotonic()
    here.shape(access.mend(link, TBF))
    return now
