"""A lent vector never changes while anything refers to it, and is written again once nothing does.

Random sequences of pulls, pushes and releases are compared with a server that copies every time.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.server import lendable_vector
from emulator.core.server.lendable_vector import LendableVector
from emulator.core.server.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.modulation import Constant
from emulator.optimizers import SGD, Momentum
from emulator.vectors import Gradient, Vector

SIZE = 200
LAYOUT = Layout((Variable("v", (SIZE,), "dense", 0),))


@pytest.fixture(autouse=True, scope="module", params=["large", "small"])
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Treat the vectors of these tests as large ones, whose entries are copied, and as small ones,
    which are copied as a whole."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "large":
            patch.setattr(lendable_vector, "_CACHED", 0)
        yield request.param


READERS: dict[str, Callable[[Vector], Any]] = {
    "array": lambda lent: lent,
    "segment": lambda lent: lent[3:90],
    "view of a segment": lambda lent: lent[3:90].view(np.uint8)[5:],
    "frame": lambda lent: lent.view(np.uint8).data,
    "part of a frame": lambda lent: memoryview(lent[50:].view(np.uint8).data)[7:11],
}
"""What may be left of a lent vector, by name."""

ACTIONS = st.one_of(
    st.tuples(st.just("pull"), st.sampled_from(sorted(READERS))),
    st.tuples(st.just("release"), st.integers(0, 9)),
    st.tuples(st.just("push"), st.sets(st.integers(0, SIZE - 1), max_size=9)),
    st.tuples(st.just("dense push"), st.none()),
    st.tuples(st.just("step of two"), st.sets(st.integers(0, SIZE - 1), max_size=3)),
)


def gradient(rng: np.random.Generator, entries: set[int] | None) -> Gradient:
    if entries is None:
        return Gradient(rng.standard_normal(SIZE, np.float32))
    values = rng.standard_normal(len(entries), np.float32)
    return Gradient(values, np.array(sorted(entries), np.uint32))


@settings(max_examples=150, deadline=None)
@given(st.lists(ACTIONS, max_size=40), st.booleans())
def test_lent_contents_stay_as_those_of_a_copy(actions: list[Any], momentum: bool) -> None:
    rng = np.random.default_rng(7)
    start = rng.standard_normal(SIZE, np.float32)
    optimizer = Momentum() if momentum else SGD()
    model = Parameters(start, 0.1, Constant().start(LAYOUT), optimizer=optimizer)
    naive = Parameters(start, 0.1, Constant().start(LAYOUT), optimizer=optimizer)  # lends nothing
    held: list[tuple[Any, bytes]] = []
    for action, argument in actions:
        if action == "pull":
            read = READERS[argument]
            held.append((read(model.snapshot()), bytes(read(naive.theta.copy()))))
        elif action == "release" and held:
            del held[argument % len(held)]
        elif "push" in action or action == "step of two":
            step = [(gradient(rng, argument), model.version)]
            if action == "step of two":
                step.append((gradient(rng, {1, 2}), model.version))
            model.apply(step)
            naive.apply(step)
        assert model.theta.tobytes() == naive.theta.tobytes()
        assert all(bytes(reader) == contents for reader, contents in held)


def stepped(vector: LendableVector, number: int) -> None:
    vector.reclaim()
    vector.values[number] += 1
    vector.changed([np.array([number], np.uint32)])


def test_a_sparse_change_goes_to_the_spare_vector_without_a_copy() -> None:
    vector = LendableVector(np.zeros(SIZE, np.float32))
    first = vector.lend()
    stepped(vector, 0)
    second = vector.lend()
    old, now = first.ctypes.data, second.ctypes.data
    assert old != now
    del first
    for number in range(1, 9):  # each time the last vector is still read, and the one before is not
        before = second
        stepped(vector, number)
        second = vector.lend()
        old, now = now, old
        assert second.ctypes.data == now
        assert before.ctypes.data == old
        assert second[: number + 1].tolist() == [1] * (number + 1)
        assert before[: number + 1].tolist() == [*[1] * number, 0]


def test_what_nobody_kept_changes_in_place() -> None:
    vector = LendableVector(np.zeros(SIZE, np.float32))
    place = vector.values.ctypes.data
    for number in range(5):
        vector.lend()
        stepped(vector, number)
        assert vector.values.ctypes.data == place


def test_more_changes_than_are_worth_it_are_copied_as_a_whole() -> None:
    vector = LendableVector(np.zeros(SIZE, np.float32))
    first = vector.lend()
    stepped(vector, 0)
    second = vector.lend()
    vector.changed([None])
    vector.values[:] = 5  # allowed to nobody but this test: `second` is lent
    del first
    stepped(vector, 3)
    assert vector.values.tolist() == [5, 5, 5, 6, *[5] * (SIZE - 4)]
    assert second.tolist() == [5] * SIZE


def test_a_frame_that_libzmq_has_not_sent_keeps_its_model() -> None:
    """The queue of a socket without a peer stands for a slow link."""
    size = 100_000  # pyzmq copies frames below 64 KiB
    vector = LendableVector(np.zeros(size, np.float32))
    with zmq.Context() as context, context.socket(zmq.PUSH) as out, context.socket(zmq.PULL) as end:
        out.bind("inproc://models")
        end.connect("inproc://models")
        for number in range(4):
            out.send(vector.lend().view(np.uint8).data, copy=False)
            stepped(vector, number)
        for number in range(4):
            frame = end.recv(copy=False)
            assert np.frombuffer(frame.buffer, np.float32).sum() == number
    assert vector.values[:5].tolist() == [1, 1, 1, 1, 0]
