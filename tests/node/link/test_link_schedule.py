"""The dated changes of a node's link: which commands, and when."""

import math
import time
from itertools import islice

import pytest

from emulator.node.config import Network, Reshaping
from emulator.node.link.access_link import AccessLink, held, reshaping_of
from emulator.node.part.part_powers import LinkSchedule
from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.link_course import link_at, link_course
from emulator.world.links.link_steps import LinkStep, PlayedTrace, TraceStart
from emulator.world.links.reshaping import reshaped
from tests.fakes.node.supervised import BORN, WORKER, Make, born

NFTABLES = Backend(rate="tbf", delay="receiver", loss="nftables", cut="nftables")
NETEM = Backend(rate="tbf", delay="netem", loss="netem", cut="netem")
SERVER = Link(Side(delay=Seconds(0.01)), Side(delay=Seconds(0.005)))
STEPS = (
    LinkStep(at=Seconds(0.3), rate=Rate(2e6)),
    LinkStep(at=Seconds(0.6), delay=Seconds(0.2)),
)
STEPPED = Link(up=Side(rate=Rate(8e6), delay=Seconds(0.02), steps=STEPS))
TRACE = PlayedTrace(samples="0 8000000, 1 4000000, 2 1000000, end 3", start=TraceStart(-1))
TRACED = Link(down=Side(trace=TRACE))


def facts(link: Link, since: float = 0.0, draw: float = 0.0) -> Reshaping:
    return reshaping_of(link, NFTABLES, SERVER, 1.0, draw, since)


def network(link: Link, backend: Backend) -> Network:
    begun = link_at(link)
    return Network(
        shape=access.shape(begun, backend, beyond=[SERVER.down], changing=True),
        sever=access.sever(begun, backend),
        mend=access.mend(begun, backend, beyond=[SERVER.down], changing=True),
        reshaping=reshaping_of(link, backend, SERVER),
    )


def test_changes_are_due_from_zero_on() -> None:
    schedule = LinkSchedule(facts(STEPPED))
    assert schedule.due == math.inf
    schedule.begin(100.0)
    rates = []
    for now in (100.0, 100.29, 100.35, 100.5, 100.65, 200.0):
        if schedule.take(now):
            rates.append((round(schedule.link.up.rate or 0), float(schedule.link.up.delay)))
            schedule.done(now + 0.01)
    assert rates == [(2_000_000, 0.02), (8_000_000, 0.2)]
    assert schedule.latest == pytest.approx(0.06)
    assert schedule.played == 2
    assert schedule.due == math.inf


def test_changes_that_were_missed_are_made_at_once() -> None:
    schedule = LinkSchedule(facts(STEPPED))
    schedule.begin(100.0)
    assert schedule.take(100.9)
    assert schedule.link.up.delay == 0.2
    assert not schedule.take(100.9)


def test_a_resumed_run_goes_on_at_the_right_place() -> None:
    whole = dict(islice(link_course(TRACED, 0.5), 9))
    schedule = LinkSchedule(facts(TRACED, since=2.75, draw=0.5))
    at = max(at for at in whole if at <= 2.75)
    assert schedule.link == whole[at]
    schedule.begin(-2.75)  # zero lies before the resumption
    assert schedule.due == pytest.approx(-2.75 + min(at for at in whole if at > 2.75))


def test_a_link_without_changes_has_none_due() -> None:
    for made in (LinkSchedule(None), LinkSchedule(facts(SERVER))):
        made.begin(0.0)
        assert (made.changes, made.due, made.take(1e9)) == (False, math.inf, False)


@pytest.mark.parametrize("backend", [NFTABLES, NETEM])
def test_own_changes_and_faults_go_together(backend: Backend) -> None:
    """The fault halves the rate of each moment, and a cut's end finds the link of its moment."""
    ours, (first, second, third) = AccessLink(network(STEPPED, backend)), moments(STEPPED)
    half = {"rate": 0.5}
    assert ours.reshape(half) == access.change(first, reshaped(first, half), backend)
    assert ours.change_own(second) == access.change(
        reshaped(first, half), reshaped(second, half), backend
    )
    ours.sever()
    assert ours.change_own(third) == []
    assert ours.reshape(None) == []
    mended = ours.mend()
    if backend is NETEM:
        assert mended == access.mend(third, backend, beyond=[SERVER.down], changing=True)
    else:
        changes = access.change(reshaped(second, half), third, backend)
        assert mended == [*changes, *access.mend(third, backend)]
    assert ours.change_own(first) == access.change(third, first, backend)
    assert ours.sent_delay() == held(backend, first.up, SERVER.down)


def moments(link: Link) -> list[Link]:
    return [now for _, now in link_course(link)]


def test_a_slow_link_that_becomes_faster_has_to_be_woken() -> None:
    outage = Link(up=Side(trace=PlayedTrace(samples="0 8000000, 1 0, 2 8000000, end 3")))
    ours = AccessLink(network(outage, NFTABLES))
    risen = []
    for _, now in islice(link_course(outage), 1, 3):
        ours.change_own(now)
        risen.append(ours.risen)
    assert risen == [False, True]


@pytest.mark.slow
def test_a_supervisor_changes_its_link_by_its_own_clock(make: Make) -> None:
    """Golden commands, in force within 100 ms of their time."""
    container = make(part=BORN, role=WORKER, network=network(STEPPED, NFTABLES))
    container.hear("ready")
    born(container, 0)
    zero = time.monotonic()
    container.tell("zero", at=zero)
    heard = []
    while len(heard) < 2:
        report = container.hear("applied")
        if report["words"] and "change" in report["words"][0]:
            heard.append((report["now"] - zero, report["words"]))
    (first, words), (second, after) = heard
    assert words == [
        "tc qdisc change dev eth0 root handle 504e: tbf rate 2000000bit burst 2014 limit 62500 "
        "peakrate 100gbit mtu 1514"
    ]
    assert after == [
        "tc qdisc change dev eth0 root handle 504e: tbf rate 8000000bit burst 3514 limit 250000 "
        "peakrate 100gbit mtu 1514"
    ]
    assert 0.3 <= first < 0.4
    assert 0.6 <= second < 0.7
    # the server holds its messages back for the new delay
    assert container.hear("delay")["delay"].delay == pytest.approx(0.205)
