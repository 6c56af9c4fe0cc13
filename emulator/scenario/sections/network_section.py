"""The section `network`: routers and links between the devices' own links and the server's link."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated

from pydantic import AfterValidator, Field

from ...world.links.bottleneck import SharedLink, SharedSide
from ...world.links.link import Link, Side
from ...world.links.network_routes import Route, nearest_to_all, routes
from .devices import Background, DeviceNames, Group, Section, device_name

MOST_ROUTERS = 1_000
"""Largest number of routers."""

RouterName = Annotated[str, AfterValidator(device_name)]


class NetworkLink(Section):
    """Link between two routers: a queue in each direction for all packets that are routed over
    it."""

    name: RouterName = ""
    """Name of the link, by which faults and records name it, unlike that of any device. Default:
    the names of both routers, as `west-core`."""
    between: tuple[str, str]
    """The two routers that the link joins, `[a, b]`."""
    up: SharedSide = Field(default_factory=SharedSide)
    """Direction from the first router of `between` to the second: `rate`, `delay`. Without a rate
    the direction is unlimited."""
    down: SharedSide = Field(default_factory=SharedSide)
    """Direction from the second router of `between` to the first: `rate`, `delay`."""

    background: Background | None = None
    """Background traffic over the link, beside that of the devices: `up` from the first router of
    `between` to the second."""

    @property
    def link(self) -> Link:
        """Both directions, as a link that a fault may change."""
        return Link(Side(self.up.rate, self.up.delay), Side(self.down.rate, self.down.delay))


class NetworkSection(Section):
    """Network: routers and links that stand between the devices' own links, or their bottlenecks,
    and the server's link. Packets take the path with the least delay. Write `routers` and `links`,
    or `file`, or `topohub`."""

    routers: tuple[RouterName, ...] = ()
    """Routers, by name."""
    links: tuple[NetworkLink, ...] = ()
    """Links between routers."""
    file: str | None = None
    """GraphML file with routers and links, for example `./net.graphml`: a path from the scenario's
    folder, or in an option from the working directory. Edges may have `rate` and `delay`, or these
    with `up_` or `down_` before, as text with units, or `dist` in km. Needs the package
    networkx."""
    topohub: Annotated[str, Field(min_length=1)] | None = None
    """Topology of the package topohub, for example `gabriel/25/0` or `sndlib/polska`."""
    link: SharedLink | None = None
    """Rates and delays of links that have none of their own where they are described outside of
    the scenario."""
    attach: dict[str, str] = Field(default_factory=dict)
    """Router of each device: names of devices and of groups, and patterns with `*`, each with a
    router. Without `attach` devices are dealt over all routers but the server's, in turn."""
    server: str | None = None
    """Router of the server. Default: the router with the least sum of delays to all others."""

    @cached_property
    def server_router(self) -> str:
        """The router of the server, given or chosen."""
        return self.server or nearest_to_all(self.routers, self.links)

    @cached_property
    def routes(self) -> dict[str, Route]:
        """The routes between each router and the server's, by router."""
        return routes(self.routers, self.links, self.server_router)

    def routers_of(self, groups: Sequence[Group]) -> dict[str, str]:
        """Return the router of each device of `groups`, by the device's name."""
        named = [(group.name, group.names) for group in groups]
        if not self.attach:
            return dealt(self.routers, self.server_router, (n for _, names in named for n in names))
        known = DeviceNames(named)
        return {name: router for key, router in self.attach.items() for name in known.of(key)}


def dealt(routers: Sequence[str], server: str, devices: Iterable[str]) -> dict[str, str]:
    """Return a router for each of `devices`: each but that of the `server` in turn."""
    others = [router for router in routers if router != server] or [server]
    return {device: others[place % len(others)] for place, device in enumerate(devices)}
