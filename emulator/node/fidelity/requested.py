"""The properties that a scenario asks for in each direction of a device's link. Pure."""

import math
from dataclasses import dataclass

from ...world.links.delay_draws import moments
from ...world.links.link import Link, Side
from ...world.links.reshaping import read
from ..config import MeasuredLink


@dataclass(frozen=True)
class Requested:
    """A direction between a node and the server. Times are in seconds."""

    rate: float | None
    """Of the node's own side, in bits of frames a second; None: unlimited."""
    delay: float
    """Of the whole path, as packets have it: 0 where messages are held at the receiver."""
    jitter: float
    loss: float
    """Share of packets lost on the whole path."""
    bursts: bool = False
    """Whether packets are lost in bursts, by a model."""
    held: float = 0.0
    """Delay for which the receiver holds messages back, where packets are not delayed."""

    @property
    def asks(self) -> bool:
        """Whether there is anything to keep."""
        return bool(self.rate or self.delay or self.jitter or self.loss or self.held)


class Request:
    """The link that the scenario asks for, as faults change it."""

    def __init__(self, measured: MeasuredLink) -> None:
        self.link = read(measured.link)
        self._server = Link() if measured.server is None else read(measured.server)
        self._delayed = measured.delayed

    def way(self, way: str, link: Link | None = None) -> Requested:
        """Return the direction `way`, with `link` in place of the node's own link."""
        own = link or self.link
        if way == "up":
            return self._path(own.up, self._server.down)
        return self._path(own.down, self._server.up)

    @property
    def alone(self) -> bool:
        """Whether all loss of the path is on the node's own side."""
        return not (self._server.up.lost or self._server.down.lost)

    def slowest(self) -> float | None:
        """Return the lowest rate on the way there and back; None without any."""
        sides = (self.link.up, self.link.down, self._server.up, self._server.down)
        return min((float(side.rate) for side in sides if side.rate), default=None)

    def _path(self, own: Side, server: Side) -> Requested:
        loss = 1 - (1 - own.lost) * (1 - server.lost)
        bursts = (own.loss_model, server.loss_model) != (None, None)
        rate = None if own.rate is None else float(own.rate)
        delays, variances = zip(_moments(own), _moments(server), strict=True)
        if not self._delayed:
            return Requested(rate, 0.0, 0.0, loss, bursts, own.delay + server.delay)
        # independent jitters add up in their squares
        return Requested(rate, sum(delays), math.sqrt(sum(variances)), loss, bursts)


def _moments(side: Side) -> tuple[float, float]:
    """Return the mean and the variance of the delay of `side`."""
    mean, deviation = moments(side.distribution)
    variance = (side.jitter * deviation) ** 2
    hasty = side.reorder / side.gap  # the share of packets that pass without the delay
    delay = side.delay + side.jitter * mean
    return delay * (1 - hasty), (1 - hasty) * (variance + hasty * delay**2)
