"""Training for real in virtual time: data, gradients, encoders and evaluations of a whole fleet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....codecs.base import (
    Accounting,
    ByteCount,
    Codec,
    Encoder,
    EncoderContext,
    accounting,
    decode_once,
)
from ....core.assembly import WorkerAssembly, held_layout
from ....core.plan import WorkerPlan
from ....core.worker.falsifying import Falsifier
from ....core.worker.kept_state import Keeper
from ....layout import Layout
from ....learning.datasets.examples import Examples, Subset
from ....learning.learners.base import Evaluation, evaluation
from ....learning.learners.device import CHUNK
from ....runs.data_split import DataSplit
from ....vectors import Frames, Gradient, Vector
from .compression import CompressionMeter
from .gradient_handle import LieNow, VirtualLearner
from .job_pool import Pool, ThreadTools
from .prefetching import CutPrefetcher, DevicePrefetcher, GradientCoding, GradientSource, Lies


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
        self,
        plan: WorkerPlan,
        layout: Layout,
        split: DataSplit,
        tools: Sequence[ThreadTools],
        measure_every: int | None = None,
    ) -> None:
        """`layout` is the model's layout; `tools` holds an item per thread, at least one item.

        The compression of each device's every `measure_every`-th update is measured; None: of none.
        """
        self._measure_every = measure_every
        self._split, self._plan, self._layout = split, plan, held_layout(plan, layout)
        self._assembly = WorkerAssembly(plan, layout)
        self._shards = self._assembly.shards
        self._segmented = self._assembly.segmented or self._shards is not None
        self._pool = Pool(tools)

    def learner(
        self,
        device: str,
        incarnation: int,
        lie: LieNow | None = None,
        keeper: Keeper | None = None,
    ) -> VirtualLearner:
        examples = Subset(self._split.data.train, self._split.parts[device])
        batches = self._assembly.batches(device, incarnation, examples)
        made = self._assembly.segment_encoder if self._segmented else self._assembly.encoder
        every = self._measure_every
        coding = GradientCoding(
            made(device, incarnation, batches),
            self._assembly.codec,
            self._layout,
            Lies(Falsifier(self._plan.seed, device, incarnation), lie) if lie else None,
            CompressionMeter(self._layout, every) if every else None,
        )
        if self._plan.cut is not None:
            return CutPrefetcher(self._pool, examples, batches, coding)
        source = GradientSource(examples, batches, self._plan.local)
        parts = self._shards.segments[::-1] if self._shards else (None,)
        return DevicePrefetcher(self._pool, source, coding, keeper, parts)

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
