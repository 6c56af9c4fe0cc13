"""What travels down: a worker that is patched holds what the server has."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from emulator import pulls
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.pulls import AnyPull, Delta, EncodedModel, HeldModel, Pulls, WholeModel
from emulator.pulls.delta import Changes
from emulator.pulls.floats import Values
from emulator.vectors import Gradient
from tests.fakes.tried_examples import tried
from tests.pulls.pull_table import KINDS

SIZE = 400
LAYOUT = Layout((Variable("all", (SIZE,), "dense", 0),))


def sparse(indices: Sequence[int]) -> Gradient:
    chosen = np.unique(np.array(indices, np.uint32))
    return Gradient(np.ones(chosen.size, np.float32), chosen)


def sent(server: Pulls, theta: np.ndarray, held: int | None) -> EncodedModel:
    """What travels, by name, also where it is the model as it is."""
    return server.answer(theta, held) or EncodedModel((theta.tobytes(),))


def length(coded: EncodedModel) -> int:
    return sum(map(len, coded.frames))


class Watched:
    """A model that counts what is read of it, and can only be read in part."""

    def __init__(self, theta: np.ndarray) -> None:
        self._theta, self.read = theta, 0

    def __getitem__(self, indices: np.ndarray) -> np.ndarray:
        self.read += indices.size
        return self._theta[indices]


GRADIENTS = st.lists(st.lists(st.integers(0, SIZE - 1), max_size=30).map(sparse), max_size=3)
STEPS = st.lists(st.tuples(GRADIENTS, st.booleans()), max_size=12)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.kind} {kind.values}")
@tried(
    quick=15,
    slow=40,
    steps=STEPS,
    pulled=st.lists(st.booleans(), min_size=12, max_size=12),
    seed=st.integers(0),
)
def test_a_worker_holds_what_the_server_has(
    kind: AnyPull, steps: list[tuple[list[Gradient], bool]], pulled: list[bool], seed: int
) -> None:
    """Two workers, one of which pulls each time; bit for bit, or as half precision has it."""
    draws = np.random.default_rng(seed)
    theta = draws.standard_normal(SIZE).astype(np.float32)
    server, version = kind.start(LAYOUT), 0
    often, seldom = HeldModel(kind.values, LAYOUT), HeldModel(kind.values, LAYOUT)
    for (gradients, everywhere), also in zip([([], False), *steps], [True, *pulled], strict=False):
        theta = theta.copy()
        if everywhere and gradients:
            theta += np.float32(0.5)
        for gradient in gradients:
            theta[gradient.indices] = draws.standard_normal(gradient.values.size) * 10
        version += len(gradients)
        server.changed(gradients, everywhere)
        for holder in (often, seldom) if also else (often,):
            came = sent(server, theta, holder.version)
            held = holder.decode(version, came.frames, came.base)
            known = server.rounded(theta)
            known = theta if known is None else known
            expected = theta if kind.values == "f32" else theta.astype(np.float16).astype("f4")
            assert held.tobytes() == expected.tobytes() == known.tobytes()
            assert length(came) <= SIZE * (4 if kind.values == "f32" else 2)


def test_a_patch_holds_exactly_what_changed() -> None:
    server, theta = Delta().start(LAYOUT), np.arange(SIZE, dtype=np.float32)
    server.changed([sparse([7, 9]), sparse([9, 300])], False)
    patch = server.answer(theta, 0)
    assert patch is not None
    assert patch.base == 0
    assert np.frombuffer(patch.frames[1], "<f4").tolist() == [7, 9, 300]
    patch = server.answer(theta, 1)
    assert patch is not None
    assert np.frombuffer(patch.frames[1], "<f4").tolist() == [9, 300]
    nothing = server.answer(theta, 2)
    assert nothing is not None
    assert nothing.frames[1] == b""


@pytest.mark.parametrize("values", ["f32", "f16"])
def test_a_patch_reads_only_what_changed_and_once_for_all(values: Values) -> None:
    server = Delta(values).start(LAYOUT)
    server.changed([sparse([7, 9]), sparse([9, 300])], False)
    theta: Any = Watched(np.arange(SIZE, dtype=np.float32))
    patches = [server.answer(theta, 0) for _ in range(100)]
    assert patches[0] is not None
    assert patches[0].base == 0
    assert theta.read == 3


@pytest.mark.parametrize("values", ["f32", "f16"])
def test_a_patch_stays_as_it_was_made(values: Values) -> None:
    """Whatever the next step makes of the model."""
    server, theta = Delta(values).start(LAYOUT), np.arange(SIZE, dtype=np.float32)
    holder = HeldModel(values, LAYOUT)
    holder.decode(0, sent(server, theta, None).frames, None)
    server.changed([sparse([7, 9])], False)
    patch = server.answer(theta, 0)
    assert patch is not None
    theta[:] = -1
    assert holder.decode(1, patch.frames, patch.base)[[7, 9]].tolist() == [7, 9]


def test_nobody_is_patched_who_holds_nothing_or_something_unheard_of() -> None:
    server, theta = Delta().start(LAYOUT, version=5), np.zeros(SIZE, np.float32)
    server.changed([sparse([1])], False)
    assert server.answer(theta, None) is None
    assert server.answer(theta, 4) is None  # before the server's time
    assert sent(server, theta, 5).base == 5


def test_all_is_sent_where_a_patch_would_be_larger() -> None:
    server, theta = Delta().start(LAYOUT), np.zeros(SIZE, np.float32)
    server.changed([sparse(range(SIZE))], False)
    assert server.answer(theta, 0) is None
    server.changed([sparse([1])], True)
    assert server.answer(theta, 1) is None


def test_what_is_logged_is_bounded() -> None:
    changes = Changes(100, 0)
    for _ in range(1000):
        changes.note([sparse(range(0, 100, 2))], False)
    assert changes._entries <= 400
    assert changes.since(999) is not None
    assert changes.since(900) is None
    assert changes.since(1001) is None


@pytest.mark.parametrize("behind", [1, 3, 40])
def test_merged_or_by_table_the_changes_are_the_same(behind: int) -> None:
    changes, draws, noted = Changes(5000, 0), np.random.default_rng(1), []
    for _ in range(behind):
        noted.append(draws.choice(5000, 100, replace=False))
        changes.note([sparse(noted[-1])], False)
    result = changes.since(0)
    assert result is not None
    assert result.tolist() == sorted({int(item) for some in noted for item in some})


@pytest.mark.parametrize(
    ("frames", "base", "match"),
    [
        ((b"1234567",), None, "bytes of parameters, expected 1600"),
        ((b"", b""), 3, "a patch to version 3, but 0 is held"),
        ((b"", b"123"), 0, "3 bytes of 400 parameters at most"),
        ((b"", b"1" * 1604), 0, "1604 bytes of 400 parameters at most"),
    ],
)
def test_what_is_no_model_is_refused_and_leaves_no_trace(
    frames: tuple[bytes, ...], base: int | None, match: str
) -> None:
    holder = HeldModel("f32", LAYOUT)
    held = holder.decode(0, (np.ones(SIZE, np.float32).tobytes(),), None)
    with pytest.raises(WireError, match=match):
        holder.decode(1, frames, base)
    assert (holder.version, held.sum()) == (0, SIZE)


def test_half_precision_clips_what_it_cannot_hold() -> None:
    theta = np.full(SIZE, 1e9, np.float32)
    server = WholeModel("f16").start(LAYOUT)
    held = HeldModel("f16", LAYOUT).decode(0, sent(server, theta, None).frames, None)
    known = server.rounded(theta)
    assert known is not None
    assert held.max() == known.max() == 65_504


def test_what_workers_hold_is_rounded_once_a_version() -> None:
    server, theta = Delta("f16").start(LAYOUT), np.full(SIZE, 1 / 3, np.float32)
    first = server.rounded(theta)
    assert first is not None
    assert server.rounded(theta) is first
    assert not first.flags.writeable
    server.changed([sparse([1])], False)
    theta[1] = 2
    assert first[1] == np.float16(1 / 3)
    second = server.rounded(theta)
    assert second is not None
    assert second[:3].tolist() == [np.float16(1 / 3), 2, np.float16(1 / 3)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_goes_through_plain_data(kind: AnyPull) -> None:
    assert pulls.make(pulls.plain(kind)) == kind


@pytest.mark.parametrize("kind", [WholeModel, Delta])
def test_unknown_values_are_refused(kind: type[AnyPull]) -> None:
    with pytest.raises(ValueError, match="values 'f64' is not f32 or f16"):
        kind("f64")  # type: ignore[arg-type]
