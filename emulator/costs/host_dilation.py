"""The time dilation with which a host has enough cores for the containers of a scenario.

Beside devices and server, the packets want cores: the kernel carries them from process to process,
and where netem is missing the packet box holds them. A rate hands packets out a few frames at a
time, and each wakes the box and the receiver.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..log.verdicts.host_shortage import is_short
from ..scenario import Scenario
from ..scenario.sections.devices import Group
from ..scenario.sections.run_sections import AUTO, MOST_DILATION, TimeSection
from ..schedules import Sequential
from ..shaping.backend import Backend
from ..shaping.tc import SUPERPACKET, filled, segments
from ..synchronization import Asynchronous
from ..units import Rate
from ..world.links.link import ETHERNET, SEGMENT, Side
from .computing_times import known, known_time
from .exchange import ExchangeSizes, exchanges

ROOM = 0.8
"""Share of the host's cores that devices and server may want together. The rest is for the engine,
the kernel's network and the conductor, and for moments at which many devices compute at once."""

PACKET, FRAME = 120e-6, 17e-6
"""Seconds of a core for each packet of a message on a path with a rate, and on any shaped path at
least for each frame: of the box, the kernel's interrupts and ZeroMQ's threads at both ends.
Measured with the box: 60 µs for a frame where TCP made packets of two (`python -m
tests.benchmarks.containers.dilation` prints the processor time), 16 µs in the quickstart's packets
of nine (box and interrupts of `python -m tests.benchmarks.containers.backend_costs`), 17 µs behind
a delay alone. On a path without a shape the calibrated times of steps include the packets."""

QUOTAS, STEPS = "quotas", "steps"


@dataclass(frozen=True)
class CoreDemand:
    """The cores that the nodes of a scenario want in real time."""

    devices: float
    """Cores of all devices together: at most their CPU quotas; a device without one wants a core.
    """
    server: float
    """Cores of the server."""
    source: str
    """`steps`: from the times of steps and links; `quotas`: all devices compute all the time."""
    packets: float = 0.0
    """Cores for the packets on shaped paths; 0 if `source` is `quotas`."""

    @property
    def cores(self) -> float:
        """The sum."""
        return self.devices + self.server + self.packets

    @property
    def who(self) -> str:
        """The user of the cores, in words."""
        return "devices, server and packets" if self.packets else "devices and server"

    def needed(self, cores: float) -> float:
        """Return the smallest dilation, in tenths, with which `cores` cores suffice; 1 or more.

        It may be above `MOST_DILATION`: then no run has it.
        """
        wanted = self.cores / (ROOM * cores)
        return max(1.0, math.ceil(round(10 * wanted, 6)) / 10)

    @property
    def words(self) -> str:
        """The sum in words: `2.35 cores`."""
        return f"{self.cores:,.0f} cores" if self.cores >= 100 else f"{self.cores:.3g} cores"


def core_demand(scenario: Scenario) -> CoreDemand:
    """Return the cores that the nodes of `scenario` want, undilated.

    Where the time of a step is known, from `virtual.step` or this host's calibration, a device of
    asynchronous training wants its step's share of an iteration: the step, a pull and a push, on
    the device's own path. Devices that wait for each other compute at one time, so they want their
    quotas.
    """
    groups = scenario.devices
    quotas = sum(group.core * (group.count or 1) for group in groups)
    if scenario.workload:  # the server's program takes what it takes
        return CoreDemand(round(quotas, 6), 1.0, QUOTAS)
    training = scenario.training
    step, serve = known_time(scenario, training.batch_size), _serve(scenario)
    whole = training.cutting == Sequential() and training.cut is None
    if step is None or not whole or training.synchronization != Asynchronous():
        return CoreDemand(round(quotas, 6), 1.0, QUOTAS)
    devices = rate = packets = 0.0
    for group, exchange in zip(groups, exchanges(scenario).values(), strict=True):
        # a device that has rested does a short step at full speed, within its quota's budget
        bursts = step + exchange.seconds(serve=serve)
        iteration = max(step / group.core, bursts)
        if not iteration:  # `virtual.step` is zero, and nothing else takes time
            return CoreDemand(round(quotas, 6), 1.0, QUOTAS)
        count = group.count or 1
        devices += count * min(group.core, step / iteration)
        rate += count / iteration
        packets += count / iteration * _packets(scenario, group, exchange.sizes)
    server = min(1.0, rate * serve)
    return CoreDemand(round(devices, 6), round(server, 6), STEPS, round(packets, 6))


def _serve(scenario: Scenario) -> float:
    """Return the mean seconds for which an update occupies the server; 0 if they are unknown."""
    training, given = scenario.training, scenario.virtual.serve
    if given is not None:
        return given.mean
    if scenario.virtual.step is not None or not isinstance(training.model, str):
        return 0.0
    measured = known(scenario, training.batch_size)
    return 0.0 if measured is None else measured.serve.mean


def _packets(scenario: Scenario, group: Group, sizes: ExchangeSizes) -> float:
    """Return the seconds of a core for the packets of an iteration on a device of `group`."""
    server, own = scenario.server.link, group.link
    links = [each.link for each in scenario.devices]
    sent = _frames(server.up, [link.down for link in links], [link.up.rate for link in links])
    pushed = _frames(own.up, [server.down], [own.down.rate])
    ways = [((server.up, own.down), sent, sizes.pull), ((own.up, server.down), pushed, sizes.push)]
    return sum(_each(sides, frames) * size / SEGMENT for sides, frames, size in ways)


def _frames(up: Side, beyond: Sequence[Side], back: Sequence[Rate | None]) -> int:
    """Return the frames that TCP combines into a packet for `up` and the far sides `beyond`, with
    acknowledgements at the rates `back`."""
    backend = Backend(rate="tbf", delay="packets")
    if not filled(up, beyond, [rate for rate in back if rate is not None], backend):
        return 2
    return max(2, min(SUPERPACKET // ETHERNET, segments(up, beyond, backend)))


def _each(sides: Sequence[Side], frames: int) -> float:
    """Return the seconds of a core for each frame on a path through `sides`, in packets of
    `frames`."""
    if any(side.rate is not None for side in sides):
        return max(FRAME, PACKET / frames)
    return FRAME if any(side.shaped for side in sides) else 0.0


def with_dilation(scenario: Scenario, cores: float) -> Scenario:
    """Return `scenario` with the dilation that `cores` cores need in place of `auto`."""
    if scenario.time is None or scenario.time.dilation != AUTO:
        return scenario
    needed = min(MOST_DILATION, core_demand(scenario).needed(cores))
    return scenario.model_copy(update={"time": TimeSection(dilation=needed)})


def too_few(scenario: Scenario, wanted: CoreDemand, cores: float) -> bool:
    """Return whether `cores` cores are certainly too few for the cores `wanted` by `scenario`."""
    if wanted.source == STEPS:
        return is_short(wanted.cores / cores)
    # all quotas together are an upper bound already; a device without one may wait for its link
    limited = [group for group in scenario.devices if group.profile and group.profile.cpu]
    return is_short(sum(group.core * (group.count or 1) for group in limited) / cores)
