"""Containers that pull and push in segments: their plans and the results."""

from typing import NamedTuple

import pytest

from tests.containers.host_pace import judged

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

SCENARIO = """
name: segments
training:
  {dataset: mnist, model: mnist-cnn, codec: dense, modulation: constant, synchronization: barrier,
   batch_size: 128, schedule: SCHEDULE}
evaluate: {every: 1000}
stop: {updates: 70}
devices:
  - name: pi
    count: 2
    link: {up: {rate: 100mbit, setup: 10ms}, down: {rate: 100mbit, setup: 10ms}}
"""
CLOSE = 0.15
"""Share of an iteration's predicted time by which the time itself may differ."""


class LastIteration(NamedTuple):
    """Seconds of the last iteration that a device reported."""

    node: str
    predicted: float
    took: float


def close(found, longer):
    """Return whether the last iterations took about as long as predicted."""
    shares = [last.took / last.predicted for last in found]
    return all(1 - CLOSE < share < (1 + CLOSE) * longer for share in shares)


@pytest.mark.timed
@pytest.mark.parametrize(
    "schedule",
    [
        "{kind: dynacomm, replan: 15}",
        pytest.param("layer-by-layer", marks=pytest.mark.thorough),
    ],
)
def test_a_run_in_segments_goes_as_planned(play, schedule):
    judged(lambda: last_iterations(play(SCENARIO.replace("SCHEDULE", schedule))), close)


def last_iterations(run):
    """Check the plans of a run; return the last iteration of each device."""
    found = []
    assert run.summary["outcome"] == "success"
    assert run.said("refused") == run.said("unsent") == []
    for device in ("pi-0", "pi-1"):
        plans, outcomes = run.said("plan", node=device), run.said("iteration", node=device)
        assert plans[0]["iteration"] == 1 and plans[0]["pull_setup"] == pytest.approx(0.01, rel=0.1)
        assert all(time > 0 for time in plans[0]["forward_times"] + plans[0]["backward_times"])
        assert outcomes and sum(outcome["iterations"] for outcome in outcomes) <= 35
        last = outcomes[-1]
        found.append(LastIteration(device, last["predicted_iteration"], last["t_iteration"]))
    assert any(len(plan["pull"]) > 1 or len(plan["push"]) > 1 for plan in run.said("plan"))
    return found
    dynacomm = [plan for plan in run.said("plan") if plan["kind"] == "dynacomm"]
    if dynacomm:  # the second plan knows the rest of an iteration, too
        assert close(run)
    losses = [record["loss"] for record in run.said("update")]
    assert sum(losses[-10:]) < 0.7 * sum(losses[:10])


ALIKE = """
name: alike
seed: 5
training:
  {dataset: mnist, model: mnist-cnn, codec: dense, modulation: constant, synchronization: barrier,
   batch_size: 32, schedule: SCHEDULE}
evaluate: {every: 1000}
stop: {updates: 20}
devices:
  - name: pi
    count: 2
    profile: {memory: 160MiB}
    link: {up: {rate: 200mbit}, down: {rate: 200mbit}}
"""


@pytest.mark.slow
def test_all_schedules_train_on_the_same_gradients(play_together):
    """To the bit: they change the order of transport, and nothing else. Four runs at once."""
    schedules = ("sequential", "layer-by-layer", "ibatch", "dynacomm")
    runs = play_together(*(ALIKE.replace("SCHEDULE", schedule) for schedule in schedules))
    losses = []
    for run in runs:
        updates = run.said("update")
        losses.append(sorted((each["node"], each["at"], each["loss"]) for each in updates))
    by_node = [[(node, loss) for node, _, loss in run] for run in losses]
    assert len(by_node[0]) == 20
    assert by_node == [by_node[0]] * len(by_node)
