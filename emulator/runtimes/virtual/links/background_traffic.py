"""Background traffic in virtual time: streams of others on the links that devices share.

A stream of kind `tcp` is a flow without an end, with the rate that it offers as its own: it has a
max-min fair share, and what it cannot send is not sent later, as a video of which the quality
falls. A stream of kind `udp` heeds nobody: a link passes what it offers, and leaves the rest to the
flows, a hundredth of the link's rate at least. The next link of its path is offered what has
passed. Where such streams offer more than a link has, those that came first go on.

Not modelled: acknowledgements of streams, and their delays and losses.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple, Protocol

from .... import chance
from ....scenario import Scenario
from ....scenario.sections.devices import Background, BackgroundSide
from ....scenario.timeline.link_changes import start_draw
from ....world.links.network_routes import WAYS, Way
from ....world.links.offered_traffic import offered
from ..clock import Heap
from .link_path import LinkPath, RatedLink
from .shared_rates import NetworkLinks, crossed


class StreamStage(NamedTuple):
    """A direction of a link that a stream passes."""

    node: str
    """Device whose own link it is, bottleneck, or link of the network."""
    way: Way
    rated: RatedLink | None
    """None without a rate."""


class _Stream(Protocol):
    """A stream on its way over one link after the other."""

    def offer(self, rate: float) -> None:
        """Offer `rate` bit/s from now on."""

    def bits(self) -> list[float]:
        """Return the number of bits that have passed each link, in the order of the links."""


class UdpStream:
    """A stream without congestion control: it offers its rate whatever the links have left."""

    def __init__(self, clock: Heap, stages: Sequence[StreamStage]) -> None:
        self._clock, self._stages, self._offered = clock, stages, 0.0
        self._rates, self._bits = [0.0] * len(stages), [0.0] * len(stages)
        self._since = clock.now
        self.lacks_room = False

    def offer(self, rate: float) -> None:
        self._offered = rate
        self.refresh()

    def refresh(self) -> None:
        """Take rates anew, as the offer or the rate of a link has changed."""
        self._bits, self._since = self.bits(), self._clock.now
        rate, self.lacks_room = self._offered, False
        for place, (_, _, rated) in enumerate(self._stages):
            if rated is not None:
                passes = rated.take(self._clock, self, rate)
                self.lacks_room = self.lacks_room or passes < rate
                rate = passes
            self._rates[place] = rate

    def bits(self) -> list[float]:
        lasts = self._clock.now - self._since
        return [had + rate * lasts for had, rate in zip(self._bits, self._rates, strict=True)]


class TcpStream:
    """A stream that shares fairly."""

    def __init__(self, clock: Heap, stages: Sequence[StreamStage]) -> None:
        self._path = LinkPath(clock, [s.rated for s in stages if s.rated is not None])
        self._stages, self._rate = len(stages), 0.0
        self._bits, self._mark = 0.0, 0.0

    def offer(self, rate: float) -> None:
        if self._rate:
            self._bits = self._sum()
            self._path.leave(self, self._rate)
        self._rate = rate
        if rate:
            self._path.join(self, float("inf"), rate)
            self._mark = self._path.served(rate)

    def bits(self) -> list[float]:
        return [self._sum()] * self._stages

    def _sum(self) -> float:
        return self._bits + (self._path.served(self._rate) - self._mark if self._rate else 0.0)

    def through(self) -> None:
        raise RuntimeError("a stream without an end has ended")


KINDS: dict[str, Callable[[Heap, Sequence[StreamStage]], _Stream]] = {
    "udp": UdpStream,
    "tcp": TcpStream,
}


class BackgroundStream:
    """The background traffic of a device, a bottleneck or a link of the network, in a direction."""

    def __init__(
        self,
        clock: Heap,
        stages: Sequence[StreamStage],
        kind: str,
        changes: Iterator[tuple[float, float]],
    ) -> None:
        """`changes` has pairs of the second of the run and the rate from then on."""
        self.stages = stages
        self._clock, self._changes, self._zero = clock, changes, 0.0
        self._stream = KINDS[kind](clock, stages)
        self._offered, self._cut = 0.0, False

    def begin(self, zero: float) -> None:
        """Play from the driver's time `zero` on."""
        self._zero = zero
        self._next()

    def _next(self) -> None:
        if (change := next(self._changes, None)) is not None:
            self._clock.at(self._zero + change[0], self._do, change[1])

    def _do(self, rate: float) -> None:
        self._offered = rate
        if not self._cut:
            self._stream.offer(rate)
        self._next()

    def cut(self, *, cut: bool) -> None:
        """Let nothing pass, or with `cut` False the stream as it is by then."""
        if cut != self._cut:
            self._cut = cut
            self._stream.offer(0.0 if cut else self._offered)

    def bits(self) -> list[float]:
        """Return the number of bits that have passed each link, in the order of the links."""
        return self._stream.bits()


class BackgroundTraffic:
    """All background traffic of a run."""

    def __init__(self, clock: Heap, scenario: Scenario, network: NetworkLinks) -> None:
        self._clock, self._seed, self._network = clock, scenario.seed, network
        self._of_devices: dict[str, list[BackgroundStream]] = {}
        self._sources: list[BackgroundStream] = []
        for group in scenario.devices:
            if group.background is not None:
                for name in group.names:
                    self._of_devices[name] = self._beside(scenario, name, group.background)
        for queue in scenario.shared_queues:
            for way, side in _sides(queue.background):
                stages = [StreamStage(queue.name, way, network.rated(queue.name, way))]
                self._add(stages, side, way, queue.background)

    def _beside(self, scenario: Scenario, device: str, given: Background) -> list[BackgroundStream]:
        """Make the sources beside `device`, and return them."""
        made = []
        for way, side in _sides(given):
            own = [StreamStage(device, way, self._network.access(device, way))]
            hops = crossed(scenario, device)[WAYS.index(way)]
            shared = [StreamStage(*hop, self._network.rated(*hop)) for hop in hops]
            stages = [*own, *shared] if way == "up" else [*shared, *own]
            made.append(self._add(stages, side, way, given))
        return made

    def _add(
        self,
        stages: Sequence[StreamStage],
        side: BackgroundSide,
        way: Way,
        given: Background | None,
    ) -> BackgroundStream:
        node = stages[0 if way == "up" else -1].node
        dice = Random(chance.background(self._seed, node, way))
        changes = offered(side, dice, start_draw(self._seed, node))
        source = BackgroundStream(self._clock, stages, given.kind if given else "udp", changes)
        self._sources.append(source)
        return source

    def begin(self, zero: float) -> None:
        """Play from the driver's time `zero` on."""
        for source in self._sources:
            source.begin(zero)

    def cut(self, device: str, *, cut: bool) -> None:
        """Cut the streams beside `device`, or with `cut` False let them pass again."""
        for source in self._of_devices.get(device, ()):
            source.cut(cut=cut)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return the bytes of frames of background traffic so far at each device, bottleneck and
        link of the network with some: down, and up."""
        sums: dict[str, list[float]] = {}
        for source in self._sources:
            for (node, way, _), bits in zip(source.stages, source.bits(), strict=True):
                sums.setdefault(node, [0.0, 0.0])[way == "up"] += bits / 8
        return {node: (round(down), round(up)) for node, (down, up) in sums.items()}


def _sides(given: Background | None) -> list[tuple[Way, BackgroundSide]]:
    """Return the directions of background traffic, each with its side."""
    if given is None:
        return []
    return [(way, side) for way in WAYS if (side := getattr(given, way)) is not None]
