"""Reno and BBR in virtual time, against this kernel's TCP over links with delay."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from emulator.runtimes.virtual.links.network import link_constants
from emulator.scenario.sections.run_sections import Congestion
from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import ETHERNET, SEGMENT, Link, Side
from tests.containers.host_pace import judged_each
from tests.fakes.virtual.replayed_transfers import Transfer, modelled
from tests.netem.lab import lab

CONTROLS: tuple[Congestion, ...] = ("bbr", "reno")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
MISSING = sorted(set(CONTROLS) - set(AVAILABLE.read_text().split() if AVAILABLE.exists() else ()))

pytestmark = [
    pytest.mark.netns,
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
    pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="needs /dev/net/tun, to hold"),
    pytest.mark.skipif(bool(MISSING), reason=f"needs a kernel with {' and '.join(MISSING)}"),
]

BACKEND = Backend(rate="tbf", loss="nftables", cut="nftables")
CABLE = 0.004
"""Seconds by which the cable's process may make a message late, at each crossing of a window."""


@dataclass(frozen=True)
class Case:
    """Messages up a link on one connection: new for the first message, at rest for the others."""

    control: Congestion
    rate: float
    delay: float
    size: int
    count: int = 3
    loss: float = 0.0

    @property
    def link(self) -> Link:
        rate, delay = Rate(self.rate), Seconds(self.delay)
        return Link(up=Side(rate, delay, loss=Fraction(self.loss)), down=Side(rate, delay))

    @property
    def gap(self) -> float:
        """Seconds between messages; none where losses count, as a window is open then."""
        return 0.0 if self.loss else 0.8 + 2 * self.link.up.transfer(self.size)


OPENING = [
    *(Case("bbr", 50e6, 0.05, size) for size in (20_000, 100_000, 300_000, 1_000_000)),
    Case("bbr", 8e6, 0.02, 1_000_000),
    Case("reno", 50e6, 0.025, 100_000),
    Case("reno", 8e6, 0.02, 1_000_000),
]
LOSSY = [
    Case("bbr", 8e6, 0.04, 1_000_000, count=6, loss=0.01),
    Case("bbr", 30e6, 0.01, 3_000_000, count=6, loss=0.05),
    Case("reno", 30e6, 0.01, 2_000_000, count=6, loss=0.01),
    Case("reno", 8e6, 0.04, 300_000, count=6, loss=0.05),
]
"""Back to back, so that all but the first message find TCP as losses have made it."""


def test_a_connection_opens_as_in_virtual_time() -> None:
    judged_each(_opened, OPENING, _in_time)


def _opened(cases: list[Case]) -> Iterator[tuple[Congestion, list[Transfer]]]:
    for case, times in _sent(cases):
        sent = [at for at, _ in times]
        model = modelled(case.link, "up", case.size, sent, control=case.control)
        pairs = zip(times, model, strict=True)
        result = [_transfer(case, end - at, due - at) for (at, end), due in pairs]
        assert all(item.measured > 0.9 * item.modelled for item in result), result
        yield case.control, result


def _in_time(found: tuple[Congestion, list[Transfer]], longer: float) -> bool:
    return all(item.measured < 1.1 * longer * item.modelled + CABLE for item in found[1])


def test_loss_costs_what_it_does_in_virtual_time() -> None:
    """A few dozen packets are lost, so chance plays a part."""
    judged_each(
        lambda cases: [_paced(case, times) for case, times in _sent(cases)], LOSSY, _as_modelled
    )


def _paced(case: Case, times: list[tuple[float, float]]) -> tuple[Congestion, Transfer]:
    """Return the mean time of the messages but for the first."""
    took = (times[-1][1] - times[0][1]) / (case.count - 1)
    constants = link_constants(case.link, Link(), "up", tcp=True, control=case.control)
    model = case.size / SEGMENT * ETHERNET * 8 / constants.rate
    return case.control, _transfer(case, took, model)


def _as_modelled(found: tuple[Congestion, Transfer], longer: float) -> bool:
    control, result = found
    most = 0.1 if control == "bbr" else 0.35
    return 1 - most < result.modelled / result.measured * longer and result.difference < most


def _transfer(case: Case, measured: float, model: float) -> Transfer:
    return Transfer(case.link, "up", case.size, measured, model)


def _sent(cases: list[Case]) -> list[tuple[Case, list[tuple[float, float]]]]:
    """Send the messages of all cases at the same time; return when each was sent and received."""
    with ExitStack() as stack:
        running = []
        for case in cases:
            here = stack.enter_context(lab(case.delay))
            shaped = Side(Rate(case.rate), loss=Fraction(case.loss))
            here.shape(access.shape(Link(up=shaped, down=Side(Rate(case.rate))), BACKEND))
            running.append(
                (case, here.stream("up", case.size, case.count, case.gap, case.control, 0.3))
            )
        return [
            (case, [(message.sent, message.received) for message in stream.messages()])
            for case, stream in running
        ]
