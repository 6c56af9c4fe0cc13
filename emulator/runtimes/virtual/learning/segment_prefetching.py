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
    ) -> None:
        """`encoder` belongs to `codec`."""
        self._pool, self._source = pool, source
        self._encoder, self._codec, self._layout = encoder, codec, layout

    def prefetch(self, theta: Vector) -> SegmentedHandle:
        find, _ = self._source.job(theta)
        return _SegmentedGradient(self._pool, find, self._encode)

    def _encode(self, segment: Segment, gradient: Vector) -> Encoded:
        piece = gradient[self._layout.place(segment)]
        part = self._layout.part(segment)
        return encoded(lambda: self._encoder.encode(segment, piece), self._codec, part)


class _SegmentedGradient:
    """A SegmentedHandle.

    A worker asks for the frames of a segment before it begins the next segment, so an encoder with
    a memory meets the segments in their order, however many threads there are.
    """

    __slots__ = ("_encode", "_pieces", "_pool", "_result")

    def __init__(
        self,
        pool: Pool[ThreadTools],
        find: GradientJob,
        encode: Callable[[Segment, Vector], Encoded],
    ) -> None:
        self._pool, self._encode = pool, encode
        self._result = pool.submit(find)
        self._pieces: dict[Segment, Job[Encoded]] = {}

    def begin(self, segment: Segment) -> None:
        result, encode = self._result, self._encode
        self._pieces[segment] = self._pool.submit(
            lambda tools: encode(segment, result.awaited()[0])
        )

    def loss(self) -> float:
        return self._result.result()[1]

    def frames(self, segment: Segment) -> Frames:
        if segment not in self._pieces:
            raise RuntimeError(f"frames of {segment} before the device began to compute them")
        return encoded_frames(self._pieces.pop(segment).result())
