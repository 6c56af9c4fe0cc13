"""Steps and traces on this kernel, by the product's commands: packets between two namespaces."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import mean
from typing import NamedTuple

import pytest

from emulator.node.config import Network
from emulator.node.link.access_link import AccessLink, reshaping_of
from emulator.node.part.part_powers import LinkSchedule
from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.transport.wake_up import DISCARD
from emulator.units import Rate, Seconds
from emulator.world.links.link import FRAME, Link, Side
from emulator.world.links.link_course import link_at
from emulator.world.links.link_steps import LinkStep, PlayedTrace
from tests.containers.host_pace import judged
from tests.netem.lab import Lab, Way, lab

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
]

TBF = Backend(rate="tbf", loss="nftables", cut="nftables")
UP_FIRST, DOWN_FIRST = (
    pytest.mark.parametrize("way", [first, pytest.param(other, marks=pytest.mark.thorough)])
    for first, other in (("up", "down"), ("down", "up"))
)
"""Each test plays one way in the gate, and both in `make test-all`."""
SMALL = 1448 * 4
"""Bytes of a message, of whose arrivals a rate is counted."""


class Played:
    """A lab whose node plays the changes of its link, as a supervisor does."""

    def __init__(self, here: Lab, link: Link) -> None:
        self._lab = here
        begun = link_at(link)
        facts = reshaping_of(link, TBF, Link())
        self._link = AccessLink(Network(reshaping=facts))
        self._schedule = LinkSchedule(facts)
        here.shape(access.shape(begun, TBF, changing=True))
        self._over = threading.Event()
        self.zero = time.monotonic()
        self._schedule.begin(self.zero)
        self.late: list[float] = []
        self._thread = threading.Thread(target=self._play)
        self._thread.start()

    def _play(self) -> None:
        while not self._over.wait(max(0.0, min(0.2, self._schedule.due - time.monotonic()))):
            due = self._schedule.due
            if self._schedule.take(time.monotonic()):
                self._lab.shape(self._link.change_own(self._schedule.link))
                self.late.append(time.monotonic() - due)
                if self._link.risen:
                    self._lab.wake(DISCARD)

    def close(self) -> None:
        self._over.set()
        self._thread.join()


@contextmanager
def played(link: Link) -> Iterator[tuple[Lab, Played]]:
    with lab() as here:
        player = Played(here, link)
        try:
            yield here, player
        finally:
            player.close()


def both(side: Side) -> Link:
    return Link(side, side)


DEVICES: dict[Way, str] = {"up": "eth0", "down": "ifb-eth0"}
"""Interface with the queue of a direction."""


def rates(here: Lab, way: Way, zero: float, edges: list[float]) -> list[float]:
    """Return the rates of frames between neighbours of `edges`, seconds after `zero`, as mbit."""
    seen = []
    for edge in edges:
        time.sleep(max(0.0, zero + edge - time.monotonic()))
        seen.append((time.monotonic(), here.carried(DEVICES[way])))
    return [
        (after[1] - before[1]) * 8e-6 / (after[0] - before[0]) for before, after in pairwise(seen)
    ]


class Rates(NamedTuple):
    """Rates in mbit, and the seconds by which each change of the link was late."""

    had: list[float]
    late: list[float]


def near(had: list[float], wanted: list[float], longer: float) -> bool:
    """Return whether each rate is within 10 % of the one `wanted`, or as much less as the host
    explains."""
    return all(0.9 / longer < got / rate < 1.1 for got, rate in zip(had, wanted, strict=True))


@UP_FIRST
def test_a_rate_is_followed_second_by_second(way: Way) -> None:
    """The mean error of a second is under 5 %, and each change in force within 100 ms, but for one
    of ten that the host may stall."""
    wanted = [4, 9, 6, 2, 3, 8, 5, 7, 1.5, 6]
    samples = ", ".join(f"{at} {round(rate * 1e6)}" for at, rate in enumerate(wanted))
    side = Side(trace=PlayedTrace(samples=f"{samples}, end {len(wanted)}"))

    def followed() -> Rates:
        with played(both(side)) as (here, player):
            here.stream(way, SMALL, count=10_000)
            # the first second has the start of the connection
            edges = [float(at) for at in range(1, len(wanted) + 1)]
            return Rates(rates(here, way, player.zero, edges), player.late)

    def close(found: Rates, longer: float) -> bool:
        errors = [abs(had / rate - 1) for had, rate in zip(found.had, wanted[1:], strict=True)]
        return mean(errors) < 0.05 + 1 - 1 / longer and sorted(found.late)[-2] < 0.1 * longer

    judged(followed, close)


@DOWN_FIRST
def test_a_change_is_in_force_within_100_ms(way: Way) -> None:
    """From 2 s on 8 mbit are 2 mbit, and 8 mbit again from 3 s on."""
    steps = (LinkStep(at=Seconds(2), rate=Rate(2e6)), LinkStep(at=Seconds(3), rate=Rate(8e6)))
    side = Side(rate=Rate(8e6), steps=steps)

    def changed() -> Rates:
        with played(both(side)) as (here, player):
            here.stream(way, SMALL, count=10_000)
            edges = [1.5, 1.95, 2.1, 2.95, 3.1, 3.6]
            before, _, after, _, again = rates(here, way, player.zero, edges)
            return Rates([before, after, again], player.late)

    judged(
        changed,
        lambda found, longer: near(found.had, [8, 2, 8], longer) and max(found.late) < 0.1 * longer,
    )


@UP_FIRST
def test_a_steep_fall_leaves_the_link_busy_and_the_queue_short(way: Way) -> None:
    """From 2 s on 40 mbit are 4 mbit. The queue held 250 ms of the older rate, which is 2.5 s of
    the new one: it drains, and from then on holds 250 ms."""
    side = Side(rate=Rate(40e6), steps=(LinkStep(at=Seconds(2), rate=Rate(4e6)),))

    def fallen() -> tuple[list[float], list[float]]:
        """Return the rates after the fall, and then the round trips."""
        with played(both(side)) as (here, player):
            here.stream(way, SMALL, count=10_000)
            had = rates(here, way, player.zero, [2.1, 3.1, 4.1, 5.1, 6.1])
            trips = [trip for trip in here.ping(10, gap=0.05, wait=2.0) if trip is not None]
            return had, trips

    def short(found: tuple[list[float], list[float]], longer: float) -> bool:
        had, trips = found
        return near(had, [4, 4, 4, 4], longer) and max(trips) < 0.35 * longer

    judged(fallen, short)


@DOWN_FIRST
def test_packets_wait_for_the_end_of_an_outage(way: Way) -> None:
    """1 s at 8 mbit, 2 s of silence: the rest goes on at once, not at TCP's next time-out."""
    side = Side(trace=PlayedTrace(samples="0 8000000, 1 0, 3 8000000, end 30"))
    size = round(2e6 * 8 / 8 / FRAME)

    def took() -> float:
        with played(both(side)) as (here, _):
            (message,) = here.stream(way, size).messages()
        # bits that a late start leaves over are sent at the end
        return message.received - message.sent

    judged(took, lambda seconds, longer: 3.9 < seconds < 4.3 * longer)
