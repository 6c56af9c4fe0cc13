"""Gradients of devices that push in segments: computed ahead whole, encoded piece by piece.

The gradient is the whole graph's, so that no cut changes a bit. A segment is encoded once its
backward pass has begun: an encoder with a memory counts each piece that it is given as sent.
"""

from collections.abc import Callable

from ....codecs.base import Codec
from ....codecs.segment_encoder import SegmentEncoder
from ....layout import Layout, Segment
from ....vectors import Frames, Vector
from .gradient_handle import SegmentedHandle
from .job_pool import Job, Pool
from .lies import Falsified, Lies, honest
from .prefetching import Encoded, GradientJob, GradientSource, encoded, encoded_frames
from .thread_tools import ThreadTools


class SegmentPrefetcher:
    """A SegmentedLearner: computes gradients ahead, in background threads."""

    def __init__(
        self,
        pool: Pool[ThreadTools],
        source: GradientSource,
        encoder: SegmentEncoder,
        codec: Codec,
        layout: Layout,
        lies: Lies | None = None,
    ) -> None:
        """`encoder` belongs to `codec`; `lies` are those of a device that a fault lets lie."""
        self._pool, self._source, self._lies = pool, source, lies
        self._encoder, self._codec, self._layout = encoder, codec, layout

    def prefetch(self, theta: Vector) -> SegmentedHandle:
        find, _ = self._source.job(theta)
        return _SegmentedGradient(self._pool, find, self._begin)

    def _begin(self, segment: Segment) -> Callable[[Vector], Encoded]:
        """Return the function that encodes the layers of `segment`, which the device computes."""
        falsified: Falsified = self._lies.begin() if self._lies else honest
        return lambda gradient: self._encode(segment, gradient, falsified)

    def _encode(self, segment: Segment, gradient: Vector, falsified: Falsified) -> Encoded:
        piece = falsified(gradient[self._layout.place(segment)], segment)
        part = self._layout.part(segment)
        return encoded(lambda: self._encoder.encode(segment, piece), self._codec, part)


class _SegmentedGradient:
    """A SegmentedHandle.

    A worker asks for the frames of a segment before it begins the next segment, so an encoder with
    a memory meets the segments in their order, however many threads there are.
    """

    __slots__ = ("_begin", "_pieces", "_pool", "_result")

    def __init__(
        self,
        pool: Pool[ThreadTools],
        find: GradientJob,
        begin: Callable[[Segment], Callable[[Vector], Encoded]],
    ) -> None:
        """`begin` returns the function that encodes a segment, once the device computes it."""
        self._pool, self._begin = pool, begin
        self._result = pool.submit(find)
        self._pieces: dict[Segment, Job[Encoded]] = {}

    def begin(self, segment: Segment) -> None:
        result, encode = self._result, self._begin(segment)
        self._pieces[segment] = self._pool.submit(lambda tools: encode(result.awaited()[0]))

    def loss(self) -> float:
        return self._result.result()[1]

    def frames(self, segment: Segment) -> Frames:
        if segment not in self._pieces:
            raise RuntimeError(f"frames of {segment} before the device began to compute them")
        return encoded_frames(self._pieces.pop(segment).result())
