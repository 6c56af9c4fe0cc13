"""The rates that devices share: those of bottlenecks, of a network, and of the server."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

from ....scenario import Group, Scenario
from ....world.links.bottleneck import SharedLink, SharedSide
from ....world.links.link import Link, Side
from ....world.links.link_course import link_at
from ....world.links.network_routes import WAYS, Hop, Way
from ....world.links.reshaping import reshaped
from ....world.verbs import Setting
from ..clock import Heap
from .link_group import SharedRate
from .link_path import LinkPath, RatedLink
from .server_link import ServerLink
from .shard_links import SharedShards
from .tcp import MOST_ACKS
from .transmission import Transmission


class _Part:
    """The bits of a message, or its acknowledgements, as a flow of one link."""

    def __init__(self, link: LinkPath, own_rate: float, done: Callable[[], None]) -> None:
        self._link, self._own_rate, self._done = link, own_rate, done
        self.passing = False

    def join(self, bits: float) -> None:
        """Begin to pass `bits`; a link that limits nothing passes them at once."""
        if self._link.limits(self._own_rate):
            self.passing = True
            self._link.join(self, bits, self._own_rate)

    def leave(self) -> None:
        """Pass no further bits."""
        if self.passing:
            self.passing = False
            self._link.leave(self, self._own_rate)

    def slowed(self) -> bool:
        """Return whether bits pass, at less than the own rate."""
        return self.passing and self._link.rate_of(self._own_rate) < self._own_rate

    def left(self) -> float:
        """Return the bits left to send."""
        return self._link.left(self, self._own_rate) if self.passing else 0.0

    def through(self) -> None:
        """Go on after the last bit has passed the link."""
        self.passing = False
        self._done()


class AcknowledgedFlow:
    """The two parts of a message on its way. All numbers of bits are those of frames.

    TCP sends on as acknowledgements come back. A fast message has at most `MOST_ACKS` of them. If
    the bottleneck has room for these, the message is through when its last bit has passed. If it
    has not, TCP sends two segments at once, with an acknowledgement for each pair, and the message
    is through when the last of these has passed, too.
    """

    def __init__(
        self,
        there: LinkPath,
        back: LinkPath,
        own_rate: float,
        share: float,
        through: Callable[[], None],
    ) -> None:
        """`there` passes the bits, `back` the acknowledgements: `share` bits for each bit.

        `own_rate` is the rate that the message could have alone. `through` is called at the end.
        """
        self._share, self._through = share, through
        self._bits = _Part(there, own_rate, self._look)
        self._acknowledgements = _Part(back, min(own_rate * share, MOST_ACKS), self._look)

    def join(self, bits: float) -> None:
        """Begin to send `bits`."""
        self._acknowledgements.join(bits * self._share)
        self._bits.join(bits)
        self._look()

    def _look(self) -> None:
        """Call `through` if the bits have passed, and no acknowledgement holds the sender up."""
        if not (self._bits.passing or self._acknowledgements.slowed()):
            # acknowledgements at their full rate hold nothing up: the rest needs no room
            self._acknowledgements.leave()
            self._through()

    def leave(self) -> float:
        """Take out both parts before the end; return the bits left to send."""
        left = self.left()
        self._bits.leave()
        self._acknowledgements.leave()
        return left

    def left(self) -> float:
        """Return the bits left to send: those that acknowledgements hold up have not passed."""
        if self._bits.passing and not self._acknowledgements.slowed():
            return self._bits.left()
        return max(self._bits.left(), self._acknowledgements.left() / self._share)


Crossed: TypeAlias = tuple[tuple[Hop, ...], tuple[Hop, ...]]
"""The shared links that packets to the server pass, and those that packets from it pass."""


def crossed(scenario: Scenario, device: str) -> Crossed:
    """Return the bottleneck and the links of the network that packets of `device` pass."""
    own, route = scenario.bottleneck_of.get(device), scenario.route_of.get(device)
    up, down = ((), ()) if route is None else (route.up, route.down)
    if own is None:
        return up, down
    return (Hop(own.name, "up"), *up), (*down, Hop(own.name, "down"))


class Ahead(NamedTuple):
    """Shared links of a path together, as TCP on the device meets them."""

    shared: SharedLink
    loss: float = 0.0
    """Share of packets that faults of the network's links lose, in each direction."""


class NetworkLinks:
    """The rated links that the devices of a scenario share, but for the server's link; those of the
    network may change."""

    def __init__(self, clock: Heap, scenario: Scenario) -> None:
        self._clock, self._scenario = clock, scenario
        self._settings: dict[str, Setting] = {}
        self._edges = {each.name: each for each in scenario.network_links}
        self._bottlenecks = {each.name: each for each in scenario.bottlenecks}
        self._links: dict[tuple[str, Way], RatedLink] = {
            (each.name, way): RatedLink(float(side.rate))
            for each in scenario.shared_queues
            for way in WAYS
            if (side := getattr(each, way)).rate is not None
        }

        self._access = {
            (name, way): RatedLink(getattr(link_at(group.link), way).net_rate)
            for group in scenario.devices
            if group.background is not None
            for name in group.names
            for way in WAYS
        }

    def __bool__(self) -> bool:
        """Whether any link is rated, or shared with background traffic."""
        return bool(self._links or self._access)

    def rated(self, name: str, way: Way) -> RatedLink | None:
        """Return a direction of a bottleneck or a link of the network; None without a rate."""
        return self._links.get((name, way))

    def access(self, device: str, way: Way) -> RatedLink | None:
        """Return a direction of the own link of `device`, if the device shares it with background
        traffic."""
        return self._access.get((device, way))

    def change_access(self, device: str, link: Link) -> None:
        """Note that the own link of `device` is `link` from now on."""
        for way in WAYS:
            if (rated := self.access(device, way)) is not None:
                rated.change(self._clock, getattr(link, way).net_rate)

    def rate_and_load(self, link: str, way: Way) -> tuple[float, float] | tuple[None, None]:
        """Return the rate of a direction and the sum of the rates of its flows; None for both
        without a rate."""
        rated = self._links.get((link, way))
        return (None, None) if rated is None else (rated.rate, rated.load)

    def reshape(self, link: str, setting: Setting | None) -> None:
        """Change the rates of a `link` of the network as the verb `reshape` does; None restores.

        The devices behind the link find another delay and loss, which `ahead` tells.
        """
        if setting is None:
            self._settings.pop(link, None)
        else:
            self._settings[link] = setting
        changed = reshaped(self._edges[link].link, setting)
        for way in WAYS:
            if (rated := self._links.get((link, way))) is not None:
                rated.change(self._clock, float(getattr(changed, way).rate))

    def ahead(self, device: str) -> Ahead | None:
        """Return the links between the own link of `device` and the server's, as they are now; None
        if there are none."""
        shared, settings = self._scenario.shared_of.get(device), self._settings
        if shared is None or not settings:
            return None if shared is None else Ahead(shared)
        kept = 1.0
        sides = []
        for hops in crossed(self._scenario, device):
            side = SharedSide()
            for hop in hops:
                side = side.then(self._side(hop))
            sides.append(side)
        for link in self._scenario.route_of[device].names:
            kept *= 1 - settings.get(link, {}).get("loss", 0.0)
        return Ahead(SharedLink(*sides), 1 - kept)

    def _side(self, hop: Hop) -> SharedSide:
        """Return the direction of a bottleneck or a link of the network, as it is now."""
        if (edge := self._edges.get(hop.link)) is None:
            own: SharedSide = getattr(self._bottlenecks[hop.link], hop.way)
            return own
        changed = getattr(reshaped(edge.link, self._settings.get(hop.link)), hop.way)
        return SharedSide(changed.rate, changed.delay)

    def of(self, device: str, direction: Way) -> tuple[RatedLink, ...]:
        """Return the rated links before the server's link that messages of `device` share."""
        up, down = crossed(self._scenario, device)
        hops = up if direction == "up" else down
        own = self.access(device, direction)
        links = [own, *map(self._links.get, hops)]
        return tuple(link for link in links if link is not None)


class SharedRates:
    """Makes the shared rates of each group of devices in a direction."""

    def __init__(
        self, clock: Heap, scenario: Scenario, direction: Way, server: Side, network: NetworkLinks
    ) -> None:
        """`server` is the server's side in this direction."""
        rate = server.net_rate
        self._clock, self._direction, self._network = clock, direction, network
        self._alone = None if rate == math.inf else ServerLink(clock, rate)
        shards = scenario.server.shards
        self.shards = SharedShards([ServerLink(clock, rate) for _ in range(shards)], rate)
        """The links of the server's shards, which no other shared link is before."""
        self._server = [] if rate == math.inf else [RatedLink(rate)]
        self._rest = LinkPath(clock, self._server)
        self._paths: dict[tuple[RatedLink, ...], LinkPath] = {(): self._rest}

    def of(self, group: Group, back: "SharedRates", acknowledged: float) -> SharedRate | None:
        """Return the rates that the devices of `group` share; None without any.

        `back` has the shared rates of the opposite direction, which pass `acknowledged` bits of
        acknowledgements for each bit of a message.
        """
        if not self._network:
            return self._alone
        own, returning = self._paths_of(group), back._paths_of(group) if acknowledged else {}
        if not (own or returning or self._alone):
            return None
        return MemberLinks(own, self._rest, returning, acknowledged)

    def _paths_of(self, group: Group) -> dict[int, LinkPath]:
        """Return the paths of the devices of `group` behind shared links, by index in the group."""
        paths = {number: self.path(name) for number, name in enumerate(group.names)}
        return {number: path for number, path in paths.items() if path is not self._rest}

    def path(self, device: str) -> LinkPath:
        """Return the path of the messages of `device`; devices behind the same links share one."""
        links = self._network.of(device, self._direction)
        if links not in self._paths:
            self._paths[links] = LinkPath(self._clock, (*links, *self._server))
        return self._paths[links]


class MemberLinks:
    """The shared links of a group of devices, some of which are behind more than the server's."""

    def __init__(
        self,
        own: Mapping[int, LinkPath],
        rest: LinkPath,
        back: Mapping[int, LinkPath] | None = None,
        acknowledged: float = 0.0,
    ) -> None:
        """`own` has the paths of devices by index in the group; `rest` is the server's link alone.

        `back` has those of the opposite direction, which pass `acknowledged` bits of
        acknowledgements for each bit of a message.
        """
        self._own, self._rest = own, rest
        self._back, self._acknowledged = back or {}, acknowledged
        self._pairs: dict[Transmission, AcknowledgedFlow] = {}

    def join(self, flow: Transmission, bits: float, own_rate: float) -> None:
        """Begin `flow`, as `ServerLink.join`; a flow that nothing limits is through at once."""
        link, back = self._own.get(flow.number, self._rest), self._back.get(flow.number)
        if back is not None:
            end = partial(self._end, flow)
            pair = AcknowledgedFlow(link, back, own_rate, self._acknowledged, end)
            self._pairs[flow] = pair
            pair.join(bits)
        elif link.limits(own_rate):
            link.join(flow, bits, own_rate)
        else:
            flow.through()

    def _end(self, flow: Transmission) -> None:
        """Go on after the last bit and the last acknowledgement of `flow`."""
        del self._pairs[flow]
        flow.through()

    def leave(self, flow: Transmission, own_rate: float) -> float:
        """Take out `flow` before the end; return the bits left to send."""
        if (pair := self._pairs.pop(flow, None)) is not None:
            return pair.leave()
        return self._own.get(flow.number, self._rest).leave(flow, own_rate)

    def left(self, flow: Transmission, own_rate: float) -> float:
        """Return the bits of `flow` left to send."""
        if (pair := self._pairs.get(flow)) is not None:
            return pair.left()
        return self._own.get(flow.number, self._rest).left(flow, own_rate)
