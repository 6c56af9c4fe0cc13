"""Trajectories: the first steps of a run beside the gradients before them."""

from pathlib import Path

import numpy as np
import pytest

from analysis import read
from analysis.facts.momentum import fit, read_trajectory
from analysis.pages.compare import compare, readable
from analysis.tables import sections
from emulator.checks.preflight import preflight
from emulator.core.server.parameters import Parameters
from emulator.learning.models import find
from emulator.modulation import Constant
from emulator.runtimes.virtual.learning.trajectory import MeasuredState, Sketch
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import loads
from emulator.vectors import Gradient
from tests.fakes.small_scenario import mistakes, small
from tests.fakes.virtual_world import Onlooker, digits, played

KEPT = "measure={momentum: {steps: 50, examples: 20}}"


def state(sketch: Sketch, steps: int) -> tuple[MeasuredState, Parameters]:
    layout = find("digits-softmax").layout
    start = np.linspace(-1, 1, layout.size, dtype=np.float32)
    plain = Parameters(start, 0.5, Constant().start(layout))
    inner = Parameters(start, 0.5, Constant().start(layout))
    return MeasuredState(inner, steps, sketch, lambda theta: 2 * theta), plain


def test_each_step_is_kept_beside_the_gradient_before_it(tmp_path: Path) -> None:
    measured, plain = state(Sketch(650, 650), steps=2)
    rng = np.random.default_rng(0)
    models = [plain.theta.copy()]
    for _ in range(3):
        gradient = Gradient(rng.normal(size=650).astype(np.float32))
        assert measured.apply([(gradient, 0)]) == plain.apply([(gradient, 0)])
        models.append(plain.theta.copy())
    assert np.array_equal(measured.theta, plain.theta) and measured.version == plain.version == 3
    measured.save(tmp_path)
    with np.load(tmp_path / "trajectory.npz") as kept:
        assert kept["versions"].tolist() == [0, 1]  # room for two steps
        assert np.array_equal(kept["changes"], np.diff(models, axis=0)[:2])
        assert np.array_equal(kept["gradients"], 2 * np.array(models[:2]))


def test_a_sketch_is_linear_and_the_same_for_every_run() -> None:
    first, again = Sketch(650, 8), Sketch(650, 8)
    a, b = np.random.default_rng(0).normal(size=(2, 650)).astype(np.float32)
    assert np.array_equal(first(a), again(a)) and first(a).shape == (8,)
    assert first(2 * a - b) == pytest.approx(2 * first(a) - first(b), abs=1e-4)
    # signs are random, so lengths are kept on average
    assert np.linalg.norm(first(a)) == pytest.approx(np.linalg.norm(a), rel=0.6)


@pytest.mark.slow
def test_a_measured_run_has_the_same_records(tmp_path: Path) -> None:
    plain, *_ = played(tmp_path, "stop.updates=80")
    measured, *_ = played(tmp_path, "stop.updates=80", KEPT)
    assert (plain / "run.jsonl").read_bytes() == (measured / "run.jsonl").read_bytes()
    assert not (plain / "trajectory.npz").exists()
    kept = read_trajectory(measured)
    assert kept and kept.changes.shape == (50, 64)


@pytest.mark.parametrize(
    ("override", "key", "reason"),
    [
        ("training.synchronization=fedavg", "training.synchronization", "trained alone"),
        ("training.optimizer=adam", "training.optimizer", "not proportional"),
        ("virtual.learner=none", "virtual.learner", "no gradient"),
    ],
)
def test_a_training_without_steps_along_gradients_is_refused(
    override: str, key: str, reason: str
) -> None:
    mistake = mistakes(overrides=(KEPT, override))[-1]
    assert key in mistake and "measure.momentum" in mistake and reason in mistake


def test_containers_refuse_to_measure() -> None:
    refused = preflight(small(overrides=(KEPT,)), "docker", split_by=lambda _: None).refusals
    assert any("measure.momentum: containers keep no trajectory" in str(why) for why in refused)


@pytest.mark.slow
def test_asynchronous_devices_have_implicit_momentum(tmp_path: Path) -> None:
    """Exponential steps, real gradients of a convex model; η/g = 0.5 for 8 devices."""
    runs = []
    with digits():
        for seed in range(120):
            folder, _ = play(loads(MOMENTUM, [f"seed={seed}"]), tmp_path, Onlooker(), cores=1)
            runs.append(read_trajectory(folder))
    found = fit([run for run in runs if run is not None])
    assert found.momentum == pytest.approx(1 - 1 / 8, abs=0.03)
    assert found.step == pytest.approx(0.5, rel=0.15)


MOMENTUM = """
name: momentum
training: {dataset: digits, model: digits-softmax, codec: dense, learning_rate: 4}
evaluate: {every: 1000}
measure: {momentum: {steps: 200}}
stop: {updates: 200}
virtual: {learner: numpy, step: {exponential: 100ms}, boot: 0s, tcp: false}
devices: [{name: peer, count: 8}]
"""


@pytest.mark.slow
def test_report_and_comparison_set_momentum_beside_theory(tmp_path: Path) -> None:
    runs = []
    for seed in (1, 2):
        text = MOMENTUM.replace("learning_rate: 4", "learning_rate: 4, optimizer: momentum")
        folder, *_ = played(tmp_path, f"seed={seed}", "devices[0].count=4", text=text)
        runs.append(read(folder))
    facts = dict(sections.facts(runs[0]))
    assert "of one run alone" in facts["implicit momentum"]
    assert "1 − 1/g = 0.750 for g = 4" in facts["implicit momentum"]
    assert "with the optimizer's 0.9 in total" in facts["implicit momentum"]
    first, second = compare(runs)["implicit momentum"]
    assert first == second and "alone" not in first
    assert "implicit momentum" in readable(compare(runs)).index
