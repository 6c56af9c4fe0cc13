"""One direction of the links between a group of devices and the shards of the server.

A device has a connection with each shard, all over its one access link, whose rate its messages
share equally while they pass. Behind it each shard has a link of its own. A rate that a message
leaves unused, as the shard's link gives it less, is not given to the device's other messages.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple

from ..clock import Heap
from .link_group import LinkGroup
from .server_link import ServerLink
from .transmission import LinkConstants, Transmission


class SharedShards(NamedTuple):
    """The access links of all shards, in one direction."""

    links: Sequence[ServerLink]
    rate: float
    """Bits of frames a second of each of `links`; infinite without a rate."""


@dataclass(slots=True)
class _Passing:
    """A message on its way over the links of a device and of a shard."""

    shard: int
    own_rate: float
    """The rate that it could have alone."""
    given: float
    """Its part of that rate beside the device's other messages."""


class AccessRates:
    """The rates of the devices of a group, shared between the messages of each device."""

    def __init__(self, shards: SharedShards) -> None:
        self._links, self._rate = shards
        self._passing: dict[int, dict[Transmission, _Passing]] = {}  # by number of the device

    def join(self, flow: Transmission, bits: float, own_rate: float, shard: int) -> None:
        """Begin `flow` to or from `shard`, as `ServerLink.join`."""
        others = self._passing.setdefault(flow.number, {})
        passing = _Passing(shard, own_rate, own_rate / (len(others) + 1))
        others[flow] = passing
        self._share(flow.number, but=flow)
        if self._limits(passing):
            self._links[shard].join(flow, bits, passing.given)
        else:
            flow.through()

    def leave(self, flow: Transmission) -> float:
        """Take out `flow` before the end; return the bits left to send."""
        passing = self._passing[flow.number][flow]
        left = self._links[passing.shard].leave(flow, passing.given)
        self.end(flow)
        return left

    def left(self, flow: Transmission) -> float:
        """Return the bits of `flow` left to send."""
        passing = self._passing[flow.number][flow]
        return self._links[passing.shard].left(flow, passing.given)

    def end(self, flow: Transmission) -> None:
        """Leave the rate of `flow`, which is through, to the device's other messages."""
        others = self._passing[flow.number]
        del others[flow]
        if others:
            self._share(flow.number)
        else:
            del self._passing[flow.number]

    def _share(self, number: int, but: Transmission | None = None) -> None:
        """Give each message of the device `number` its part of the rate; `but` has not begun."""
        flows = self._passing[number]
        for flow, passing in flows.items():
            given = passing.own_rate / len(flows)
            if flow is not but and given != passing.given:
                link = self._links[passing.shard]
                left = link.leave(flow, passing.given)
                passing.given = given
                link.join(flow, left, given)

    def _limits(self, passing: _Passing) -> bool:
        return min(passing.own_rate, self._rate) < math.inf


class _OneShard:
    """A SharedRate: the rates of the messages to or from one shard."""

    def __init__(self, rates: AccessRates, shard: int) -> None:
        self._rates, self._shard = rates, shard

    def join(self, flow: Transmission, bits: float, own_rate: float, /) -> None:
        self._rates.join(flow, bits, own_rate, self._shard)

    def leave(self, flow: Transmission, own_rate: float, /) -> float:
        return self._rates.leave(flow)

    def left(self, flow: Transmission, own_rate: float, /) -> float:
        return self._rates.left(flow)


class _Connections(LinkGroup):
    """The connections of a group of devices with one shard."""

    def __init__(self, rates: AccessRates, shard: int, **options: Any) -> None:
        """`options` as `LinkGroup` takes them, without the server's link."""
        self._rates = rates
        super().__init__(server_link=_OneShard(rates, shard), **options)

    def passed(self, busy: Transmission) -> None:
        self._rates.end(busy)
        super().passed(busy)


class ShardLinks:
    """The links of a group, with a connection of each device with each shard.

    Its methods are those of a `LinkGroup`. A message goes over the connection with its shard.
    """

    def __init__(
        self,
        clock: Heap,
        constants: LinkConstants,
        devices: int,
        dice: Callable[[int], Random],
        shards: SharedShards,
        **options: Any,
    ) -> None:
        """`shards` has the links of the shards in this direction; all else as `LinkGroup`."""
        rates, self._count = AccessRates(shards), len(shards.links)
        options |= {"clock": clock, "constants": self._each(constants)}
        options |= {"devices": devices, "dice": dice}
        self._ways = [_Connections(rates, number, **options) for number in range(self._count)]

    def send(
        self,
        number: int,
        size: int,
        deliver: Callable[..., None],
        *arguments: Any,
        shard: int = 0,
    ) -> None:
        """As `LinkGroup.send`, to or from `shard`."""
        self._ways[shard].send(number, size, deliver, *arguments)

    def cut(self, number: int) -> None:
        for way in self._ways:
            way.cut(number)

    def mend(self, number: int) -> None:
        for way in self._ways:
            way.mend(number)

    def drop(self, number: int) -> None:
        for way in self._ways:
            way.drop(number)

    def reconnect(self, number: int, *, resend: bool) -> bool:
        """As `LinkGroup.reconnect`; return whether messages were sent to every shard."""
        sent = [way.reconnect(number, resend=resend) for way in self._ways]  # every one of them
        return all(sent)

    def renew(self, number: int) -> bool:
        """As `LinkGroup.renew`; return whether there were messages for every shard."""
        waiting = [way.renew(number) for way in self._ways]  # every one of them
        return all(waiting)

    def reshape(self, number: int, constants: LinkConstants | None) -> None:
        for way in self._ways:
            way.reshape(number, None if constants is None else self._each(constants))

    def carried(self, number: int) -> int:
        return sum(way.carried(number) for way in self._ways)

    def carried_by_shard(self) -> list[int]:
        """Return the bytes of messages carried so far to or from each shard, of all devices."""
        return [size for way in self._ways for size in way.carried_by_shard()]

    def _each(self, constants: LinkConstants) -> LinkConstants:
        """Return the constants of each connection: the idle shaper's bucket is that of all."""
        if (tcp := constants.tcp) is None:
            return constants
        part = replace(tcp, bucket=tcp.bucket / self._count, refill=tcp.refill / self._count)
        return replace(constants, tcp=part)
