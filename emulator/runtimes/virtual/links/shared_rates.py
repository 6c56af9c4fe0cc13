"""The rates that the devices of a scenario share in one direction: bottlenecks, server's link."""

import math
from collections.abc import Mapping
from typing import Literal

from ....scenario import Group, Scenario
from ....world.link import Side
from ..clock.heap import Heap
from .bottleneck_link import BottleneckLink, ServerShare
from .link_group import SharedRate
from .server_link import ServerLink
from .transmission import Transmission


class SharedRates:
    """Makes the shared rates of each group of devices in a direction."""

    def __init__(
        self, clock: Heap, scenario: Scenario, direction: Literal["up", "down"], server: Side
    ) -> None:
        """`server` is the server's side in this direction."""
        rate = server.net_rate
        self._members = scenario.bottleneck_of
        self._alone = None if rate == math.inf else ServerLink(clock, rate)
        share = ServerShare(rate)
        self._rest = BottleneckLink(clock, math.inf, share)
        self._bottlenecks = {
            each.name: BottleneckLink(clock, float(side.rate), share)
            for each in scenario.bottlenecks
            if (side := getattr(each, direction)).rate is not None
        }

    def of(self, group: Group) -> SharedRate | None:
        """Return the rates that the devices of `group` share; None without any."""
        if not self._bottlenecks:
            return self._alone
        own = {
            number: self._bottlenecks[bottleneck.name]
            for number, name in enumerate(group.names)
            if (bottleneck := self._members.get(name)) and bottleneck.name in self._bottlenecks
        }
        return MemberLinks(own, self._rest) if own or self._alone else None


class MemberLinks:
    """The shared links of a group of devices, some of which are behind bottlenecks."""

    def __init__(self, own: Mapping[int, BottleneckLink], rest: BottleneckLink) -> None:
        """`own` has the bottlenecks of devices by index in the group; `rest` limits nothing."""
        self._own, self._rest = own, rest

    def join(self, flow: Transmission, bits: float, own_rate: float) -> None:
        """Begin `flow`, as `ServerLink.join`; a flow that nothing limits is through at once."""
        link = self._own.get(flow.number, self._rest)
        if link.limits(own_rate):
            link.join(flow, bits, own_rate)
        else:
            flow.through()

    def leave(self, flow: Transmission, own_rate: float) -> float:
        """Take out `flow` before the end; return the bits left to send."""
        return self._own.get(flow.number, self._rest).leave(flow, own_rate)

    def left(self, flow: Transmission, own_rate: float) -> float:
        """Return the bits of `flow` left to send."""
        return self._own.get(flow.number, self._rest).left(flow, own_rate)
