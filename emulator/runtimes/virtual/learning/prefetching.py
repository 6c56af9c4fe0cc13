"""Real gradients in virtual time, found ahead on all cores.

What a gradient will be is settled when the server sends the model: the batch is the device's next
one. So it is looked for from that moment on, beside those of other devices, and what travels in
virtual time is a stand-in that knows where the result will be. How many threads there are
changes no bit of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....codecs.accounting import Accounting, accounting
from ....codecs.base import ByteCount, Codec, Encoder, EncoderContext
from ....codecs.decoded_frames import DecodedFrames, decode_once
from ....codecs.feedback import StatelessEncoder
from ....core.assembly import WorkerAssembly
from ....core.plan import WorkerPlan
from ....datasets.examples import Examples, Subset
from ....layout import Layout
from ....learners.batches import Batches
from ....learners.device import CHUNK
from ....learners.graph import GraphEvaluator, GraphLearner
from ....learners.local_steps import descend, draw
from ....learners.local_training import LocalTraining
from ....learners.numpy import NumpyEvaluator, NumpyLearner
from ....runs.data_split import DataSplit
from ....vectors import Frames, Gradient, NotFinite, Vector
from .gradient_handle import GradientHandle, VirtualLearner
from .job_pool import Job, Pool


@dataclass(frozen=True)
class PredecodedCodec:
    """A codec for the server that need not decode what was decoded ahead."""

    codec: Codec

    def start(self, place: EncoderContext) -> Encoder:
        return self.codec.start(place)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return decode_once(frames, self.codec, layout)

    def count(self, frames: Frames) -> ByteCount:
        return self.codec.count(frames)

    @property
    def paper(self) -> Accounting | None:
        return accounting(self.codec)


Images: TypeAlias = NDArray[np.float32]
Labels: TypeAlias = NDArray[np.int32]


class Gradients(Protocol):
    def gradient(self, theta: Vector, x: Images, y: Labels) -> tuple[Vector, float]: ...


class Scores(Protocol):
    def evaluate(self, theta: Vector, x: Images, y: Labels) -> tuple[int, float]: ...


@dataclass(frozen=True)
class Tool:
    """What one thread works with."""

    gradients: Gradients
    scores: Scores


def tools(learner: str, layout: Layout, graph: Path | None) -> Callable[[], Tool]:
    """Makes tools for the scenario's learner; `graph` is the exported model, for TensorFlow."""
    if learner == "numpy":
        return lambda: Tool(NumpyLearner(layout), NumpyEvaluator(layout))
    if graph is None:
        raise TypeError("TensorFlow needs an exported model")
    return lambda: Tool(GraphLearner(graph), GraphEvaluator(graph))


class PrefetchedTraining:
    """Trains for real: a FleetLearning."""

    scores = True

    def __init__(
        self, plan: WorkerPlan, layout: Layout, split: DataSplit, working: Sequence[Tool]
    ) -> None:
        """`layout` is the model's; `working` holds at least one tool, each for one thread."""
        self._split, self._layout, self._local = split, layout, plan.local
        self._assembly = WorkerAssembly(plan, layout)
        self._pool = Pool(working)

    def learner(self, device: str, incarnation: int) -> VirtualLearner:
        part = Subset(self._split.data.train, self._split.parts[device])
        batches = self._assembly.batches(device, incarnation, part)
        encoder = self._assembly.encoder(device, incarnation, batches)
        codec, layout = self._assembly.codec, self._layout
        return _Prefetcher(self._pool, part, batches, encoder, codec, layout, self._local)

    def evaluate(self, theta: Vector) -> tuple[float, float]:
        test = self._split.data.test
        chunks = [slice(start, start + CHUNK) for start in range(0, len(test), CHUNK)]
        scored = [self._pool.submit(_score(theta, test, chunk)) for chunk in chunks]
        right, loss = 0, 0.0
        for part in scored:
            correct, added = part.result()
            right, loss = right + correct, loss + added
        return right / test.answers, loss / test.answers

    def close(self) -> None:
        self._pool.close()


class _Prefetcher:
    def __init__(
        self,
        pool: Pool[Tool],
        part: Subset,
        batches: Batches,
        encoder: Encoder,
        codec: Codec,
        layout: Layout,
        local: LocalTraining,
    ) -> None:
        self._pool, self._part, self._encoder, self._local = pool, part, encoder, local
        self._codec, self._layout = codec, layout
        self._batches = batches

    def prefetch(self, theta: Vector) -> GradientHandle:
        # drawn here and now: threads may come to it in any order
        drawn, part, encoder = draw(self._batches, self._local), self._part, self._encoder
        rate, steps = self._local.rate, len(drawn)
        codec, layout = self._codec, self._layout

        def find(tool: Tool) -> tuple[Vector, float]:
            return descend(tool.gradients.gradient, theta, map(part.batch, drawn), rate)

        def find_and_encode(tool: Tool) -> tuple[DecodedFrames | NotFinite, float]:
            gradient, loss = find(tool)
            return encode(gradient), loss

        def encode(gradient: Vector) -> DecodedFrames | NotFinite:
            try:
                frames = encoder.encode(gradient)
            except NotFinite as error:
                return error
            return DecodedFrames.pair(frames, decode_once(frames, codec, layout))

        # what an encoder with a memory takes in counts as sent, so that must wait until it is sure
        if isinstance(encoder, StatelessEncoder):
            return _Encoded(theta.size, steps, self._pool.submit(find_and_encode))
        return _Found(theta.size, steps, self._pool.submit(find), self._pool, encode)


class _Encoded:
    """A gradient whose frames are being made with it."""

    __slots__ = ("_result", "size", "steps")

    def __init__(
        self, size: int, steps: int, result: Job[tuple[DecodedFrames | NotFinite, float]]
    ) -> None:
        self.size, self.steps, self._result = size, steps, result

    def begin(self) -> None:
        pass

    def loss(self) -> float:
        return self._result.result()[1]

    def frames(self) -> Frames:
        return _unless_not_finite(self._result.result()[0])


class _Found:
    """A gradient whose frames are made once the device has set to work on it."""

    __slots__ = ("_encode", "_frames", "_pool", "_result", "size", "steps")

    def __init__(
        self,
        size: int,
        steps: int,
        result: Job[tuple[Vector, float]],
        pool: Pool[Tool],
        encode: Callable[[Vector], DecodedFrames | NotFinite],
    ) -> None:
        self.size, self.steps = size, steps
        self._result, self._pool, self._encode = result, pool, encode
        self._frames: Job[DecodedFrames | NotFinite] | None = None

    def begin(self) -> None:
        result, encode = self._result, self._encode
        self._frames = self._pool.submit(lambda tool: encode(result.awaited()[0]))

    def loss(self) -> float:
        return self._result.result()[1]

    def frames(self) -> Frames:
        if self._frames is None:
            raise RuntimeError("nobody has begun to work on it")
        return _unless_not_finite(self._frames.result())


def _unless_not_finite(frames: DecodedFrames | NotFinite) -> Frames:
    if isinstance(frames, NotFinite):
        raise frames
    return frames


def _score(theta: Vector, test: Examples, chunk: slice) -> Callable[[Tool], tuple[int, float]]:
    return lambda tool: tool.scores.evaluate(theta, *test.batch(chunk))
