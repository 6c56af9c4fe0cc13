"""Prefetched gradients: handles of a type of their own, computed and encoded in background jobs."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from emulator.chance import stream
from emulator.codecs import EncoderContext, TopK, encoder
from emulator.codecs.base import Encoder
from emulator.layout import Layout, Variable
from emulator.learning.datasets.examples import Examples, Subset
from emulator.learning.learners.batches import Batches
from emulator.learning.learners.local_training import LocalTraining
from emulator.runtimes import virtual
from emulator.runtimes.virtual.learning.gradient_handle import HandleEncoder, PrefetchedReply
from emulator.runtimes.virtual.learning.job_pool import Inputs, Labels, Pool, ThreadTools
from emulator.runtimes.virtual.learning.prefetching import (
    DevicePrefetcher,
    GradientCoding,
    GradientSource,
)
from emulator.vectors import Frames, NotFinite, Vector

SIZE = 4
LAYOUT = Layout((Variable("v", (SIZE,), "dense", 0),))
THETA = np.arange(SIZE, dtype=np.float32)


class Doubled:
    """The gradient at theta is twice theta, the loss its first entry."""

    def gradient(self, theta: Vector, x: Inputs, y: Labels) -> tuple[Vector, float]:
        return 2 * theta, float(theta[0])

    def evaluate(self, theta: Vector, x: Inputs, y: Labels) -> tuple[int, float]:
        raise AssertionError("only gradients are asked for")


class Counting:
    """Counts the gradients that an encoder is given."""

    def __init__(self, inner: Encoder) -> None:
        self.inner, self.given = inner, 0

    def encode(self, gradient: Vector) -> Frames:
        self.given += 1
        return self.inner.encode(gradient)


@pytest.fixture
def pool() -> Iterator[Pool[ThreadTools]]:
    made = Pool([ThreadTools(Doubled(), Doubled())])
    yield made
    made.close()


def prefetcher(pool: Pool[ThreadTools], coder: Encoder) -> DevicePrefetcher:
    images = np.zeros((8, 2, 2), np.uint8)
    examples = Subset(Examples(images, np.zeros(8, np.uint8), 1), np.arange(8))
    batches = Batches(examples, 2, "batches")
    source = GradientSource(examples, batches, LocalTraining(0.1))
    return DevicePrefetcher(pool, source, GradientCoding(coder, CODEC, LAYOUT))


CODEC = TopK(keep=0.5)


def coder(*, feedback: bool) -> Encoder:
    return encoder(CODEC, EncoderContext(LAYOUT, stream("coder")), feedback)


@pytest.mark.parametrize("feedback", [False, True])
def test_a_handle_holds_the_frames_that_the_encoder_makes(
    pool: Pool[ThreadTools], feedback: bool
) -> None:
    handle = prefetcher(pool, coder(feedback=feedback)).prefetch(THETA)
    reply = PrefetchedReply(7, 3, handle)
    assert (reply.ticket, reply.version, reply.size, handle.steps) == (7, 3, SIZE, 1)
    handle.begin()
    expected = coder(feedback=feedback).encode(2 * THETA)
    assert [*map(bytes, HandleEncoder().encode(handle))] == [*map(bytes, expected)]
    assert handle.loss() == THETA[0]


def test_an_encoder_with_a_memory_waits_until_the_device_computes(pool: Pool[ThreadTools]) -> None:
    """Its memory counts a gradient as sent, and a crash may come before the device computes."""
    counting = Counting(coder(feedback=True))
    handle = prefetcher(pool, counting).prefetch(THETA)
    assert handle.loss() == THETA[0]
    assert counting.given == 0
    with pytest.raises(RuntimeError, match="before the device began"):
        handle.frames()
    handle.begin()
    handle.frames()
    assert counting.given == 1


@pytest.mark.parametrize("feedback", [False, True])
def test_the_worker_is_told_that_a_gradient_is_not_finite(
    pool: Pool[ThreadTools], feedback: bool
) -> None:
    handle = prefetcher(pool, coder(feedback=feedback)).prefetch(np.full(SIZE, np.inf, np.float32))
    handle.begin()
    with pytest.raises(NotFinite):
        HandleEncoder().encode(handle)


def test_no_type_is_forced() -> None:
    """A cast could hide a handle in a field that is declared as a vector."""
    for folder in virtual.__path__:
        for path in Path(folder).rglob("*.py"):
            assert not re.search(r"\bcast\(|# type: ignore", path.read_text()), path
