"""Models on disk: they come back as they were saved, and what is no such model is refused."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.core.server.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.learning.models import saved_model
from emulator.learning.models.saved_model import SavedModel
from emulator.modulation import Constant
from emulator.optimizers import SGD, Adam, AnyOptimizer, Momentum, Sign
from emulator.vectors import Gradient, Vector

LAYOUT = Layout((Variable("w", (3, 2), "dense", 1), Variable("b", (2,), "bias", 1)))


def made(optimizer: AnyOptimizer, saved: SavedModel | None = None) -> Parameters:
    initial = np.linspace(-1, 1, LAYOUT.size, dtype=np.float32)
    return Parameters(
        initial if saved is None else saved.theta,
        0.1,
        Constant().start(LAYOUT),
        optimizer=optimizer,
        state=None if saved is None else saved.optimizer,
    )


def gradients(count: int, seed: int) -> list[Vector]:
    dice = np.random.default_rng(seed)
    return [dice.normal(size=LAYOUT.size).astype(np.float32) for _ in range(count)]


def stepped(parameters: Parameters, steps: list[Vector]) -> Vector:
    for gradient in steps:
        parameters.apply([(Gradient(gradient), parameters.version)])
    return parameters.theta


def kept(path: Path, parameters: Parameters) -> SavedModel:
    model = SavedModel(
        parameters.snapshot(), parameters.version, LAYOUT, parameters.optimizer_state()
    )
    saved_model.write(path, model)
    return saved_model.read(path, LAYOUT)


@pytest.mark.parametrize("optimizer", [SGD(), Momentum(), Adam(), Sign()])
def test_a_saved_server_goes_on_to_the_bit(tmp_path: Path, optimizer: AnyOptimizer) -> None:
    first, then = gradients(70, 1), gradients(70, 2)  # past a flush of tiny values
    going_on = made(optimizer)
    stepped(going_on, first)
    saved = kept(tmp_path / "model.npz", going_on)
    assert (saved.version, saved.layout) == (70, LAYOUT)
    resumed = made(optimizer, saved)
    assert resumed.version == 0
    assert stepped(resumed, then).tobytes() == stepped(going_on, then).tobytes()


def test_the_state_of_another_optimizer_is_not_used(tmp_path: Path) -> None:
    before = made(Adam())
    stepped(before, gradients(5, 1))
    saved = kept(tmp_path / "model.npz", before)
    fresh = made(Momentum(), SavedModel(saved.theta, 0, LAYOUT))
    steps = gradients(5, 2)
    assert np.array_equal(stepped(made(Momentum(), saved), steps), stepped(fresh, steps))


def test_a_file_without_an_optimizer_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    saved_model.write(path, SavedModel(np.ones(8, np.float32), 3, LAYOUT))
    assert saved_model.read(path, LAYOUT).optimizer is None


def members(**changes: Any) -> dict[str, Any]:
    layout = np.frombuffer(b"[]", np.uint8)
    good = {"theta": np.ones(0, np.float32), "version": np.int64(1), "layout": layout}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"theta": None}, "theta: is missing, so this is no model that a run has saved"),
        ({"theta": np.ones(3, np.float32)}, r"theta: float32\[3\], and float32\[0\] was expected"),
        ({"theta": np.ones(0)}, r"theta: float64\[0\], and float32\[0\] was expected"),
        ({"theta": np.ones(9999, np.float32)}, "theta: more than the 0 bytes expected"),
        ({"theta": np.array([{}], dtype=object)}, "theta: "),
        ({"version": np.int64(-1)}, "version: a number below zero"),
        (
            {"version": np.int64(2**63 - 1)},
            "version: 9,223,372,036,854,775,807, and at most 1,000,000,000,000,000 was expected",
        ),
        (
            {
                "optimizer": np.frombuffer(b'"adam"', np.uint8),
                "optimizer.steps": np.array([2**63 - 1]),
            },
            "optimizer.steps: 9,223,372,036,854,775,807, and at most",
        ),
        ({"version": np.ones(1)}, r"version: float64\[1\], and int64\[\] was expected"),
        ({"layout": np.frombuffer(b"{", np.uint8)}, "layout: not JSON"),
        ({"layout": np.frombuffer(b"7", np.uint8)}, "layout: a list of variables was expected"),
        (
            {"layout": np.frombuffer(b'[{"name":"w","shape":[1]}]', np.uint8)},
            "it has 1 variables, and 0 parameters in 0 variables were expected",
        ),
        ({"optimizer": np.frombuffer(b"7", np.uint8)}, "optimizer: the kind of the optimizer"),
        (
            {"optimizer": np.frombuffer(b'"sgd"', np.uint8), "optimizer.x": np.ones(2)},
            r"optimizer.x: float64\[2\]",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "odd.npz"
    np.savez(path, **members(**changes))
    with pytest.raises(ValueError, match=message):
        saved_model.read(path, Layout(()))


def test_a_model_that_diverged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nan.npz"
    saved_model.write(path, SavedModel(np.full(8, np.nan, np.float32), 1, LAYOUT))
    with pytest.raises(ValueError, match="theta: holds numbers that are not finite"):
        saved_model.read(path, LAYOUT)


@pytest.mark.parametrize("content", [b"", b"PK", b"text"])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no npz file"):
        saved_model.read(path, LAYOUT)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [(8, 99, "compression method is not supported"), (6, 1, "is encrypted")],
)
def test_an_archive_that_cannot_be_unpacked_is_refused(
    tmp_path: Path, field: int, value: int, message: str
) -> None:
    path = tmp_path / "odd.npz"
    np.savez(path, **members())
    content = bytearray(path.read_bytes())
    # the local header of the first member, and its central one, which has two bytes more before
    for begin in (content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02") + 2):
        content[begin + field] = value
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"is no npz file: .*{message}"):
        saved_model.read(path, Layout(()))


def test_a_header_that_claims_much_sets_no_memory_aside(tmp_path: Path) -> None:
    header = io.BytesIO()
    claim = {"descr": "<f4", "fortran_order": False, "shape": (1 << 50,)}
    np.lib.format.write_array_header_1_0(header, claim)
    path = tmp_path / "claim.npz"
    np.savez(path, **members(theta=None))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("theta.npy", header.getvalue())
    with pytest.raises(ValueError, match="theta: 0 bytes do not fit"):
        saved_model.read(path, Layout(()))


@pytest.mark.parametrize("name", ["speed", "steps"])
def test_a_state_that_does_not_fit_is_refused(name: str) -> None:
    state = made(Momentum()).optimizer_state()
    odd = {**state.arrays, name: np.zeros(3, np.float32)}
    with pytest.raises(ValueError, match=f"{name} is float32\\[3\\], and .* was expected"):
        Momentum().start(LAYOUT.size, 0.1).restore(odd)
    with pytest.raises(ValueError, match=r"the state holds no arrays, and speed, steps was"):
        Momentum().start(LAYOUT.size, 0.1).restore({})
