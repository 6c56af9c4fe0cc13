"""The links of a scenario in virtual time, as they change: devices' links behind the server's."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from random import Random
from typing import Literal, NamedTuple, TypeAlias

from .... import chance
from ....scenario import Group, Scenario
from ....scenario.sections.run_sections import USUAL, Congestion
from ....scenario.timeline.link_changes import (
    changed_network_links,
    reshaped_links,
    start_draw,
)
from ....world.links.delay_draws import jitters
from ....world.links.link import FRAME, Link
from ....world.links.link_course import link_at, link_course
from ....world.links.reshaping import reshaped
from ....world.verbs import Action, Setting
from ..clock import Heap
from .bbr import Bbr
from .link_group import LinkGroup
from .shard_links import ShardLinks
from .shared_rates import NetworkLinks, SharedRates
from .tcp import ACK, MOST_ACKS, Reno, Tcp
from .transmission import LinkConstants

Direction: TypeAlias = Literal["up", "down"]
"""`up` is from a device to the server, `down` from the server to a device."""
UP: Direction = "up"
DOWN: Direction = "down"
CONTROLS: dict[Congestion, type[Tcp]] = {"cubic": Tcp, "bbr": Bbr, "reno": Reno}
"""Models of the congestion controls."""


class InterfaceBytes(NamedTuple):
    """Bytes of frames at a network interface."""

    rx: int
    tx: int


class GroupLinks:
    """The links of one group of devices, up and down. `number` is a device's index in the group."""

    def __init__(
        self,
        up: LinkGroup | ShardLinks,
        down: LinkGroup | ShardLinks,
        acknowledged: float,
        link: Link | None = None,
        constants: Callable[[int, Link, Direction], LinkConstants | None] | None = None,
        access: Callable[[int, Link], None] | None = None,
    ) -> None:
        """`acknowledged`: bytes of TCP's acknowledgements per byte of a message.

        `link` is the devices' own link as `up` and `down` have it; `constants` returns those of a
        device with another link, or None for those of the group. None: no link changes. `access` is
        told each new link of a device that shares the link with background traffic.
        """
        self.up, self.down, self._access = up, down, access
        self._acknowledged, self._link, self._constants = acknowledged, link or Link(), constants
        self._own: dict[int, Link] = {}  # of devices with a link that changes by itself
        self._settings: dict[int, Setting] = {}  # of devices that a fault reshapes

    def cut(self, number: int) -> None:
        """Stop both directions until `mend`."""
        self.up.cut(number)
        self.down.cut(number)

    def mend(self, number: int) -> None:
        """Let both directions go on after `cut`."""
        self.up.mend(number)
        self.down.mend(number)

    def reshape(self, number: int, setting: Setting | None) -> None:
        """Change the link as the verb `reshape` with `setting` does; None restores it."""
        if setting is None:
            self._settings.pop(number, None)
        else:
            self._settings[number] = setting
        self._reshape(number)

    def change(self, number: int, link: Link) -> None:
        """Give the device `link` as its own link; a fault in force changes the new one."""
        self._own[number] = link
        self._reshape(number)

    def find_network_changed(self, number: int) -> None:
        """Take up the delay and the loss of the links behind the device's own, which have
        changed."""
        self._reshape(number)

    def _reshape(self, number: int) -> None:
        if self._constants is None:
            return
        link = reshaped(self._own.get(number, self._link), self._settings.get(number))
        if self._access is not None:
            self._access(number, link)
        for group, direction in ((self.up, UP), (self.down, DOWN)):
            group.reshape(number, self._constants(number, link, direction))

    def drop(self, number: int) -> None:
        """Forget the connection and every message not sent yet."""
        self.up.drop(number)
        self.down.drop(number)

    def reconnect(self, number: int) -> bool:
        """Begin a new connection; return whether the device's end still had messages to send."""
        self.down.reconnect(number, resend=False)
        return self.up.reconnect(number, resend=True)

    def renew(self, number: int) -> bool:
        """Begin a new connection at both ends; return whether the device had messages to send."""
        self.down.renew(number)
        return self.up.renew(number)

    def count(self, number: int) -> InterfaceBytes:
        """Return the bytes of frames counted so far at the device's interface."""
        return self._frames(self.down.carried(number), self.up.carried(number))

    def count_by_shard(self) -> list[InterfaceBytes]:
        """Return the bytes of frames that the group has caused so far at each shard's interface."""
        carried = zip(self.up.carried_by_shard(), self.down.carried_by_shard(), strict=True)
        return [self._frames(received, sent) for received, sent in carried]

    def _frames(self, received: int, sent: int) -> InterfaceBytes:
        """Return the bytes of frames at an interface with the messages `received` and `sent`.

        The acknowledgements of a message flow against it, so each direction adds to both counters.
        """
        rx = received * FRAME + sent * self._acknowledged
        tx = sent * FRAME + received * self._acknowledged
        return InterfaceBytes(round(rx), round(tx))


def build_links(
    clock: Heap, scenario: Scenario, network: NetworkLinks | None = None
) -> list[GroupLinks]:
    """Return the links of the groups of devices, in the scenario's order.

    `network` has the links that devices share; the scenario's own by default.
    """
    server, acknowledged = scenario.server.link, acknowledgements(scenario)
    network = network or NetworkLinks(clock, scenario)
    shared: dict[Direction, SharedRates] = {
        UP: SharedRates(clock, scenario, UP, server.down, network),
        DOWN: SharedRates(clock, scenario, DOWN, server.up, network),
    }
    tcp, behind = scenario.virtual.tcp, scenario.behind_links
    changed = (behind[link] for link in changed_network_links(scenario))
    changing = frozenset(chain(reshaped_links(scenario), *changed))
    control = scenario.tcp.congestion if scenario.tcp else USUAL

    def one_way(group: Group, direction: Direction) -> LinkGroup | ShardLinks:
        constants = link_constants(link_at(group.link), server, direction, tcp, control)
        seed, names = scenario.seed, group.names
        dice = _kept(lambda number: Random(chance.jitter(seed, names[number], direction)))
        losses = _kept(lambda number: Random(chance.burst_losses(seed, names[number], direction)))
        changes = any(name in changing for name in group.names) if changing else False
        given = clock, constants, len(names), dice
        if scenario.server.shards > 1:
            shards = shared[direction].shards
            return ShardLinks(*given, shards, changing=changes, losses=losses)
        back = shared[DOWN if direction == UP else UP]
        rates = shared[direction].of(group, back, acknowledged / FRAME)
        return LinkGroup(*given, rates, changing=changes, losses=losses)

    @lru_cache(maxsize=4096)  # a trace has the same links in each round, and on each device
    def constants_of(link: Link, direction: Direction) -> LinkConstants:
        return link_constants(link, server, direction, tcp, control)

    def constants(
        group: Group, base: Link, number: int, link: Link, direction: Direction
    ) -> LinkConstants | None:
        ahead = network.ahead(group.names[number])
        if ahead is not None:
            lossy = reshaped(link, {"loss": ahead.loss}) if ahead.loss else link
            return constants_of(ahead.shared.alone(lossy), direction)
        return None if link == base else constants_of(link, direction)

    links = []
    for group in scenario.devices:
        base = link_at(group.link)
        sides = one_way(group, UP), one_way(group, DOWN)
        shares = group.background is not None
        access = partial(_change_access, network, group.names) if shares else None
        made = GroupLinks(*sides, acknowledged, base, partial(constants, group, base), access)
        for number, name in enumerate(group.names) if scenario.shared_of else ():
            if name in scenario.shared_of:
                made.reshape(number, None)
        links.append(made)
    return links


def _change_access(network: NetworkLinks, names: Sequence[str], number: int, link: Link) -> None:
    network.change_access(names[number], link)


def acknowledgements(scenario: Scenario) -> float:
    """Return the bytes of TCP's acknowledgements per byte of a message."""
    return ACK if scenario.virtual.tcp else 0.0


def link_constants(
    link: Link, server: Link, direction: Direction, tcp: bool, control: Congestion = USUAL
) -> LinkConstants:
    """Return the constants of a device's `link` with the `server` link behind, in a direction.

    Without `tcp` the link is ideal: nothing is lost. `control` is TCP's congestion control.
    """
    there, back = (link.up, link.down) if direction == "up" else (link.down, link.up)
    beyond, returning = (server.down, server.up) if direction == "up" else (server.up, server.down)
    model = CONTROLS[control].of(there, back, beyond, returning) if tcp else None
    rate = there.net_rate
    if model is not None:
        rate = model.limit(rate)
        if back.net_rate < MOST_ACKS:  # TCP sends no faster than acknowledgements come back
            rate = min(rate, back.net_rate * FRAME / ACK)
    normal, others = jitters(there, beyond)
    return LinkConstants(
        rate=rate,
        delay=there.delay + beyond.delay,
        jitter=normal,
        jitters=others,
        setup=there.setup + beyond.setup,
        tcp=model,
    )


def _kept(made: Callable[[int], Random]) -> Callable[[int], Random]:
    """Return a function from a device's number to a generator, which is `made` at the first call.

    A generator takes 2.5 kB: too much for each of a million devices that never draw.
    """
    generators: dict[int, Random] = {}

    def generator(number: int) -> Random:
        if number not in generators:
            generators[number] = made(number)
        return generators[number]

    return generator


class NetworkFaults:
    """Changes links of the network, and what the devices behind them find of these."""

    def __init__(
        self, scenario: Scenario, network: NetworkLinks, links: Sequence[GroupLinks]
    ) -> None:
        """`links` has an item per group of devices, as `build_links` makes them on `network`."""
        self._network, self._behind = network, scenario.behind_links
        self._links = {
            name: (own, number)
            for group, own in zip(scenario.devices, links, strict=True)
            for number, name in enumerate(group.names if self._behind else ())
        }

    def __contains__(self, node: str) -> bool:
        """Whether `node` is a link of the network."""
        return node in self._behind

    def perform(self, action: Action) -> None:
        """Do an action of the verb `reshape` to a link."""
        self._network.reshape(action.node, action.setting if action.begins else None)
        for device in self._behind[action.node]:
            own, number = self._links[device]
            own.find_network_changed(number)


class LinkPlayer:
    """Changes the links of devices as their scenario dates it. A group whose devices all change
    alike has one event a change."""

    def __init__(self, clock: Heap, scenario: Scenario, links: Sequence[GroupLinks]) -> None:
        """`links` has an item per group of devices. Links are as at the run's zero from now on."""
        self._clock, self._zero = clock, 0.0
        self._played: list[tuple[GroupLinks, Sequence[int], Iterator[tuple[float, Link]]]] = []
        for group, own in zip(scenario.devices, links, strict=True):
            if not group.link.changes:
                continue
            sides = (group.link.up, group.link.down)
            if any(side.trace is not None and side.trace.start.random for side in sides):
                for number, name in enumerate(group.names):
                    changes = link_course(group.link, start_draw(scenario.seed, name))
                    self._played.append((own, (number,), changes))
            else:
                everyone = range(len(group.names))
                self._played.append((own, everyone, link_course(group.link)))
        for own, numbers, changes in self._played:
            _, link = next(changes)
            self._change(own, numbers, link)

    def begin(self, zero: float) -> None:
        """Play from the driver's time `zero` on."""
        self._zero = zero
        for own, numbers, changes in self._played:
            self._plan(own, numbers, changes)

    def _plan(
        self, own: GroupLinks, numbers: Sequence[int], changes: Iterator[tuple[float, Link]]
    ) -> None:
        if (following := next(changes, None)) is not None:
            at, link = following
            self._clock.at(self._zero + at, self._do, own, numbers, changes, link)

    def _do(
        self,
        own: GroupLinks,
        numbers: Sequence[int],
        changes: Iterator[tuple[float, Link]],
        link: Link,
    ) -> None:
        self._change(own, numbers, link)
        self._plan(own, numbers, changes)

    @staticmethod
    def _change(own: GroupLinks, numbers: Sequence[int], link: Link) -> None:
        for number in numbers:
            own.change(number, link)
