"""Gradients of devices that push in segments: computed ahead whole, encoded piece by piece.

The gradient is the whole graph's, so that no cut changes a bit. A segment is encoded once its
backward pass has begun: an encoder with a memory counts each piece that it is given as sent.
"""

from collections.abc import Callable

from ....codecs.base import Codec
from ....codecs.decoded_frames import DecodedFrames, decode_once
from ....codecs.segment_encoder import SegmentEncoder
from ....datasets.examples import Subset
from ....layout import Layout, Segment
from ....learners.batches import Batches
from ....learners.local_steps import draw
from ....learners.local_training import LocalTraining
from ....vectors import Frames, NotFinite, Vector
from .gradient_handle import SegmentedHandle
from .job_pool import Job, Pool
from .prefetching import Encoded, encoded_frames, gradient_job
from .thread_tools import ThreadTools


class SegmentPrefetcher:
    """A SegmentedLearner: computes gradients ahead, in background threads."""

    def __init__(
        self,
        pool: Pool[ThreadTools],
        examples: Subset,
        batches: Batches,
        encoder: SegmentEncoder,
        codec: Codec,
        layout: Layout,
        local: LocalTraining,
    ) -> None:
        """`batches` draws the mini-batches out of `examples`; `encoder` belongs to `codec`."""
        self._pool, self._examples, self._batches = pool, examples, batches
        self._encoder, self._codec, self._layout = encoder, codec, layout
        self._local = local

    def prefetch(self, theta: Vector) -> SegmentedHandle:
        # drawn here, in the order of virtual time: the threads run jobs in any order
        drawn = draw(self._batches, self._local)
        find = gradient_job(self._examples, theta, drawn, self._local.rate)
        return _SegmentedGradient(self._pool, find, self._encode)

    def _encode(self, segment: Segment, gradient: Vector) -> Encoded:
        """Return the encoded piece, decoded already in this thread for the server's sake."""
        try:
            frames = self._encoder.encode(segment, gradient[self._layout.place(segment)])
        except NotFinite as error:
            return error
        part = self._layout.part(segment)
        return DecodedFrames.pair(frames, decode_once(frames, self._codec, part))


class _SegmentedGradient:
    """A SegmentedHandle.

    A worker asks for the frames of a segment before it begins the next segment, so an encoder with
    a memory meets the segments in their order, however many threads there are.
    """

    __slots__ = ("_encode", "_pieces", "_pool", "_result")

    def __init__(
        self,
        pool: Pool[ThreadTools],
        find: Callable[[ThreadTools], tuple[Vector, float]],
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
