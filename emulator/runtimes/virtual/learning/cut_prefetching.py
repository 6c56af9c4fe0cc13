"""Passes of devices that hold the layers before a cut, computed ahead by background threads.

The activations are determined as soon as the server sends the device's part, as a whole gradient is
(`prefetching.py`); the gradient, as soon as the server answers the activations. No thread keeps
tensors between the two: the backward pass computes the forward pass once more, so a fleet takes no
more memory than its mini-batches' numbers.
"""

from typing import Any

from ....codecs.base import Codec, Encoder
from ....core.cut_commands import LossGradient
from ....datasets.examples import Subset
from ....layout import Layout
from ....learners.base import Activated
from ....learners.batches import Batches
from ....learners.cut_learner import DeviceNetwork
from ....vectors import Frames, Vector
from .gradient_handle import CutHandle
from .job_pool import Job, Pool
from .lies import Falsified, Lies, honest
from .prefetching import Encoded, encoded, encoded_frames
from .thread_tools import ThreadTools


class CutPrefetcher:
    """A CutSource: computes passes ahead, in background threads."""

    def __init__(
        self,
        pool: Pool[ThreadTools],
        examples: Subset,
        batches: Batches,
        encoder: Encoder,
        codec: Codec,
        layout: Layout,
        lies: Lies | None = None,
    ) -> None:
        """`batches` draws from `examples`; `encoder` belongs to `codec`.

        `layout` is that of the device's part; `lies` are those of a device that a fault lets lie.
        """
        self._lies = lies
        self.pool = pool
        self._examples, self._batches = examples, batches
        self._encoder, self._codec, self._layout = encoder, codec, layout

    def prefetch(self, theta: Vector) -> CutHandle:
        # drawn here, in the order of virtual time: the threads run jobs in any order
        return _CutIteration(self, theta, self._batches.draw())

    def batch(self, drawn: Any) -> tuple[Any, Any]:
        """Return the examples and the labels with the numbers `drawn`."""
        return self._examples.batch(drawn)

    def falsified(self) -> Falsified:
        """Return what becomes of the gradient that the device begins to compute."""
        return self._lies.begin() if self._lies else honest

    def encode(self, gradient: Vector) -> Encoded:
        """Return the encoded `gradient`, or the error that stands for it."""
        return encoded(lambda: self._encoder.encode(gradient), self._codec, self._layout)


class _CutIteration:
    """A CutHandle."""

    __slots__ = ("_activated", "_drawn", "_frames", "_source", "_theta", "rows", "size")

    def __init__(self, source: CutPrefetcher, theta: Vector, drawn: Any) -> None:
        self.size, self.rows = theta.size, len(drawn)
        self._source, self._theta, self._drawn = source, theta, drawn
        self._activated = source.pool.submit(self._forward)
        self._frames: Job[Encoded] | None = None

    def activated(self) -> Activated:
        return self._activated.result()

    def loss_at(self, logits: Vector) -> LossGradient:
        _, labels = self._source.batch(self._drawn)
        job = self._source.pool.submit(lambda tools: _part(tools).loss(logits, labels))
        return LossGradient(*job.result())

    def begin(self, slopes: Vector) -> None:
        source, theta, drawn = self._source, self._theta, self._drawn
        falsified = source.falsified()

        def find_and_encode(tools: ThreadTools) -> Encoded:
            examples, _ = source.batch(drawn)
            gradient = _part(tools).gradient(theta, examples, slopes)
            return source.encode(falsified(gradient, None))

        self._frames = source.pool.submit(find_and_encode)

    def frames(self) -> Frames:
        if self._frames is None:
            raise RuntimeError("frames were asked for before the backward pass began")
        return encoded_frames(self._frames.result())

    def _forward(self, tools: ThreadTools) -> Activated:
        examples, labels = self._source.batch(self._drawn)
        activations, _ = _part(tools).forward(self._theta, examples)
        return Activated(activations, self.rows, labels.reshape(-1))


def _part(tools: ThreadTools) -> DeviceNetwork[Any]:
    if tools.part is None:
        raise RuntimeError("these tools compute whole models")
    return tools.part
