"""The two parts of a cut model, made from a plan, and read together as the whole model."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from emulator.core import assembly
from emulator.core.plan import Cut, Plan
from emulator.core.server.parameters import JoinedState
from emulator.learning import models
from emulator.learning.learners.numpy import NumpyServer
from emulator.learning.models import saved_model
from emulator.node.part.server_chores import save
from emulator.synchronization import Asynchronous, Barrier, Bounded, ComputeGroups
from emulator.vectors import Gradient
from tests.fakes.core.cut_fleet import MODEL, CutFleet, cut_plan

CUT = Cut(2)
SIZE = MODEL.layout.size
BEFORE = MODEL.layout.place((1, 2)).stop
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"kind": "sgd"},
    "momentum": {"kind": "momentum", "momentum": 0.9},
    "adam": {"kind": "adam"},
}


def test_a_plan_with_a_cut_survives_json() -> None:
    plan = cut_plan(Barrier(), Cut(2, "local", "f16"))
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


def test_both_parts_begin_as_the_whole_model() -> None:
    plan = cut_plan(Barrier(), CUT)
    devices, server = assembly.parameters(plan), assembly.server_parameters(plan)
    whole = MODEL.initial(plan.worker.seed)
    assert (devices.theta.size, server.theta.size) == (BEFORE, SIZE - BEFORE)
    assert np.array_equal(JoinedState(devices, server).snapshot(), whole)


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_saved_cut_model_goes_on_with_and_without_the_cut(
    optimizer: dict[str, Any], tmp_path: Path
) -> None:
    plans = [cut_plan(Barrier(), cut, optimizer=optimizer) for cut in (CUT, None)]
    parts = [assembly.parameters(plans[0]), assembly.server_parameters(plans[0])]
    whole = assembly.parameters(plans[1])
    dice = np.random.default_rng(3)
    step(parts, whole, dice)
    save(tmp_path / "cut.npz", JoinedState(*parts), MODEL.layout)
    save(tmp_path / "whole.npz", whole, MODEL.layout)
    contents = [(tmp_path / name).read_bytes() for name in ("cut.npz", "whole.npz")]
    assert contents[0] == contents[1]
    saved = saved_model.read(tmp_path / "cut.npz", MODEL.layout)
    parts = [make(plans[0], saved) for make in (assembly.parameters, assembly.server_parameters)]
    whole = assembly.parameters(plans[1], saved)
    step(parts, whole, dice)
    assert JoinedState(*parts).snapshot().tobytes() == whole.snapshot().tobytes()


def step(parts: Any, whole: Any, dice: np.random.Generator) -> None:
    """Step along one gradient, the parts along its slices."""
    gradient = dice.normal(size=SIZE).astype(np.float32)
    whole.apply([(Gradient(gradient), whole.version)])
    for part, values in zip(parts, np.split(gradient, [BEFORE]), strict=True):
        part.apply([(Gradient(values), part.version)])


GROUPS = (("n0", "n1"), ("n2",))


@pytest.mark.parametrize(
    ("synchronization", "groups", "together", "patience"),
    [
        (Barrier(patience=7), (), [{"n0", "n1", "n2"}], 7),
        (ComputeGroups(2, patience=7), GROUPS, [{"n0", "n1"}, {"n2"}], 7),
        (ComputeGroups(3, patience=7), (("n0",), ("n1",), ("n2",)), [], 7),
        (Bounded(patience=7), (), [], 7),
        (Asynchronous(), (), [], 60),
    ],
    ids=["barrier", "groups", "as many groups as devices", "bounded", "asynchronous"],
)
def test_devices_that_make_steps_together_pass_together(
    synchronization: Any, groups: Any, together: Any, patience: float
) -> None:
    plan = cut_plan(synchronization, CUT, groups=groups)
    part = NumpyServer(MODEL.layout, CUT.layer)
    made = assembly.cut_exchange(plan, part, assembly.server_parameters(plan))
    assert [set(g.members) for g in dict.fromkeys(made._gate._group.values())] == together
    assert made._gate._patience == made._rounds._patience == patience


def test_the_sizes_of_an_example_are_the_model_s() -> None:
    lstm = models.find("char-lstm")
    sizes = assembly.example_sizes(lstm, Cut(2))
    assert (sizes.activations, sizes.labels, sizes.classes) == (50 * 128, 50, 32)
    assert sizes.logits == 50 * 32


def test_the_evaluator_measures_the_whole_model_and_devices_pull_their_part() -> None:
    run = CutFleet(cut_plan(Barrier(), CUT, evaluator=None, updates=6))
    assert run.server.layout.size == run.server.pulled().size == BEFORE
    assert run.server.whole.plain() == MODEL.layout.plain()
    assert run.server.model.snapshot().size == SIZE
    run.play()
    pulled = [record["bytes"] for record in run.said("pull")]
    assert all(4 * BEFORE < size < 4 * BEFORE + 40 for size in pulled)
