"""Training for real in virtual time: data, gradients, encoders and evaluations of a whole fleet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....codecs.accounting import Accounting, accounting
from ....codecs.base import ByteCount, Codec, Encoder, EncoderContext
from ....codecs.decoded_frames import decode_once
from ....core.assembly import WorkerAssembly, held_layout
from ....core.falsifying import Falsifier
from ....core.kept_state import Keeper
from ....core.plan import WorkerPlan
from ....datasets.examples import Examples, Subset
from ....layout import Layout
from ....learners.base import Evaluation, evaluation
from ....learners.device import CHUNK
from ....runs.data_split import DataSplit
from ....vectors import Frames, Gradient, Vector
from .cut_prefetching import CutPrefetcher
from .gradient_handle import CutSource, SegmentedLearner, VirtualLearner
from .job_pool import Pool
from .keeping import KeepingPrefetcher
from .lies import LieNow, Lies
from .prefetching import DevicePrefetcher, GradientSource
from .segment_prefetching import SegmentPrefetcher
from .thread_tools import ThreadTools


@dataclass(frozen=True)
class PredecodedCodec:
    """The server's codec: takes gradients already decoded in background threads."""

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


class PrefetchedTraining:
    """Trains for real: a FleetLearning."""

    scores = True

    def __init__(
        self, plan: WorkerPlan, layout: Layout, split: DataSplit, tools: Sequence[ThreadTools]
    ) -> None:
        """`layout` is the model's layout; `tools` holds an item per thread, at least one item."""
        self._split, self._local, self._seed = split, plan.local, plan.seed
        self._layout = held_layout(plan, layout)
        self._assembly = WorkerAssembly(plan, layout)
        self._pool = Pool(tools)

    def learner(
        self,
        device: str,
        incarnation: int,
        lie: LieNow | None = None,
        keeper: Keeper | None = None,
    ) -> VirtualLearner:
        source, codec = self._source(device, incarnation), self._assembly.codec
        encoder = self._assembly.encoder(device, incarnation, source.batches)
        lies = self._lies(device, incarnation, lie)
        learner = DevicePrefetcher(self._pool, source, encoder, codec, self._layout, lies)
        if keeper is None:
            return learner
        return KeepingPrefetcher(learner, encoder, source.batches, keeper)

    def segmented(
        self, device: str, incarnation: int, lie: LieNow | None = None
    ) -> SegmentedLearner:
        source, codec = self._source(device, incarnation), self._assembly.codec
        encoder = self._assembly.segment_encoder(device, incarnation, source.batches)
        lies = self._lies(device, incarnation, lie)
        return SegmentPrefetcher(self._pool, source, encoder, codec, self._layout, lies)

    def cut(self, device: str, incarnation: int, lie: LieNow | None = None) -> CutSource:
        source, codec = self._source(device, incarnation), self._assembly.codec
        encoder = self._assembly.encoder(device, incarnation, source.batches)
        examples, batches = source.examples, source.batches
        lies = self._lies(device, incarnation, lie)
        return CutPrefetcher(self._pool, examples, batches, encoder, codec, self._layout, lies)

    def _lies(self, device: str, incarnation: int, lie: LieNow | None) -> Lies | None:
        return Lies(Falsifier(self._seed, device, incarnation), lie) if lie else None

    def _source(self, device: str, incarnation: int) -> GradientSource:
        examples = Subset(self._split.data.train, self._split.parts[device])
        batches = self._assembly.batches(device, incarnation, examples)
        return GradientSource(examples, batches, self._local)

    def evaluate(self, theta: Vector) -> Evaluation:
        test = self._split.data.test
        chunks = [slice(start, start + CHUNK) for start in range(0, len(test), CHUNK)]
        jobs = [self._pool.submit(_evaluation(theta, test, chunk)) for chunk in chunks]
        score, loss = 0.0, 0.0
        for job in jobs:  # in the order of the chunks, so that the sum of the losses is the same
            score_of_chunk, loss_of_chunk = job.result()
            score, loss = score + score_of_chunk, loss + loss_of_chunk
        return evaluation(score, loss, test.labels)

    def gradient(self, theta: Vector, which: NDArray[np.integer[Any]]) -> Vector:
        """Return the gradient at `theta` over the training examples `which`; wait for it."""
        x, y = self._split.data.train.batch(which)
        return self._pool.submit(lambda tools: tools.learner.gradient(theta, x, y)[0]).result()

    def close(self) -> None:
        self._pool.close()


def _evaluation(
    theta: Vector, test: Examples, chunk: slice
) -> Callable[[ThreadTools], tuple[float, float]]:
    return lambda tools: tools.evaluator.evaluate(theta, *test.batch(chunk))
