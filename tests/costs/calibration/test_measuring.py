"""What a step, a boot and the server take is measured: on a worker in a process of its own."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emulator.codecs import AnyCodec, Dense
from emulator.costs.calibration import measuring, step_meter, worker_bench
from emulator.costs.calibration.record import described, rounded
from emulator.errors import HostError
from emulator.units import Seconds
from emulator.world.laws import LogNormal
from tests.costs.calibration.numpy_worker import NUMPY
from tests.fakes.made_up_calibration import CODEC, FOUND
from tests.fakes.plain_records import full
from tests.layers import ROOT

pytestmark = pytest.mark.usefixtures("calibration_cache")


def test_the_law_is_that_of_the_middle_half() -> None:
    rng = np.random.default_rng(0)
    steps = (0.004 * np.exp(0.08 * rng.standard_normal(4000))).tolist()
    law = step_meter.law([*steps, *[10.0] * 40])
    assert law.lognormal[0] == pytest.approx(0.004, rel=0.02)
    assert law.lognormal[1] == pytest.approx(0.08, rel=0.08)
    assert str(Seconds(rounded(0.00406123))) == "4.06ms"
    assert step_meter.law([0.004] * 9) == LogNormal((Seconds(0.004), 1e-3))


@pytest.mark.slow
def test_a_processs_cpu_time_is_its_own() -> None:
    assert worker_bench.cpu_time(os.getpid()) == pytest.approx(time.process_time(), abs=0.05)
    with child("sum(range(10**7)); os.write(channel, b'.')") as busy:
        assert busy.stdout
        busy.stdout.read(1)
        clock = worker_bench.clock(busy)
        assert 0.05 < clock() < 5.0
        time.sleep(0.2)  # in which it waits
        rested = clock()
        time.sleep(0.2)
        assert clock() < rested + 0.05


def test_a_process_tells_its_cpu_time_where_no_clock_does() -> None:
    with child("sum(range(10**7)); os.write(channel, b'.')") as busy:
        assert busy.stdout
        busy.stdout.read(1)
        result, actual = worker_bench.asked(busy), worker_bench.cpu_time(busy.pid)
        assert 0.05 < result <= actual < result + 0.05


def test_a_process_that_is_gone_tells_no_time() -> None:
    with child("os._exit(0)") as gone:
        gone.wait()
        with pytest.raises(HostError, match="the worker that was to be measured ended"):
            worker_bench.asked(gone)


@contextmanager
def child(code: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that runs `code`, and then waits for the end of its standard input."""
    command = [sys.executable, "-c", f"{worker_bench.CHILD}\n{code}\ntime.sleep(60)"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_meter_leaves_the_first_steps_out(monkeypatch: pytest.MonkeyPatch) -> None:
    cold = [0.5, 0.7, *[0.71] * (step_meter.WARM - 1)]
    times = iter([*cold, *(1.0 + 0.25 * step for step in range(step_meter.STEPS + 1))])
    monkeypatch.setattr(step_meter, "REST", 0.0)
    meter = step_meter.StepMeter(0, clock=lambda: next(times))
    meter.note(full({"at": 0.0, "what": "hello"}))
    meter.note(full({"at": 0.0, "what": "start"}))
    while not meter.full:
        meter.note(full({"at": 0.0, "what": "pull"}))
        meter.note(full({"at": 0.0, "what": "update"}))
    assert meter.readings[0] == 0.5
    assert meter.steps == [0.25] * step_meter.STEPS


def test_a_worker_has_a_containers_environment() -> None:
    text = (ROOT / "images" / "node" / "Dockerfile").read_text()
    given = dict(re.findall(r"([A-Z_]+)=(\S+)", text))
    assert {name: given.get(name) for name in worker_bench.ENVIRONMENT} == worker_bench.ENVIRONMENT
    threads = {name for name in given if name.endswith("THREADS") or name.startswith("MALLOC")}
    assert threads <= worker_bench.ENVIRONMENT.keys()


@pytest.fixture
def by_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host without TensorFlow: NumPy computes the gradients."""
    monkeypatch.setattr(measuring, "ready", lambda model, seed: tmp_path)
    monkeypatch.setattr(worker_bench, "_WORKER", NUMPY + worker_bench._WORKER)


@pytest.mark.slow
@pytest.mark.usefixtures("by_numpy")
@pytest.mark.parametrize(
    "codec, feedback",
    [
        (CODEC, True),
        pytest.param(CODEC, False, marks=pytest.mark.slow),
        pytest.param(Dense(), False, marks=pytest.mark.slow),
    ],
)
def test_a_worker_is_measured(
    codec: AnyCodec, feedback: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "WORKERS", 1)
    monkeypatch.setattr(step_meter, "REST", 0.0)
    monkeypatch.setattr(worker_bench.tempfile, "tempdir", str(tmp_path))
    result: list[str] = []
    actual = measuring.measure("digits-mlp", 32, codec, result.append, error_feedback=feedback)
    assert (actual.host, actual.model, actual.batch_size) == ("here", "digits-mlp", 32)
    assert actual.codec == described(codec, feedback)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", actual.date)
    assert 5e-5 < actual.step.lognormal[0] < 0.05 < actual.boot.fixed < 20
    assert 1e-3 <= actual.step.lognormal[1] < 2
    assert 2e-5 < actual.serve.fixed < 0.05
    assert result == ["graphs", "calibrating digits-mlp, batch 32: a few seconds"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("by_numpy")
def test_a_worker_is_measured_while_other_things_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "SELDOM", 0.01)
    monkeypatch.setattr(worker_bench.tempfile, "tempdir", str(tmp_path))
    with measuring.alongside("digits-mlp", 32, CODEC, 1e-4) as meter:
        wait_for(lambda: len(meter.steps) >= step_meter.FEW)
    result = meter.refined(FOUND)
    assert 5e-5 < result.step.lognormal[0] < 0.05
    assert 2e-5 < result.serve.fixed < 0.05
    assert result.boot == FOUND.boot
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("step", "rest"), [(0.01, 0.2), (0.08, 1.52)])
def test_a_worker_beside_a_run_leaves_the_cores_to_the_run(
    monkeypatch: pytest.MonkeyPatch, step: float, rest: float
) -> None:
    """Forty devices on two cores, and a step of 80 ms: five a second would take a fifth of both."""
    played = list[float]()

    @contextmanager
    def bench(*what: object) -> Iterator[Any]:
        yield SimpleNamespace(play=lambda meter: played.append(meter.rest))

    monkeypatch.setattr(measuring, "ready", lambda model, seed: Path())
    monkeypatch.setattr(measuring, "bench", bench)
    with measuring.alongside("digits-mlp", 32, CODEC, step):
        pass
    assert played == [pytest.approx(rest)]


@pytest.mark.slow
@pytest.mark.usefixtures("by_numpy")
def test_other_things_may_be_too_short_to_measure_by() -> None:
    with measuring.alongside("digits-mlp", 32, CODEC, 1e-4) as meter:
        pass
    assert meter.refined(FOUND) == FOUND


@pytest.mark.slow
def test_other_things_are_not_kept_from_failing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "ready", lambda model, seed: tmp_path)
    monkeypatch.setattr(worker_bench, "_WORKER", "raise SystemExit('no such library')")
    looked, check = threading.Event(), worker_bench._check

    def looking(*what: Any) -> None:
        try:
            check(*what)
        finally:
            looked.set()

    monkeypatch.setattr(worker_bench, "_check", looking)
    with (
        pytest.raises(HostError, match=r"\(failed\):\nno such library"),
        measuring.alongside("digits-mlp", 10, CODEC, 1e-4),
    ):
        assert looked.wait(20)


def test_a_worker_that_ends_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "ready", lambda model, seed: tmp_path)
    monkeypatch.setattr(worker_bench, "_WORKER", "raise SystemExit('no such library')")
    with pytest.raises(HostError, match=r"cannot calibrate: .* \(failed\):\nno such library"):
        measuring.measure("digits-mlp", 10, CODEC, lambda step: None)


ENDLESS = """
import sys
from pathlib import Path
from emulator.costs.calibration import measuring, step_meter, worker_bench
from tests.fakes.made_up_calibration import CODEC
from tests.costs.calibration.numpy_worker import NUMPY
measuring.exported = Path
step_meter.STEPS, step_meter.SPAN = 10**9, 1e9
worker_bench._WORKER = NUMPY + worker_bench._WORKER
measuring.measure("digits-mlp", 10, CODEC, lambda step: None)
"""


@pytest.mark.slow
def test_a_worker_outlives_nobody(tmp_path: Path) -> None:
    """Not even one who was shot, and could clean up nothing."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", ENDLESS], cwd=ROOT, env=environment) as measuring:
        children = Path(f"/proc/{measuring.pid}/task/{measuring.pid}/children")
        try:
            worker = wait_for(lambda: children.read_text().split())[0]
        finally:
            measuring.kill()
    try:
        wait_for(lambda: not alive(worker))
    finally:
        with suppress(ProcessLookupError):
            os.kill(int(worker), signal.SIGKILL)


def alive(process: str) -> bool:
    """Not gone, nor waiting for its parent to notice."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except OSError:
        return False


def wait_for(what: Callable[[], Any]) -> Any:
    until = time.monotonic() + 20
    while not (result := what()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return result


def test_an_unknown_model() -> None:
    with pytest.raises(ValueError, match="did you mean 'digits-mlp'"):
        measuring.measure("digits-mpl", 10, CODEC, lambda step: None)


@pytest.mark.tensorflow
@pytest.mark.thorough
def test_a_larger_batch_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the graphs that are there may serve
    small, large = (
        measuring.measure("mnist-cnn", size, CODEC, lambda step: None) for size in (10, 32)
    )
    assert 1e-3 < small.step.lognormal[0] < large.step.lognormal[0] < 0.1
    assert 0.1 < small.boot.fixed < 10
