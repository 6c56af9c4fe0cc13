"""Iterations of devices in virtual time, computed ahead by background threads.

A gradient is determined as soon as the server sends the model: the mini-batch is the device's next
one. So its computation begins at that moment, on all cores beside those of other devices, while a
handle travels through virtual time. The number of threads changes no bit of the result.

The gradient of a device that pushes in segments is the whole graph's, so that no cut changes a bit;
its segments are encoded one by one. Of a model that is cut between device and server, the
activations are determined as soon as the server sends the device's part, and the gradient as soon
as the server answers the activations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ....codecs.base import Codec, DecodedFrames, Encoder, decode_once
from ....codecs.feedback import StatelessEncoder
from ....codecs.segment_encoder import SegmentEncoder
from ....core.worker.falsifying import Falsifier
from ....core.worker.kept_state import Keeper, go_on, kept
from ....core.worker.worker import LossGradient
from ....layout import Layout, Segment
from ....learning.datasets.examples import Subset
from ....learning.learners.base import Activated
from ....learning.learners.batches import Batches, descend, draw
from ....learning.learners.local_training import LocalTraining
from ....learning.learners.staged_learner import StagedNetwork
from ....vectors import Frames, NotFinite, Vector
from .compression import CompressionMeter
from .gradient_handle import CutHandle, GradientHandle, LieNow
from .job_pool import Job, Pool, ThreadTools

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


@dataclass(frozen=True)
class Lies:
    """The lies of one incarnation of a device.

    A lie is chosen when the device begins to compute, in the order of virtual time; the thread that
    encodes the gradient falsifies it.
    """

    falsifier: Falsifier
    now: LieNow

    def begin(self) -> Callable[[Vector, Segment | None], Vector]:
        """Return what becomes of the gradient that the device begins to compute, or of the layers
        of a segment."""
        setting, falsifier = self.now(), self.falsifier
        return lambda gradient, segment: falsifier.falsify(gradient, setting, segment)


@dataclass(frozen=True)
class GradientCoding:
    """The encoding of one device's gradients."""

    encoder: Encoder | SegmentEncoder
    codec: Codec
    """The codec that `encoder` belongs to."""
    layout: Layout
    """Layout of the layers that the device holds."""
    lies: Lies | None = None
    """Lies of a device that a fault lets lie."""
    meter: CompressionMeter | None = None

    @property
    def stateless(self) -> bool:
        """Whether the frames depend on the gradient alone, so it may be encoded at any time."""
        measured = self.lies or self.meter
        return not measured and isinstance(self.encoder, StatelessEncoder)

    def begin(self, segment: Segment | None = None) -> Callable[[Vector], Encoded]:
        """Return the function that encodes the gradient which the device begins to compute.

        It encodes the layers of `segment` out of the gradient; all of it without.
        """
        falsified = self.lies.begin() if self.lies else None

        def encode(gradient: Vector) -> Encoded:
            piece = gradient if segment is None else gradient[self.layout.place(segment)]
            return self.encoded(falsified(piece, segment) if falsified else piece, segment)

        return encode

    def encoded(self, gradient: Vector, segment: Segment | None = None) -> Encoded:
        """Return the encoded `gradient`, decoded already in this thread for the server's sake."""
        try:
            if isinstance(self.encoder, SegmentEncoder):
                assert segment is not None  # of a device that pushes in segments
                frames = self.encoder.encode(segment, gradient)
            else:
                frames = self.encoder.encode(gradient)
        except NotFinite as error:
            return error
        layout = self.layout if segment is None else self.layout.part(segment)
        update = decode_once(frames, self.codec, layout)
        if self.meter is not None:
            return self.meter.measured(frames, update, self.encoder)
        return DecodedFrames.pair(frames, update)


class DevicePrefetcher:
    """A VirtualLearner: computes gradients ahead, in background threads."""

    def __init__(
        self,
        pool: Pool[ThreadTools],
        source: GradientSource,
        coding: GradientCoding,
        keeper: Keeper | None = None,
        parts: Sequence[Segment | None] = (None,),
    ) -> None:
        """Go on from the state in `keeper`, and keep the device's state there after each push.

        `parts` are the segments in which a gradient is encoded that is computed whole, in this
        order; None: the whole gradient.
        """
        self._pool, self._source, self._coding, self._keeper = pool, source, coding, keeper
        self._parts = parts
        if keeper is not None and keeper.state is not None:
            go_on(self._whole_encoder, source.batches, keeper.state)

    def prefetch(self, theta: Vector) -> GradientHandle:
        (find, steps), coding = self._source.job(theta), self._coding
        if coding.stateless and self._keeper is None:

            def find_and_encode(tools: ThreadTools) -> tuple[Encoded, float]:
                gradient, loss = find(tools)
                return coding.encoded(gradient), loss

            return _EncodedAtOnce(theta.size, steps, self._pool.submit(find_and_encode))
        return _EncodedWhenBegun(
            theta.size, steps, self._pool, find, coding.begin, self._pushed(), self._parts
        )

    def _pushed(self) -> Callable[[], None] | None:
        """Return the function to call once the gradient of the last mini-batch is pushed."""
        if (keeper := self._keeper) is None:
            return None
        # a later model may be on its way, with further mini-batches, when this gradient is pushed
        position, encoder = self._source.batches.position(), self._whole_encoder

        def keep() -> None:
            keeper.state = kept(encoder, position)

        return keep

    @property
    def _whole_encoder(self) -> Encoder:
        assert not isinstance(self._coding.encoder, SegmentEncoder)  # `check` has refused others
        return self._coding.encoder


class _EncodedAtOnce:
    """A GradientHandle: the gradient is computed and encoded in the same job."""

    __slots__ = ("_result", "size", "steps")

    def __init__(self, size: int, steps: int, result: Job[tuple[Encoded, float]]) -> None:
        self.size, self.steps, self._result = size, steps, result

    def begin(self, segment: Segment | None = None) -> None:
        pass

    def loss(self) -> float:
        return self._result.result()[1]

    def frames(self, segment: Segment | None = None) -> Frames:
        return _encoded_frames(self._result.result()[0])


class _EncodedWhenBegun:
    """A GradientHandle: a segment is encoded once the device has begun to compute the segment.

    The encoder has a memory, which counts each gradient that it is given as sent. Before the device
    has begun it may still crash, or never receive the model; then nothing is sent. A worker asks
    for the frames of a segment before it begins the next segment, so the encoder meets the segments
    in their order, however many threads there are.
    """

    __slots__ = ("_begin", "_parts", "_pieces", "_pool", "_pushed", "_result", "size", "steps")

    def __init__(
        self,
        size: int,
        steps: int,
        pool: Pool[ThreadTools],
        find: GradientJob,
        begin: Callable[[Segment | None], Callable[[Vector], Encoded]],
        pushed: Callable[[], None] | None,
        parts: Sequence[Segment | None],
    ) -> None:
        """`begin` returns the function that encodes a segment, once the device computes it.

        `pushed` is called when the frames are taken for the push. `parts` are the segments to
        encode of a gradient that the device computes whole.
        """
        self._parts = parts
        self.size, self.steps = size, steps
        self._pool, self._begin, self._pushed = pool, begin, pushed
        self._result = pool.submit(find)
        self._pieces: dict[Segment | None, Job[dict[Segment | None, Encoded]]] = {}

    def begin(self, segment: Segment | None = None) -> None:
        parts = self._parts if segment is None else (segment,)
        result, encoders = self._result, [(part, self._begin(part)) for part in parts]
        # one job for all: the encoder has to meet the parts in their order
        job = self._pool.submit(
            lambda tools: {part: encode(result.awaited()[0]) for part, encode in encoders}
        )
        self._pieces.update(dict.fromkeys(parts, job))

    def loss(self) -> float:
        return self._result.result()[1]

    def frames(self, segment: Segment | None = None) -> Frames:
        if segment not in self._pieces:
            raise RuntimeError("frames were asked for before the device began to compute")
        frames = _encoded_frames(self._pieces.pop(segment).result()[segment])
        if self._pushed is not None:
            self._pushed()
        return frames


@dataclass(frozen=True)
class CutPrefetcher:
    """A VirtualLearner of a device that holds the layers before a cut."""

    pool: Pool[ThreadTools]
    examples: Subset
    batches: Batches
    """Draws the mini-batches out of `examples`."""
    coding: GradientCoding

    def prefetch(self, theta: Vector) -> CutHandle:
        # drawn here, in the order of virtual time: the threads run jobs in any order
        return _CutIteration(self, theta, self.batches.draw())


class _CutIteration:
    """A CutHandle.

    No thread keeps tensors between the two passes: the backward pass computes the forward pass once
    more, so a fleet takes no more memory than its mini-batches' numbers.
    """

    __slots__ = ("_activated", "_drawn", "_frames", "_source", "_theta", "rows", "size")

    def __init__(self, source: CutPrefetcher, theta: Vector, drawn: Any) -> None:
        self.size, self.rows = theta.size, len(drawn)
        self._source, self._theta, self._drawn = source, theta, drawn
        self._activated = source.pool.submit(self._forward)
        self._frames: Job[Encoded] | None = None

    def activated(self) -> Activated:
        return self._activated.result()

    def loss_at(self, logits: Vector) -> LossGradient:
        job = self._source.pool.submit(lambda tools: self._begun(tools)[0].loss_at(logits))
        return LossGradient(*job.result())

    def begin_from(self, slopes: Vector) -> None:
        encode = self._source.coding.begin()

        def find_and_encode(tools: ThreadTools) -> Encoded:
            part, _ = self._begun(tools)
            part.forward(1, self._theta)
            return encode(part.backward(1, slopes))

        self._frames = self._source.pool.submit(find_and_encode)

    def frames(self, segment: Segment | None = None) -> Frames:
        if self._frames is None:
            raise RuntimeError("frames were asked for before the backward pass began")
        return _encoded_frames(self._frames.result())

    def _forward(self, tools: ThreadTools) -> Activated:
        part, labels = self._begun(tools)
        activations = part.forward(1, self._theta)
        assert activations is not None
        return Activated(activations, self.rows, labels.reshape(-1))

    def _begun(self, tools: ThreadTools) -> tuple[StagedNetwork, Any]:
        """Begin the iteration on the thread's network; return it, and the labels."""
        if tools.part is None:
            raise RuntimeError("these tools compute whole models")
        examples, labels = self._source.examples.batch(self._drawn)
        tools.part.begin(examples, labels)
        return tools.part, labels


def _encoded_frames(encoded: Encoded) -> Frames:
    """Return the frames of `encoded`, or raise the error that stands for them."""
    if isinstance(encoded, NotFinite):
        raise encoded
    return encoded
