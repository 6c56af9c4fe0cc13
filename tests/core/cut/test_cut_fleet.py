"""Fleets with a cut model: the training of an uncut one, and nobody waits for ever."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

from emulator.core import assembly
from emulator.core.plan import Cut
from emulator.core.wire.messages import Hello
from emulator.core.zmtp import Form
from emulator.learning.learners.numpy import NumpyLearner
from emulator.synchronization import (
    AnySynchronization,
    Asynchronous,
    Barrier,
    Bounded,
    ComputeGroups,
)
from tests.fakes.core.cut_fleet import MODEL, CutFleet, cut_plan, examples

GROUPS = (("n0", "n1"), ("n2", "n3"))
POLICIES: dict[str, tuple[AnySynchronization, Any]] = {
    "barrier": (Barrier(), ()),
    "groups": (ComputeGroups(2), GROUPS),
    "asynchronous": (Asynchronous(), ()),
    "bounded": (Bounded(1), ()),
}


def fleet(policy: str, labels: str, seed: int = 0, **options: Any) -> CutFleet:
    synchronization, groups = POLICIES[policy]
    cut = Cut(1, labels, options.pop("values", "f32"))
    return CutFleet(cut_plan(synchronization, cut, nodes=4, groups=groups, **options), seed)


# -- the same training -----------------------------------------------------------------------------


@pytest.mark.mostly_slow(quick=3)
@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize("labels", ["sent", "local"])
@pytest.mark.parametrize("seed", [0, 1])
def test_behind_a_barrier_a_cut_changes_nothing_but_rounding(
    layer: int, labels: str, seed: int
) -> None:
    cut = CutFleet(cut_plan(Barrier(), Cut(layer, labels)), seed)
    cut.play()
    theta, losses = uncut(cut_plan(Barrier(), None), steps=20)
    assert cut.server.version == cut.state.version == 60
    np.testing.assert_allclose(cut.server.model.snapshot(), theta, atol=2e-6)
    said = {(record["node"], record["version"]): record for record in cut.said("activations")}
    assert len(said) == 60
    assert {record["staleness"] for record in said.values()} == {0}
    for step, of_nodes in enumerate(losses):
        for node, loss in of_nodes.items():
            assert said[node, 3 * step]["loss"] == pytest.approx(loss, rel=1e-5)
    assert losses[-1]["n0"] < losses[0]["n0"] / 1.2


def uncut(plan: Any, steps: int) -> tuple[Any, list[dict[str, float]]]:
    """Return the model after synchronous steps without a cut, and each step's losses."""
    learner, parameters = NumpyLearner(MODEL.layout), assembly.parameters(plan)
    parts = assembly.WorkerAssembly(plan.worker, MODEL.layout)
    batches = {node: parts.batches(node, 0, examples(int(node[1:]))) for node in plan.workers}
    theta, losses = parameters.theta.copy(), []
    for _ in range(steps):
        results = {node: learner.gradient(theta, *next(own)) for node, own in batches.items()}
        theta -= plan.learning_rate * np.mean([gradient for gradient, _ in results.values()], 0)
        losses.append({node: loss for node, (_, loss) in results.items()})
    return theta, losses


def test_half_precision_at_the_cut_trains_nearly_as_well() -> None:
    half, whole = fleet("barrier", "sent", values="f16"), fleet("barrier", "sent")
    for run in (half, whole):
        run.play()
    losses = [np.mean([r["loss"] for r in run.said("activations")[-8:]]) for run in (half, whole)]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
    up = [sum(record["up"] for record in run.said("activations")) for run in (half, whole)]
    assert 0.5 < up[0] / up[1] < 0.52


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("labels", ["sent", "local"])
def test_staleness_at_the_server_is_as_counted(policy: str, labels: str) -> None:
    run = fleet(policy, labels, seed=3)
    run.play()
    stale = [record["staleness"] for record in run.said("activations")]
    if labels == "sent" or policy == "barrier":
        assert set(stale) == {0}
    else:
        assert 0 < max(stale) <= 16 and min(stale) == 0
    assert len(stale) == run.state.version


@pytest.mark.parametrize("labels", ["sent", "local"])
@pytest.mark.parametrize("encrypted", [False, True])
def test_the_bytes_in_the_log_are_those_of_the_messages(labels: str, encrypted: bool) -> None:
    run = fleet("barrier", labels, form=Form(encrypted))
    run.play()
    for way, size in run.bytes.items():
        assert sum(record[way] for record in run.said("activations")) == size
    rows, crossing = 6, 128
    values = rows * crossing * 4
    logits = rows * 10 * 4
    up, down = (values + rows * 4, values) if labels == "sent" else (values + logits,) * 2
    for record in run.said("activations"):
        assert record["rows"] == rows
        assert 0 < record["up"] - up < 250 and 0 < record["down"] - down < 250


def test_a_server_part_that_overflows_moves_nothing_and_the_run_ends_as_diverged() -> None:
    run = fleet("barrier", "sent")
    run.state.theta[:] = np.float32(3e38)
    run.play()
    assert run.server.ended is not None and run.server.ended.reason == "diverged"
    assert run.server.version == run.state.version == 0
    assert {record["loss"] for record in run.said("activations")} == {None}


def test_unequal_batches_weigh_by_their_examples() -> None:
    """Two devices with 2 and 6 examples make the step of one with these 8."""
    sizes = {"n0": 2, "n1": 6}
    plan = cut_plan(
        ComputeGroups(1),
        Cut(1),
        nodes=2,
        batch=8,
        groups=(("n0", "n1"),),
        batch_sizes=sizes,
        updates=2,
    )
    run = CutFleet(plan)
    run.play()
    learner = NumpyLearner(MODEL.layout)
    theta = assembly.parameters(cut_plan(Barrier(), None)).theta
    parts = [run.parts.batches(node, 0, examples(int(node[1:]))) for node in sizes]
    x, y = map(np.concatenate, zip(*map(next, parts), strict=True))
    expected = theta - np.float32(0.2) * learner.gradient(theta, x, y)[0]
    np.testing.assert_allclose(run.server.model.snapshot(), expected, atol=1e-6)


# -- faults ----------------------------------------------------------------------------------------

FAULTS = ("kill", "boot", "reconnect", "lose_answers", "hello", "again", "wait")


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("labels", ["sent", "local"])
@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 150), marks=pytest.mark.thorough)]
)
def test_no_fault_makes_anybody_wait_for_ever(policy: str, labels: str, seeds: range) -> None:
    for seed in seeds:
        chaos(policy, labels, seed)


def chaos(policy: str, labels: str, seed: int) -> None:
    """Play with faults, then without, to an end."""
    run, dice = fleet(policy, labels, seed, updates=10**6), Random(seed)
    for _ in range(300):
        run.step()
        check(run)
        if dice.random() < 0.1:
            strike(run, dice)
            check(run)
    for node in run.plan.workers:
        if node not in run.devices and dice.random() < 0.8:
            run.boot(node)
    if not run.devices:
        run.boot("n0")
    before, began = run.server.version, run.now
    run.server._stop = type(run.server._stop)(updates=before + 40)
    run.play()
    # the patience for a dead member, and a time-out of a lost answer; once each
    assert run.now - began < 100
    assert counted(run) and not memory(run)


def strike(run: CutFleet, dice: Random) -> None:
    node, fault = dice.choice(run.plan.workers), dice.choice(FAULTS)
    if fault == "wait":
        run.now += dice.choice([1.0, 20.0, 70.0])
    elif fault == "boot" or node not in run.devices:
        run.boot(node)
    elif fault == "again":
        for sent in run.accepted[-5:]:
            assert not run.serve(sent.node, sent)
    elif fault == "hello":
        run.serve(node, Hello(node, 0))
    else:
        getattr(run, fault)(node)


def check(run: CutFleet) -> None:
    phases = run.exchange._phases
    assert len(phases) <= len(run.plan.workers)
    assert len(memory(run)) <= len(run.plan.workers)
    assert counted(run)


def memory(run: CutFleet) -> list[str]:
    """Return the devices whose activations are kept."""
    gate, rounds = run.exchange._gate, run.exchange._rounds
    waiting = {node for group in set(gate._group.values()) for node in group.arrived}
    answering = set(rounds._round)
    assert not waiting & answering
    names = {"waits for its group": waiting, "has logits": answering}
    for name, nodes in names.items():
        phases = run.exchange._phases
        assert nodes == {node for node, phase in phases.items() if phase.name == name}
    return sorted(waiting | answering)


def counted(run: CutFleet) -> bool:
    """Return whether every accepted message has at most an answer, and every answer a record."""
    accepted = {(sent.node, sent.ticket) for sent in run.accepted}
    assert len(accepted) == len(run.accepted)
    assert max(Counter(run.answered).values(), default=1) == 1
    assert set(run.answered) <= accepted
    return len(run.answered) == run.state.version
