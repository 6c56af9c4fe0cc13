"""Steps on the model, and the snapshots that are sent while it goes on."""

import numpy as np
import pytest

from emulator.core.server.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.modulation import AnyModulation, Constant, PerParameter, Staleness
from emulator.vectors import Gradient

LAYOUT = Layout((Variable("v", (4,), "dense", 0),))


def parameters(modulation: AnyModulation | None = None, rate: float = 0.5) -> Parameters:
    modulator = (modulation or Constant()).start(LAYOUT)
    return Parameters(np.zeros(4, np.float32), rate, modulator)


def sparse(**entries: float) -> Gradient:
    indices = np.array([int(name[1:]) for name in entries], np.uint32)
    return Gradient(np.array(list(entries.values()), np.float32), indices)


def dense(*values: float) -> Gradient:
    return Gradient(np.array(values, np.float32))


def test_a_step_of_one() -> None:
    model = parameters()
    assert model.apply([(sparse(_1=2, _3=-4), 0)]) == [1]
    assert model.theta.tolist() == [0, -1, 0, 2]
    assert model.apply([(dense(2, 2, 2, 2), 1)]) == [1]
    assert model.theta.tolist() == [-1, -2, -1, 1]
    assert model.version == 2


def test_a_step_of_several_is_their_mean_and_they_are_not_stale_to_each_other() -> None:
    model = parameters(Staleness())
    arrivals = [(dense(4, 0, 0, 0), 0), (sparse(_0=4, _2=8), 0)]
    assert model.apply(arrivals) == [1, 1]
    assert model.theta.tolist() == [-2, 0, -2, 0]
    assert model.version == 2
    assert model.apply([(dense(0, 8, 0, 0), 0)]) == [1]  # the model has changed once
    assert model.theta.tolist() == [-2, -4, -2, 0]
    assert model.apply([(dense(0, 8, 0, 0), 0)]) == [2]
    assert model.theta.tolist() == [-2, -6, -2, 0]


def test_the_mean_divisor_is_reported() -> None:
    model = parameters(PerParameter())
    model.apply([(sparse(_1=1), 0)])
    model.apply([(sparse(_1=1), 0)])
    assert model.apply([(sparse(_0=1, _1=1), 0)]) == [1.5]
    assert model.apply([(sparse(), 0)]) == [1]


def test_a_snapshot_is_shared_until_the_next_step_and_never_changes() -> None:
    model = parameters()
    first = model.snapshot()
    assert model.snapshot() is first
    assert not first.flags.writeable
    part = memoryview(first)
    model.apply([(sparse(_1=2), 0)])
    assert first.tolist() == part.tolist() == [0, 0, 0, 0]
    second = model.snapshot()
    assert second.tolist() == [0, -1, 0, 0]
    model.apply([(dense(2, 2, 2, 2), 1)])
    assert second.tolist() == [0, -1, 0, 0]


def test_a_version_that_nobody_pulled_is_not_copied() -> None:
    model = parameters()
    where = model.theta
    model.apply([(sparse(_1=2), 0)])
    model.apply([(dense(1, 1, 1, 1), 0)])
    assert model.theta is where


def test_the_initial_model_stays_as_it_was() -> None:
    initial = np.ones(4, np.float32)
    Parameters(initial, 1.0, Constant().start(LAYOUT)).apply([(dense(1, 1, 1, 1), 0)])
    assert initial.tolist() == [1, 1, 1, 1]


def test_a_gradient_that_overflows_the_model_does_not_stop_the_server() -> None:
    model = parameters(rate=10.0)
    model.apply([(dense(3e38, 0, 0, 0), 0)])
    model.apply([(sparse(_0=3e38), 1)])
    assert model.version == 2


@pytest.mark.parametrize("modulation", [Constant(), Staleness(), PerParameter()])
def test_a_restored_server_counts_on(modulation: AnyModulation) -> None:
    modulator = modulation.start(LAYOUT, version=7)
    model = Parameters(np.zeros(4, np.float32), 1.0, modulator, version=7)
    assert model.oldest <= 7
    assert model.apply([(sparse(_0=1), 7)]) == [1]
    assert model.version == 8
