"""The network of each node of a run: the commands that shape, cut and measure its link. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from ....node.config import Boxed, MeasuredLink, Network
from ....node.link.access_link import reshaping_of
from ....scenario import Scenario
from ....scenario.cores_and_memory import bridge_count
from ....scenario.sections.devices import Bottleneck
from ....scenario.timeline.link_changes import reshaped_links, start_draw
from ....shaping import access, gateway
from ....shaping.backend import Backend, boxed
from ....shaping.command import Command
from ....shaping.playable_link import dilated, dilated_side
from ....shaping.tc import filled
from ....units import Rate
from ....world.links.link import Link, Side
from ....world.links.link_course import link_at
from ....world.links.reshaping import plain, plain_side
from ....world.roles import EVALUATOR, SERVER, server_names
from ..network import neighbours
from ..network.ways import Ways

Addresses: TypeAlias = list[str] | tuple[str, ...]
"""The server's addresses, of which each shard has one. No `Sequence[str]`: a text is one, too."""


def boxed_nodes(scenario: Scenario, backend: Backend) -> frozenset[str]:
    """Return the names of the nodes of `scenario` with packets that pass the box."""
    links = {each.name: path_of(scenario, each.name, each.link) for each in scenario.nodes}
    links |= dict.fromkeys(server_names(scenario.server.shards), scenario.server.link)
    changed = reshaped_links(scenario)
    return frozenset(
        name for name, link in links.items() if boxed(link, backend, changed.get(name, ()))
    )


def path_of(scenario: Scenario, name: str, link: Link) -> Link:
    """Return `link` of the node `name` with the delays of its bottleneck."""
    bottleneck = scenario.bottleneck_of.get(name)
    return link if bottleneck is None else bottleneck.shared.lengthen(link)


@dataclass(frozen=True)
class NodeNetworks:
    """The networks of the containers of one run, made on demand."""

    scenario: Scenario
    backend: Backend
    ways: Ways = field(default_factory=Ways)
    """The ways of packets through the gateways of bottlenecks."""
    resumed_at: float = 0.0
    """Emulated seconds from which the clock of a resumed run goes on."""
    several: bool = False
    """Whether the nodes are on several hosts: their network then knows each node's own address."""

    @property
    def servers(self) -> list[str]:
        """Names of the containers of the server, the one that leads first."""
        return server_names(self.scenario.server.shards)

    def of_device(self, name: str, link: Link, addresses: Addresses) -> Network:
        """Return the network of the device `name` on `link`; `addresses` are the server's, or of
        each shard."""
        return self.of(name, link, self._towards_server(name), addresses)

    def of_server(self, shard: int = 0) -> Network:
        """Return the network of the server, or of a `shard`."""
        taken = [] if self.several else neighbours.take_address(shard)
        name, joins = self.servers[shard], bridge_count(self.scenario)
        link = self.scenario.server.link
        return self.of(name, link, self._receivers, taken=taken, joins=joins)

    def of_gateway(self, bottleneck: Bottleneck) -> Network:
        """Return the network of the gateway of `bottleneck`."""
        server, *members = self.ways.ends(bottleneck.name)
        shared, dilation = bottleneck.shared, self.scenario.dilation
        shape = gateway.forward(shared, server, members, self.backend, dilation)
        measured = MeasuredLink(plain(Link(Side(shared.up.rate), Side(shared.down.rate))))
        return Network(shape, measured=measured)

    def of(
        self,
        name: str,
        link: Link,
        beyond: Iterable[Side] = (),
        addresses: Addresses = (),
        *,
        taken: Sequence[Command] = (),
        joins: int = 1,
    ) -> Network:
        """Return the network of the node `name` on `link`; `beyond` are the receiving ends,
        `addresses` are the server's, `taken` come before all other commands.

        The kernel counts in real time, supervisors in emulated seconds.
        """
        cuts, changing = self.backend.cut != "none", name in self.reshaped
        bottleneck = self.scenario.bottleneck_of.get(name)
        shared = bottleneck.shared if bottleneck else None
        dilation, own = self.scenario.dilation, link
        draw, since = start_draw(self.scenario.seed, name), self.resumed_at
        emulated, ends = self.path(name, link_at(own, draw, since)), list(beyond)
        link = dilated(emulated, dilation)
        beyond = [dilated_side(side, dilation) for side in ends]
        shaped = access.shape(link, self.backend, beyond=beyond, changing=changing)
        return Network(
            shape=[
                *taken,
                *self.ways.routes(name),
                *([] if name in self.boxed else shaped),
            ],
            # the next on the way of a bottleneck's member is its gateway
            known=(
                []
                if self.several or name in self.ways.gateways
                else [
                    command
                    for shard, address in enumerate(addresses)
                    for command in neighbours.know_server(address, shard)
                ]
            ),
            boxed=self._boxed(emulated, ends, changing) if name in self.boxed else None,
            sever=access.sever(link, self.backend) if cuts else [],
            mend=(
                access.mend(link, self.backend, beyond=beyond, changing=changing) if cuts else []
            ),
            reshaping=(
                reshaping_of(
                    own, self.backend, self.scenario.server.link, dilation, draw, since, shared
                )
                if changing
                else None
            ),
            measured=self._measured(name, self.path(name, own)),
            joins=joins,
        )

    def path(self, name: str, link: Link) -> Link:
        """Return `link` of the node `name` with the delays of its bottleneck."""
        return path_of(self.scenario, name, link)

    @cached_property
    def _receivers(self) -> list[Side]:
        """The sides of far ends that the server's packets pass."""
        beyond = [device.link.down for device in self.scenario.nodes]
        return beyond + [Side(each.down.rate) for each in self.scenario.bottlenecks]

    def _towards_server(self, name: str) -> list[Side]:
        """Return the sides of far ends that the packets of the device `name` pass."""
        bottleneck = self.scenario.bottleneck_of.get(name)
        return [self.scenario.server.link.down, *([Side(bottleneck.up.rate)] if bottleneck else [])]

    @cached_property
    def boxed(self) -> frozenset[str]:
        """Names of the nodes with packets that pass the box."""
        return boxed_nodes(self.scenario, self.backend)

    @cached_property
    def filling(self) -> frozenset[str]:
        """Names of the nodes whose TCP fills its packets."""
        ways = {
            each.name: (
                self.path(each.name, each.link).up,
                self._towards_server(each.name),
                [rate] if (rate := each.link.down.rate) is not None else [],
            )
            for each in self.scenario.nodes
        }
        server = self.scenario.server.link.up, self._receivers, self._back_to_server()
        ways |= dict.fromkeys(self.servers, server)
        return frozenset(
            name
            for name, (up, beyond, back) in ways.items()
            if name not in self.reshaped and filled(up, beyond, back, self.backend)
        )

    def _back_to_server(self) -> list[Rate]:
        """Return the rates that acknowledgements to the server pass, a bottleneck's by member."""
        scenario = self.scenario
        behind = Counter(each.name for each in scenario.bottleneck_of.values())
        rates = [(each.link.up.rate, 1) for each in scenario.nodes]
        rates += [(each.up.rate, behind[each.name]) for each in scenario.bottlenecks]
        return [Rate(rate / number) for rate, number in rates if rate is not None]

    @property
    def shortest(self) -> float:
        """Shortest delay of a link through the box in seconds; 0 if none has any."""
        boxed = (each for each in self.scenario.nodes if each.name in self.boxed)
        links = [self.path(each.name, each.link) for each in boxed]
        links += [self.scenario.server.link] if SERVER in self.boxed else []
        delays = [side.delay for link in links for side in (link.up, link.down) if side.delay]
        return min(delays, default=0.0)

    def _boxed(self, link: Link, beyond: Iterable[Side], changing: bool) -> Boxed:
        """Return the facts with which a supervisor puts a node with `link` behind the box."""
        sides = [plain_side(side) for side in beyond]
        return Boxed(plain(link), self.backend.plain(), sides, changing, self.scenario.dilation)

    def _measured(self, name: str, link: Link) -> MeasuredLink | None:
        """Return the link for the meter of `name`; None for a node without a meter."""
        server, delayed = self.scenario.server.link, self.backend.delay != "receiver"
        if name in self.servers:
            shaped = server.shaped or any(device.link.shaped for device in self.scenario.nodes)
            return MeasuredLink(plain(link), delayed=delayed) if shaped or self.reshaped else None
        shaped = link.shaped or server.shaped or name in self.reshaped
        measured = shaped and name != EVALUATOR
        bottleneck = self.scenario.bottleneck_of.get(name)
        behind = bottleneck.name if bottleneck else ""
        return MeasuredLink(plain(link), plain(server), delayed, behind) if measured else None

    @cached_property
    def reshaped(self) -> Mapping[str, Sequence[Link]]:
        """The links that faults may give devices, by the device's name."""
        return reshaped_links(self.scenario)
