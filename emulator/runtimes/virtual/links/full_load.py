"""The load of a network while all devices send and receive at once, without a run."""

from typing import NamedTuple

from ....scenario import Scenario
from ....world.links.link_course import link_at
from ....world.links.network_routes import WAYS, Way
from ..clock import Heap
from .shared_rates import NetworkLinks, SharedRates

_LONG = 1e15
"""Bits of a transfer that does not end."""


class _Transfer:
    """A transfer without an end."""

    def through(self) -> None:
        raise RuntimeError("a transfer without an end has ended")


class LinkLoad(NamedTuple):
    """A direction of a link of the network: its rate and its load, in bits of frames a second."""

    link: str
    way: Way
    rate: float | None
    load: float | None
    """None without a rate."""


def full_loads(scenario: Scenario) -> list[LinkLoad]:
    """Return both directions of all links of the network, while each device has a transfer in each
    direction: its rate is the fair share on its path, and that of its own link at most."""
    clock = Heap()
    network = NetworkLinks(clock, scenario)
    server = scenario.server.link
    for direction, side in zip(WAYS, (server.down, server.up), strict=True):
        shared = SharedRates(clock, scenario, direction, side, network)
        for group in scenario.devices:
            own_rate = getattr(link_at(group.link), direction).net_rate
            for name in group.names:
                path = shared.path(name)
                if path.limits(own_rate):
                    path.join(_Transfer(), _LONG, own_rate)
    return [
        LinkLoad(each.name, way, *network.rate_and_load(each.name, way))
        for each in scenario.network_links
        for way in WAYS
    ]
