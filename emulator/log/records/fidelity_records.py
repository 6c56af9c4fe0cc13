"""Records of how well the host kept what the scenario asks for: of links, and of its own load.

Only runs in containers have them: in virtual time every link is exact.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta

from .record_fields import LogRecord, Rate, Share, Time

Shares: TypeAlias = Annotated[list[float], Meta(extra={"unit": "fraction"})]
"""Fractions, one for each second."""


class LinkRecord(LogRecord, tag="link"):
    """A direction of a device's link as measured in the seconds before, beside what was asked for.

    Only of directions that are shaped: about every ten seconds, and at the end. The record of the
    server has the rate of its own link.
    """

    node: str
    """Node of the link: a device, or `server`."""
    way: str
    """Direction: `up`, away from the node, or `down`."""
    lasts: Time
    """Duration of the measurement."""
    busy: Time = 0.0
    """Time in which packets waited for the rate, and the rate was measured."""
    rate: Rate | None = None
    """Mean rate in this time, in Ethernet frames as `tc` counts them; absent without such a
    time."""
    stretches: int = 1
    """Uninterrupted times of which `busy` is the sum."""
    requested_rate: Rate | None = None
    """Rate of the node's own side, in the mean of `busy`, or else of the time; absent without
    one."""
    echoes: int = 0
    """Echoes whose delay was measured."""
    late: int = 0
    """Further echoes, which came more than 20 ms and eight jitters after the requested delay: the
    host delayed them, not the link."""
    delay: Time | None = None
    """Mean delay of the echoes."""
    requested_delay: Time = 0.0
    """Delay of the path, the server's side included."""
    jitter: Time | None = None
    """Standard deviation of the delay of the echoes."""
    requested_jitter: Time = 0.0
    """Standard deviation that was asked for."""
    held: Time = 0.0
    """Delay for which the receiver holds messages back where packets have none."""
    packets: int = 0
    """Packets, or else echoes, of which the losses were counted."""
    lost: int = 0
    """Those that were lost."""
    requested_loss: Share = 0.0
    """Share of packets to be lost on the path."""
    behind: str = ""
    """Bottleneck on the path, where packets wait that the node's own queue does not hold."""
    bursts: bool = False
    """Whether a model loses packets in bursts, so that the number lost has no binomial
    distribution."""


class HostRecord(LogRecord, tag="host"):
    """The load of the host in the seconds before: a value for each second, the latest at `at`."""

    busy: Shares
    """Share of the host's cores in use."""
    pressure: Shares | None = None
    """Share of the second in which a process waited for a core (PSI, `some`). A device at its CPU
    quota waits, too. Absent where the kernel does not tell."""
    evaluator: Shares | None = None
    """Share of the host's cores that the evaluator used, which counts as free: the evaluator takes
    what is left. Of the evaluator's reports that overlap the second, the larger one. Absent where
    unknown."""
    waits: Shares | None = None
    """Mean share of the second for which processes of a device or the server waited for a core
    beside their quotas (PSI of their control groups). Absent where the kernel does not tell."""
    short: list[bool] | None = None
    """Whether devices and server were short of processor time: without the evaluator, 95 % of the
    cores were in use, or 80 % and `waits` was half of the second."""
    server: Shares | None = None
    """Time of a core that the server's container used; absent where unknown."""
    throttled: Shares | None = None
    """Mean share of the second for which the devices' quotas made them wait; absent without
    quotas."""
    step: Time = 1.0
    """Time from one value to the next: a real second."""
    host: str = ""
    """Name of the host; empty in a run on one host."""
    clock_ahead: float | None = None
    """Seconds by which the clock of another host was ahead of the conductor's. The times of all
    records count by the conductor's clock: they are corrected by this."""
    clock_error: Time | None = None
    """Seconds by which `clock_ahead` may be wrong either way."""
