"""A device that computes layer by layer, alone with a made-up server on ideal links."""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emulator.core import wire
from emulator.core.wire.messages import ModelSegment, Pull, Reply, Request, Times, UpdateSegment
from emulator.core.worker.worker import Await, Backward, Forward, Tell
from emulator.layout import Layout, Segment, Variable
from emulator.runtimes.virtual.clock import Alarms, Heap
from emulator.runtimes.virtual.device.passes import LayerTimes, Passes
from emulator.runtimes.virtual.device.processor import Surroundings
from emulator.runtimes.virtual.device.virtual_device import VirtualDevice
from emulator.runtimes.virtual.links.link_group import LinkGroup
from emulator.runtimes.virtual.links.network import GroupLinks
from emulator.runtimes.virtual.links.transmission import BITS, LinkConstants
from emulator.runtimes.virtual.server.channel import Channel
from emulator.runtimes.virtual.server.virtual_server import ServerProcessor, VirtualServer
from emulator.schedules.base import Cuts
from emulator.units import Seconds
from emulator.vectors import Frames, Vector
from emulator.world.laws import Fixed

NAME = "device"


def layers(*sizes: int) -> Layout:
    """A model with a variable for each layer."""
    variables = (Variable(f"v{n}", (size,), "dense", n) for n, size in enumerate(sizes))
    return Layout(tuple(variables))


class RawPieces:
    """A VirtualLearner and handle: each piece is as many zero bytes as its float32 entries."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.began: list[Segment] = []
        self.prefetched = 0

    def prefetch(self, theta: Vector) -> "RawPieces":
        self.prefetched += 1
        return self

    def begin(self, segment: Segment) -> None:
        self.began.append(segment)

    def loss(self) -> float:
        return 0.5

    def frames(self, segment: Segment) -> Frames:
        return (bytes(4 * self.layout.part(segment).size),)


@dataclass
class Observed:
    """A scheduler with fixed cuts that keeps its observations."""

    fixed: Cuts
    spans: list[tuple[Any, ...]] = field(default_factory=list)

    def cuts(self) -> Cuts:
        return self.fixed

    def told(self, times: Times) -> None:
        self.spans.append(("told", times))

    def arrived(self, segment: Segment, size: int, now: float) -> None:
        self.spans.append(("arrived", segment, size, now))

    def forward(self, segment: Segment, seconds: list[float], began: float, ended: float) -> None:
        self.spans.append(("forward", segment, seconds, began, ended))

    def backward(self, segment: Segment, seconds: list[float], began: float, ended: float) -> None:
        self.spans.append(("backward", segment, seconds, began, ended))

    def handed(self, segment: Segment, size: int, now: float) -> None:
        self.spans.append(("handed", segment, size, now))

    def begin(self, now: float) -> None:
        self.spans.append(("begin", now))

    def kept(self, what: str) -> list[tuple[Any, ...]]:
        return [span[1:] for span in self.spans if span[0] == what]


def one_iteration(
    node: str, incarnation: int, cuts: Cuts, learner: RawPieces
) -> Generator[Any, Any, None]:
    """A worker's coroutine that computes a single update in segments."""
    yield Tell(Pull(node, incarnation << 32, segments=cuts.pull))
    for _ in cuts.pull:
        yield Forward((yield Await(math.inf)))
    for segment in cuts.push:
        done = yield Backward(segment)
        frames = learner.frames(segment)
        yield Tell(
            UpdateSegment(node, 0, incarnation << 32, segment, done.loss, done.seconds, frames)
        )


class PieceServer:
    """A ParameterServer as the virtual server sees it: answers pulls, notes the pieces' times."""

    over = False

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.theta: Vector = np.zeros(layout.size, np.float32)
        self.answered = math.nan
        self.pieces: list[tuple[UpdateSegment, float]] = []

    def pulled(self) -> Vector:
        return self.theta

    def deadline(self) -> None:
        return None

    def receive(self, message: Request, now: float) -> list[tuple[str, Reply]]:
        if isinstance(message, UpdateSegment):
            self.pieces.append((message, now))
            return []
        assert isinstance(message, Pull)
        self.answered = now
        return [(message.node, piece) for piece in self._answer(message, now)]

    def _answer(self, pull: Pull, now: float) -> list[ModelSegment]:
        told: list[Times | None] = [Times(now, ()), *[None] * (len(pull.segments) - 1)]
        return [
            ModelSegment(pull.ticket, 0, segment, self.theta[self.layout.place(segment)], times)
            for segment, times in zip(pull.segments, told, strict=True)
        ]


@dataclass
class Iteration:
    """A device alone with the server, and one iteration on them."""

    layout: Layout
    cuts: Cuts
    up: LinkConstants
    down: LinkConstants
    step: float
    times: LayerTimes
    serve: float = 0.0
    """Seconds that the server has still to work when the pull arrives."""

    def __post_init__(self) -> None:
        self.clock = Heap()
        self.links = GroupLinks(
            LinkGroup(self.clock, self.up, 1, _no_dice),
            LinkGroup(self.clock, self.down, 1, _no_dice),
            0.0,
        )
        self.channel = Channel(self.clock, math.inf, patches=False)
        surroundings: Surroundings[VirtualDevice] = Surroundings(
            self.clock,
            Alarms(self.clock),
            1,
            Fixed(Seconds(self.step)),
            request=self.channel.request,
            out_of_reach=self.channel.out_of_reach,
            draw_fault=self._draw,
            evaluate=_not_evaluated,
        )
        self.drawn = 0
        self.device = VirtualDevice(surroundings, NAME, self.links, 0)
        self.server = PieceServer(self.layout)
        processor = ServerProcessor(Fixed(Seconds(self.serve)), 1)
        if self.serve:
            processor.take(0.0)
        VirtualServer(
            self.server,
            self.clock,
            self.channel,
            {NAME: self.device},
            [processor],
        )
        self.learner = RawPieces(self.layout)
        self.observed = Observed(self.cuts)

    def begin(self) -> None:
        """Begin the device's coroutine."""
        self.device.learner = self.learner
        self.device.passes = Passes(self.times, self.observed)
        self.device.begin(one_iteration(NAME, 0, self.cuts, self.learner))

    def play(self) -> None:
        """Play the whole iteration."""
        self.begin()
        assert self.clock.run(math.inf, 10**6)

    def _draw(self, device: VirtualDevice) -> bool:
        self.drawn += 1
        return False

    # -- the phases that came of it --------------------------------------------------------------

    @property
    def forward(self) -> float:
        """T_f: from the first bit's moment at the device to the end of the last layer."""
        times = self.observed.kept("told")[0][0]
        return float(self.observed.kept("forward")[-1][3] - (times.answered + self.down.delay))

    @property
    def backward(self) -> float:
        """T_b: from the last layer's begin to the last bit's leaving."""
        began = self.observed.kept("backward")[0][2]
        return float(self.server.pieces[-1][1] - self.up.delay - began)

    def pulled(self) -> list[float]:
        """Seconds of each layer's transfer to the device: a segment's first layer has the head."""
        sizes = [(segment, size) for segment, size, _ in self.observed.kept("arrived")]
        return self._transfers(sizes, self.down.rate)

    def pushed(self) -> list[float]:
        """Seconds of each layer's transfer from the device: a segment's first has the head."""
        sizes = [(piece.segment, wire.size(piece)) for piece, _ in self.server.pieces]
        return self._transfers(sizes, self.up.rate)

    def _transfers(self, pieces: Sequence[tuple[Segment, int]], rate: float) -> list[float]:
        seconds = [4 * (place.stop - place.start) * BITS / rate for place in self.layout.layers]
        for (first, last), size in pieces:
            whole = size * BITS / rate
            seconds[first - 1] += whole - sum(seconds[first - 1 : last])
        return seconds


def _no_dice(number: int) -> Any:
    raise AssertionError("a link without jitter draws nothing")


def _not_evaluated(theta: Vector) -> tuple[float, float]:
    raise AssertionError("nothing is evaluated")
