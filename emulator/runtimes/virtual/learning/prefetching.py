"""Gradients in virtual time, computed ahead by background threads.

A gradient is determined as soon as the server sends the model: the mini-batch is the device's next
one. So its computation begins at that moment, on all cores beside those of other devices, while a
handle travels through virtual time. The number of threads changes no bit of the result.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ....codecs.base import Codec, Encoder
from ....codecs.decoded_frames import DecodedFrames, decode_once
from ....codecs.feedback import StatelessEncoder
from ....datasets.examples import Subset
from ....layout import Layout
from ....learners.batches import Batches
from ....learners.local_steps import descend, draw
from ....learners.local_training import LocalTraining
from ....vectors import Frames, NotFinite, Vector
from .gradient_handle import GradientHandle
from .job_pool import Job, Pool
from .lies import Falsified, Lies, honest
from .thread_tools import ThreadTools

Encoded: TypeAlias = DecodedFrames | NotFinite
"""An encoded gradient, or the error to raise in the worker that asks for the frames."""

GradientJob: TypeAlias = Callable[[ThreadTools], tuple[Vector, float]]
"""Computes a gradient and its mean loss with the tools of a background thread."""


@dataclass(frozen=True)
class GradientSource:
    """The training of one device: draws mini-batches, and makes jobs for their gradients."""

    examples: Subset
    batches: Batches
    """Draws the mini-batches out of `examples`."""
    local: LocalTraining

    def job(self, theta: Vector) -> tuple[GradientJob, int]:
        """Return a job for the gradient at `theta` and its loss, and the number of mini-batches."""
        # drawn here, in the order of virtual time: the threads run jobs in any order
        drawn, examples, rate = draw(self.batches, self.local), self.examples, self.local.rate

        def find(tools: ThreadTools) -> tuple[Vector, float]:
            batches = (batch.batch(examples) for batch in drawn)
            return descend(tools.learner.gradient, theta, batches, rate)

        return find, len(drawn)


def encoded(encode: Callable[[], Frames], codec: Codec, layout: Layout) -> Encoded:
    """Return the result of `encode`, decoded already in this thread for the server's sake."""
    try:
        frames = encode()
    except NotFinite as error:
        return error
    return DecodedFrames.pair(frames, decode_once(frames, codec, layout))


class DevicePrefetcher:
    """A VirtualLearner: computes gradients ahead, in background threads."""

    def __init__(
        self,
        pool: Pool[ThreadTools],
        source: GradientSource,
        encoder: Encoder,
        codec: Codec,
        layout: Layout,
        lies: Lies | None = None,
    ) -> None:
        """`encoder` belongs to `codec`; `lies` are those of a device that a fault lets lie."""
        self._pool, self._source, self._lies = pool, source, lies
        self._encoder, self._codec, self._layout = encoder, codec, layout

    def prefetch(self, theta: Vector) -> GradientHandle:
        find, steps = self._source.job(theta)
        if self._lies or not isinstance(self._encoder, StatelessEncoder):
            return _EncodedWhenBegun(theta.size, steps, self._pool, find, self._begin)

        def find_and_encode(tools: ThreadTools) -> tuple[Encoded, float]:
            gradient, loss = find(tools)
            return self._encode(gradient), loss

        return _EncodedAtOnce(theta.size, steps, self._pool.submit(find_and_encode))

    def _begin(self) -> Callable[[Vector], Encoded]:
        """Return the function that encodes the gradient which the device begins to compute."""
        falsified: Falsified = self._lies.begin() if self._lies else honest
        return lambda gradient: self._encode(falsified(gradient, None))

    def _encode(self, gradient: Vector) -> Encoded:
        return encoded(lambda: self._encoder.encode(gradient), self._codec, self._layout)


class _EncodedAtOnce:
    """A GradientHandle: the gradient is computed and encoded in the same job."""

    __slots__ = ("_result", "size", "steps")

    def __init__(self, size: int, steps: int, result: Job[tuple[Encoded, float]]) -> None:
        self.size, self.steps, self._result = size, steps, result

    def begin(self) -> None:
        pass

    def loss(self) -> float:
        return self._result.result()[1]

    def frames(self) -> Frames:
        return encoded_frames(self._result.result()[0])


class _EncodedWhenBegun:
    """A GradientHandle: the gradient is encoded once the device has begun to compute.

    The encoder has a memory, which counts each gradient that it is given as sent. Before the device
    has begun it may still crash, or never receive the model; then nothing is sent.
    """

    __slots__ = ("_begin", "_frames", "_pool", "_result", "size", "steps")

    def __init__(
        self,
        size: int,
        steps: int,
        pool: Pool[ThreadTools],
        find: Callable[[ThreadTools], tuple[Vector, float]],
        begin: Callable[[], Callable[[Vector], Encoded]],
    ) -> None:
        """`begin` returns the function that encodes this gradient, once the device has begun."""
        self.size, self.steps = size, steps
        self._pool, self._begin = pool, begin
        self._result = pool.submit(find)
        self._frames: Job[Encoded] | None = None

    def begin(self) -> None:
        result, encode = self._result, self._begin()
        self._frames = self._pool.submit(lambda tools: encode(result.awaited()[0]))

    def loss(self) -> float:
        return self._result.result()[1]

    def frames(self) -> Frames:
        if self._frames is None:
            raise RuntimeError("frames were asked for before the device began to compute")
        return encoded_frames(self._frames.result())


def encoded_frames(encoded: Encoded) -> Frames:
    """Return the frames of `encoded`, or raise the error that stands for them."""
    if isinstance(encoded, NotFinite):
        raise encoded
    return encoded
