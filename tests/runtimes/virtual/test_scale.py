"""Large fleets in virtual time: memory and time per device, and gradients on all cores."""

import gc
import threading
import time
import tracemalloc
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from emulator.runtimes.virtual.learning.job_pool import Pool
from emulator.runtimes.virtual.play_virtual import play
from emulator.runtimes.virtual.virtual_runtime import VirtualRuntime
from emulator.scenario import Scenario, Timed, loads
from emulator.synchronization.barrier import Lockstep
from tests.fakes.plain_records import read
from tests.fakes.virtual_world import digits

KILOBYTE = 1024

FLEET = """
# How many may wait?
name: fleet
training:
  dataset: digits
  model: digits-mlp
  batch_size: 8
  codec: {kind: topk, keep: 1%}
stop: {time: 40s}
virtual: {learner: none, step: 20ms, boot: 1s}
devices:
  - {name: home, count: 1000, link: cable}
  - {name: cabin, count: 1, link: cable}
"""
WAITING = (
    "training.synchronization={kind: barrier, patience: 60s}",
    "faults=[{kind: partition, nodes: [cabin-0], at: 1ms, lasts: 20s}]",
)
REAL = """
# Does it matter how many cores find the gradients?
name: real
seed: 5
training: {dataset: digits, model: digits-mlp, batch_size: 8, algorithm: adacomp}
evaluate: {every: 60}
stop: {updates: 120}
virtual: {step: {lognormal: [20ms, 0.3]}, boot: 50ms}
devices:
  - {name: adsl, count: 3, link: {up: {rate: 1mbit, delay: 25ms, jitter: 3ms, loss: 0.1%}}}
  - {name: fiber, count: 2, link: fios}
faults:
  - {kind: crash, nodes: [adsl-0], at: 500ms, lasts: 300ms}
  - {kind: partition, nodes: [fiber], at: 800ms, lasts: 400ms}
"""


class Blind:
    """A View that ignores everything."""

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None: ...

    def record(self, record: dict[str, Any]) -> None: ...

    def beat(self, now: float) -> None: ...


def played(runs: Path, devices: int, *overrides: str) -> tuple[Path, dict[str, Any]]:
    with digits():
        count = f"devices[0].count={devices}"
        return play(loads(FLEET, [count, *overrides]), runs, Blind(), cores=1)


# -- memory ----------------------------------------------------------------------------------------


@dataclass
class Look:
    """Numbers from the time when the first fault ends."""

    waiting: int = 0
    allocated: int = 0


@contextmanager
def looking() -> Iterator[Look]:
    """Count memory from the making of devices on, so without the scenario's own objects."""
    look = Look()
    deploy, wait = VirtualRuntime.deploy, VirtualRuntime.wait

    def counted(self: VirtualRuntime, scenario: Scenario, *arguments: Any) -> None:
        assert scenario.nodes  # worked out once, and kept
        gc.collect()
        tracemalloc.start()
        deploy(self, scenario, *arguments)

    def looked(self: VirtualRuntime, until: float) -> bool:
        going_on = wait(self, until)
        if until > 1 and not look.waiting:
            gc.collect()
            look.allocated = tracemalloc.get_traced_memory()[0]
            look.waiting = sum(node.until is not None for node in self.fleet.nodes.values())
            tracemalloc.stop()
            self.cancel()
        return going_on

    with (
        patch.object(VirtualRuntime, "deploy", counted),
        patch.object(VirtualRuntime, "wait", looked),
    ):
        yield look


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "most"), [("20ms", KILOBYTE), ("{exponential: 20ms}", 1.25 * KILOBYTE)]
)
def test_a_device_that_waits_costs_about_a_kilobyte(tmp_path: Path, step: str, most: float) -> None:
    """With coroutine, links, gradient at the barrier, the server's entries for the device, and the
    random stream of its steps, if they are drawn."""
    result = []
    for devices in (500, 4900):
        with looking() as look:
            played(tmp_path, devices, *WAITING, f"virtual.step={step}")
        assert look.waiting == devices + 1
        result.append(look.allocated)
    each = (result[1] - result[0]) / 4400
    print(f"{each:.0f} B for each device that waits")
    assert 100 < each < most


def test_devices_share_what_they_pull(tmp_path: Path) -> None:
    """However many hold a version, it is in memory once."""
    distinct: set[int] = set()
    pulled: list[Any] = []

    def prefetch(self: Any, theta: Any) -> Any:
        distinct.add(theta.__array_interface__["data"][0])
        pulled.append(theta)  # kept, so that no address comes twice
        return inner(self, theta)

    from emulator.runtimes.virtual.learning import prefetching

    inner = prefetching.DevicePrefetcher.prefetch
    lockstep = "training.synchronization={kind: barrier}"
    with patch.object(prefetching.DevicePrefetcher, "prefetch", prefetch):
        played(tmp_path, 40, lockstep, "virtual.learner=numpy", "stop={updates: 123}")
    assert len(pulled) > 120
    assert len(distinct) == len(pulled) // 41


# -- time ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_fleet_of_thousands_is_played(tmp_path: Path) -> None:
    overrides = "stop={updates: 20000}", "virtual.step={exponential: 20ms}"
    folder, summary = played(tmp_path, 5000, *overrides)
    assert summary["updates"] == 20_000
    assert sum(record["what"] == "update" for record in read(folder / "run.jsonl")) == 20_000


@pytest.mark.slow
@pytest.mark.parametrize("devices", [50, 200])
def test_a_step_of_lockstep_asks_each_device_a_few_times(tmp_path: Path, devices: int) -> None:
    """However many there are: asking everybody about everybody would be quadratic."""
    asked, holds = [0], Lockstep.holds

    def counted(self: Any, node: str) -> bool:
        asked[0] += 1
        return holds(self, node)

    with patch.object(Lockstep, "holds", counted):
        _, summary = played(
            tmp_path, devices, "training.synchronization={kind: barrier}", "stop.updates=1500"
        )
    assert summary["updates"] >= 1500
    assert asked[0] < 4 * summary["updates"]


# -- gradients side by side ------------------------------------------------------------------------


@pytest.mark.tensorflow
@pytest.mark.parametrize("algorithm", ["adacomp", "topk with error feedback"])
def test_tensorflows_gradients_do_not_depend_on_the_cores(tmp_path: Path, algorithm: str) -> None:
    codec = "training={dataset: digits, model: digits-mlp, codec: {kind: topk, keep: 2%}, "
    feedback = [] if algorithm == "adacomp" else [codec + "error_feedback: true}"]
    logs = set()
    for cores in (1, 2, 3):
        folder, summary = play(loads(REAL, feedback), tmp_path, Blind(), cores=cores)
        assert summary["outcome"] == "success"
        assert summary["faults_realised"] == 3
        logs.add((folder / "run.jsonl").read_bytes())
    assert len(logs) == 1


def test_a_pool_does_all_in_order_and_with_one_tool_each() -> None:
    pool = Pool([0, 1, 2])
    busy: set[int] = set()

    def work(tool: int) -> int:
        assert tool not in busy
        busy.add(tool)
        time.sleep(0.001)
        busy.remove(tool)
        return tool

    jobs = [pool.submit(work) for _ in range(200)]
    assert {job.result() for job in jobs} == {0, 1, 2}
    failing = pool.submit(lambda tool: 1 // (tool * 0))
    with pytest.raises(ZeroDivisionError):
        failing.result()
    pool.close()


def test_a_signal_amid_a_job_is_not_kept_from_its_owner() -> None:
    """The job's result may never be asked for; then the run would go on despite the signal."""

    def interrupted(tool: int) -> None:
        raise KeyboardInterrupt

    pool = Pool([0])
    pool.submit(interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.help()
    pool.close()


def test_a_signal_as_a_job_ends_reaches_its_owner_and_wakes_who_waits() -> None:
    """The signal comes after the result is stored, and before waiting threads are woken."""
    pool, waiting = Pool([0]), threading.Event()
    job = pool.submit(lambda tool: tool)
    result: list[int] = []

    def wait() -> None:
        waiting.set()
        result.append(job.awaited())

    other = threading.Thread(target=wait, daemon=True)
    other.start()
    assert waiting.wait(10)
    time.sleep(0.05)  # until it waits, which no one can see
    notify, signals = threading.Condition.notify_all, [KeyboardInterrupt]

    def interrupted(condition: threading.Condition) -> None:
        while signals:
            raise signals.pop()
        notify(condition)

    with (
        patch.object(threading.Condition, "notify_all", interrupted),
        pytest.raises(KeyboardInterrupt),
    ):
        pool.help()
    other.join(10)
    assert (result, job.result()) == ([0], 0)
    pool.close()


def test_a_job_that_is_done_holds_no_model() -> None:
    """Two hundred devices' results wait for their turn; their models would be memory."""
    pool = Pool([0])
    model = np.zeros(1000, np.float32)
    gone = weakref.ref(model)
    job = pool.submit(lambda tool, model=model: float(model.sum()))
    del model
    assert gone() is not None
    assert job.result() == 0
    assert gone() is None
    pool.close()
