"""The supervisor's link, with faults that overlap: no packet is sent here."""

from typing import Any

import pytest

from emulator.node.config import Boxed, Delay, Network
from emulator.node.link.access_link import AccessLink, held, reshaping_of
from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.shaping.command import Command
from emulator.units import Rate, Seconds
from emulator.world.links import reshaping
from emulator.world.links.link import FRAME, Link, Side

NFTABLES = Backend(rate="tbf", delay="receiver", loss="nftables", cut="nftables")
NETEM = Backend(rate="tbf", delay="netem", loss="netem", cut="netem")
SIDE = Side(rate=Rate(8e6), delay=Seconds(0.02))
OWN, SERVER = Link(SIDE, SIDE), Link(Side(delay=Seconds(0.01)), Side(delay=Seconds(0.005)))
SLOW = {"rate": 0.25, "delay": 0.1}
WORSE = Side(rate=Rate(2e6), delay=Seconds(0.12))
SLOWER = Link(WORSE, WORSE)


def link(backend: Backend) -> AccessLink:
    network = Network(
        shape=access.shape(OWN, backend, beyond=[SERVER.down], changing=True),
        sever=access.sever(OWN, backend),
        mend=access.mend(OWN, backend, beyond=[SERVER.down], changing=True),
        reshaping=reshaping_of(OWN, backend, SERVER),
    )
    return AccessLink(network)


def change(old: Link, new: Link, backend: Backend) -> list[Command]:
    changes = access.change(old, new, backend)
    assert changes
    return changes


@pytest.mark.parametrize("backend", [NFTABLES, NETEM])
def test_it_changes_and_comes_back(backend: Backend) -> None:
    ours = link(backend)
    assert ours.reshape(SLOW) == change(OWN, SLOWER, backend)
    assert ours.reshape(None) == change(SLOWER, OWN, backend)
    assert ours.sever() == access.sever(OWN, backend)
    assert ours.mend() == access.mend(OWN, backend, beyond=[SERVER.down], changing=True)


def test_a_mended_link_is_the_changed_one() -> None:
    ours = link(NFTABLES)
    ours.sever()
    assert ours.reshape(SLOW) == []
    assert ours.mend() == [*change(OWN, SLOWER, NFTABLES), *access.mend(OWN, NFTABLES)]
    ours.sever()
    assert ours.mend() == access.mend(OWN, NFTABLES)  # the shape outlives a cut by nftables
    ours.sever()
    assert ours.reshape(None) == []
    assert ours.mend() == [*change(SLOWER, OWN, NFTABLES), *access.mend(OWN, NFTABLES)]


def test_a_cut_by_netem_ends_in_the_changed_shape() -> None:
    ours = link(NETEM)
    ours.sever()
    assert ours.reshape(SLOW) == []
    assert ours.mend() == access.mend(SLOWER, NETEM, beyond=[SERVER.down], changing=True)
    assert ours.reshape(None) == change(SLOWER, OWN, NETEM)


def test_messages_are_held_for_the_changed_delay_without_netem() -> None:
    ours = link(NFTABLES)
    assert ours.received_delay() == Delay(pytest.approx(0.03))
    ours.reshape(SLOW)
    assert ours.received_delay() == Delay(pytest.approx(0.13))
    assert link(NETEM).received_delay() == Delay()
    assert AccessLink(Network()).received_delay() is None


class Box:
    """The box end of a link, which keeps its changes."""

    def __init__(self) -> None:
        self.changes: list[tuple[Link, Link]] = []

    def change(self, old: Link, new: Link) -> None:
        self.changes.append((old, new))


def test_a_link_through_the_box_changes_there_and_is_cut_by_commands() -> None:
    backend = Backend(rate="tbf", delay="packets", loss="box", cut="nftables")
    network = Network(
        sever=access.sever(OWN, backend),
        mend=access.mend(OWN, backend, beyond=[SERVER.down], changing=True),
        reshaping=reshaping_of(OWN, backend, SERVER),
        boxed=Boxed(reshaping.plain(OWN), backend.plain()),
    )
    box: Any = Box()
    slower = reshaping.reshaped(OWN, SLOW)
    ours = AccessLink(network, box)
    assert ours.reshape(SLOW) == []
    assert box.changes == [(OWN, slower)]
    assert ours.sever() == access.sever(OWN, backend)
    assert ours.reshape(None) == []
    assert box.changes == [(OWN, slower)]  # it is cut
    assert ours.mend() == access.mend(OWN, backend)
    assert box.changes == [(OWN, slower), (slower, OWN)]
    assert ours.received_delay() == Delay()


def test_set_ups_are_held_by_every_kernel() -> None:
    slow = Side(rate=Rate(1e6), setup=Seconds(0.5))
    assert held(NETEM, slow, Side()) == Delay(setup=0.5, pace=8 * FRAME / 1e6)
