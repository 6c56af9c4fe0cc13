"""The compute groups of a scenario: who is with whom, and the examples of each device."""

from dataclasses import replace

import numpy as np
import pytest

from emulator.core.assembly import WorkerAssembly, synchronizer
from emulator.core.plan import WorkerPlan
from emulator.costs.compute_groups import compute_groups, dealt_batches, dealt_sizes
from emulator.costs.computing_times import measured_sizes, timed
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners.batches import per_epoch
from emulator.learning.learners.local_training import LocalTraining
from emulator.learning.models import find
from emulator.runs.planning import plan
from emulator.scenario import Scenario
from emulator.units import Seconds
from emulator.world.laws import LogNormal
from tests.fakes.made_up_calibration import FOUND
from tests.fakes.small_scenario import small

EXAMPLES = Examples(np.zeros((50, 8, 8), np.uint8), np.arange(50, dtype=np.uint8) % 10, 16)
FLEET = (
    "devices:\n  - name: one\n  - {name: pair, count: 2}\n",
    "devices:\n"
    "  - {name: slow, count: 2, profile: {cpu: 10%}}\n"
    "  - {name: far, link: {up: {rate: 1mbit}}}\n"
    "  - {name: quick, count: 4}\n",
)


def grouped(settings: str, *more: tuple[str, str], batch: int = 10) -> Scenario:
    training = (
        f"codec: dense\n  batch_size: {batch}\n  synchronization: {{kind: groups, {settings}}}"
    )
    return small(("algorithm: asgd", training), FLEET, *more)


def test_consecutive_devices_form_groups() -> None:
    assert compute_groups(grouped("groups: 3")) == (
        ("slow-0", "slow-1", "far"),
        ("quick-0", "quick-1"),
        ("quick-2", "quick-3"),
    )
    assert compute_groups(small()) == ()


def test_devices_as_fast_as_each_other_form_groups() -> None:
    """An update over the slow link takes longer than a mini-batch on a tenth of a core."""
    groups = compute_groups(grouped("groups: 3, assign: speed"))
    assert groups == (
        ("quick-0", "quick-1", "quick-2"),
        ("quick-3", "slow-0"),
        ("slow-1", "far"),
    )
    # a network that is all computing, and a codec that sends little
    heavy = compute_groups(grouped("groups: 3, assign: speed", batch=100_000))
    assert heavy[-1] == ("slow-0", "slow-1")


def test_of_a_cut_model_the_devices_part_counts() -> None:
    """The whole model is all computing; the device's part computes little and sends activations."""
    cnn = ("dataset: digits\n  model: digits-mlp", "dataset: mnist\n  model: mnist-cnn")
    link = ("rate: 1mbit", "rate: 10mbit")
    settings = "groups: 7, assign: speed"
    whole = grouped(settings, cnn, link, batch=1000)
    assert compute_groups(whole)[-1] == ("slow-1",)
    merged = ("stop:", "  fully_connected: {place: server}\nstop:")
    assert compute_groups(grouped(settings, cnn, link, merged, batch=1000))[-1] == ("far",)


def test_the_first_members_get_the_rest_of_a_mini_batch() -> None:
    scenario = grouped("groups: 3")
    assert dealt_batches(scenario) == {
        "slow-0": 4,
        "slow-1": 3,
        "far": 3,
        **dict.fromkeys(("quick-0", "quick-1", "quick-2", "quick-3"), 5),
    }
    assert dealt_sizes(scenario) == [5, 4, 3]
    assert (dealt_batches(small()), dealt_sizes(small())) == ({}, [10])


def test_the_plan_holds_groups_and_what_differs() -> None:
    planned = plan(grouped("groups: 3"), None)
    assert planned.groups == compute_groups(grouped("groups: 3"))
    assert planned.worker.batch_of("slow-0") == 4
    alone = plan(grouped("groups: 7"), None)
    assert (alone.worker.batch_sizes, alone.worker.batch_of("far")) == ({}, 10)
    assert plan(small(), None).groups == ()
    weights = synchronizer(planned).weights
    assert weights is not None and weights["slow-0"] == 4 and weights["quick-0"] == 5
    assert synchronizer(plan(grouped("groups: 2", batch=12), None)).weights is None


def test_a_device_is_told_its_own_mini_batch_only() -> None:
    worker = plan(grouped("groups: 3"), None).worker
    assert (worker.of("slow-0").batch_size, worker.of("slow-0").batch_sizes) == (4, {})


def test_batches_and_epochs_are_of_the_dealt_size() -> None:
    worker = WorkerPlan(0, 10, {"kind": "dense"}, batch_sizes={"a": 3})
    assembly = WorkerAssembly(worker, find("digits-mlp").layout)
    for device, size in (("a", 3), ("b", 10)):
        batches = assembly.batches(device, 0, EXAMPLES)
        assert len(next(batches)[0]) == size
        assert per_epoch(batches, LocalTraining(1.0)) == len(EXAMPLES) // size


def test_a_whole_step_is_shared_and_measured_sizes_go_before() -> None:
    virtual = "name: small\nvirtual: {step: 20ms, dealt: [{examples: 4, step: 15ms}]}"
    scenario = grouped("groups: 3", ("name: small", virtual))
    times = [scenario.virtual.time_of(size, 10).mean for size in (5, 4, 3)]
    assert times == pytest.approx([0.010, 0.015, 0.006])
    assert measured_sizes(scenario) == [5], "only the boot is open"


def test_every_dealt_size_is_measured() -> None:
    scenario = grouped("groups: 3")
    assert measured_sizes(scenario) == [5, 4, 3]
    laws = {size: LogNormal((Seconds(size**0.5 / 100), 0.1)) for size in (5, 4, 3)}
    measured = [replace(FOUND, batch_size=size, step=law) for size, law in laws.items()]
    virtual = timed(scenario, measured).virtual
    for size, law in laws.items():
        assert virtual.time_of(size, 10).mean == pytest.approx(law.mean)
    assert virtual.boot == FOUND.boot and virtual.serve == FOUND.serve
    # one size only: nothing but `step`, of which each device takes its share
    even = timed(grouped("groups: 2", batch=28), measured[:1]).virtual
    assert even.dealt is None
