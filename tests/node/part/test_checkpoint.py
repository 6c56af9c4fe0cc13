"""Checkpoints of the server: at their time, of one version, and beside the server's work."""

import io
import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emulator import modulation, optimizers, plugins
from emulator.codecs import TopK
from emulator.core.plan import Durability, Plan, WorkerPlan
from emulator.core.server.parameters import Parameters
from emulator.core.zmtp import Form, Heartbeat
from emulator.layout import Layout, Variable
from emulator.learning import models
from emulator.learning.models import saved_model
from emulator.log.lines import RunLog, read
from emulator.node.config import ServerRole
from emulator.node.part import server_role
from emulator.node.part.server_chores import Checkpoints
from emulator.transport.secrets import issue
from emulator.units import Fraction
from emulator.vectors import Gradient
from emulator.world.stop_conditions import Stop
from tests.fakes.node.durable_process import fleet, free_port

LAYOUT = Layout((Variable("w", (1000,), "dense", 0),))
WRITE = saved_model.write


class SlowDisk:
    """A writer of models that begins to write once `free` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: list[int] = []
        """Versions that the writer has been given."""
        self.free = threading.Event()
        self.error: OSError | None = None
        monkeypatch.setattr(saved_model, "write", self._write)

    def _write(self, path: Path, model: Any) -> None:
        self.begun.append(model.version)
        assert self.free.wait(20)
        if self.error:
            raise self.error
        WRITE(path, model)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    return SlowDisk(monkeypatch)


class World:
    """A server's model that Adam trains, with a checkpoint a second of the run's 100th second."""

    def __init__(self, path: Path, thread: ThreadPoolExecutor | None) -> None:
        self.path, self.sink = path, io.BytesIO()
        modulator = modulation.Constant().start(LAYOUT)
        theta = np.zeros(LAYOUT.size, np.float32)
        self.model = Parameters(theta, 0.1, modulator, optimizer=optimizers.Adam())
        self._server = SimpleNamespace(zero=100.0, model=self.model, whole=LAYOUT, version=0)
        server: Any = self._server
        self.checkpoints = Checkpoints(server, 1.0, path, RunLog(self.sink), thread)

    def update(self) -> None:
        gradient = np.random.default_rng(self.model.version).standard_normal(LAYOUT.size)
        self.model.apply([(Gradient(gradient.astype(np.float32)), self.model.version)])
        self._server.version = self.model.version

    def state(self) -> tuple[bytes, dict[str, bytes]]:
        """Return the bytes of the model and of its optimizer's state."""
        arrays = self.model.optimizer_state().arrays
        return self.model.theta.tobytes(), {name: a.tobytes() for name, a in arrays.items()}

    def saved(self) -> tuple[int, tuple[bytes, dict[str, bytes]]]:
        """Return the version in the file, and its bytes as `state` does."""
        model = saved_model.read(self.path, LAYOUT)
        assert model.optimizer is not None
        arrays = {name: array.tobytes() for name, array in model.optimizer.arrays.items()}
        return model.version, (model.theta.tobytes(), arrays)

    def records(self) -> list[tuple[float, int]]:
        self.sink.seek(0)
        lines: Any = (json.loads(line) for line in self.sink)
        return [(line["at"], line["version"]) for line in lines]


def test_a_checkpoint_that_is_written_beside_the_work_is_of_one_version(
    disk: SlowDisk, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as thread:
        world = World(tmp_path / "checkpoint.npz", thread)
        world.update()
        before = world.state()
        assert world.checkpoints.deadline() == 101.0
        world.checkpoints.tick(101.25)
        for _ in range(50):
            world.update()
        assert world.state() != before and not world.path.exists() and world.records() == []
        disk.free.set()
        world.checkpoints.finish()
    assert world.saved() == (1, before) and world.records() == [(1.25, 1)]


def test_checkpoints_that_come_due_while_one_is_written_become_one(
    disk: SlowDisk, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as thread:
        world = World(tmp_path / "checkpoint.npz", thread)
        for second in range(1, 6):
            world.update()
            world.checkpoints.tick(100.0 + second)
            assert world.checkpoints.deadline() is None  # or the driver would not sleep
        disk.free.set()
        _until(world.path.is_file)
        _until(lambda: (world.checkpoints.tick(105.5), len(disk.begun))[1] == 2)
        world.checkpoints.finish()
        assert world.checkpoints.deadline() == 106.0
    assert disk.begun == [1, 5]
    assert world.saved() == (5, world.state()) and world.records() == [(1.0, 1), (5.5, 5)]


@pytest.mark.parametrize("ends", [False, True])
def test_a_disk_that_takes_no_checkpoint_ends_the_server(
    ends: bool, disk: SlowDisk, tmp_path: Path
) -> None:
    disk.error = OSError(28, "No space left on device")
    with ThreadPoolExecutor(1) as thread:
        world = World(tmp_path / "checkpoint.npz", thread)
        world.checkpoints.tick(101.0)
        disk.free.set()
        with pytest.raises(OSError, match="No space left"):
            if ends:
                world.checkpoints.finish()
            else:
                _until(lambda: world.checkpoints.tick(101.5))
    assert world.records() == []


def test_without_a_thread_the_file_is_there_once_the_tick_is_over(tmp_path: Path) -> None:
    """Virtual time passes only between ticks."""
    world = World(tmp_path / "checkpoint.npz", None)
    for second in range(1, 4):
        world.update()
        world.checkpoints.tick(100.0 + second)
        assert world.saved() == (second, world.state())
    assert world.records() == [(1.0, 1), (2.0, 2), (3.0, 3)]


@pytest.mark.mostly_slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("durability", [None, Durability()], ids=["plain", "durable"])
def test_a_slow_disk_stops_no_updates_and_a_signal_waits_for_it(
    durability: Durability | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk takes the first checkpoint only after 40 more updates and the end by SIGTERM."""
    model, log = "mnist-mlp", tmp_path / "run.jsonl"
    codec = plugins.plain(TopK(keep=Fraction(0.001)))
    plan = Plan(
        worker=WorkerPlan(
            seed=1, batch_size=10, codec=codec, fleet=1, form=Form(durable=durability is not None)
        ),
        model=model,
        learning_rate=0.1,
        workers=("a",),
        stop=Stop(time=20.0),
        checkpoint=0.2,
        durability=durability,
    )
    guests, secrets = issue(plan.workers, encrypt=False)
    beat, port = Heartbeat(interval=0.5, timeout=5.0), free_port()

    def updates() -> int:
        return log.read_bytes().count(b'"what":"update"')

    def write(path: Path, saved: Any) -> None:
        if path.name == "checkpoint.npz":
            _until(lambda: updates() >= saved.version + 40)
            os.kill(os.getpid(), signal.SIGTERM)
            _until(lambda: b'"what":"stop"' in log.read_bytes())
        WRITE(path, saved)

    monkeypatch.setattr(saved_model, "write", write)
    known: Any = SimpleNamespace(address=f"tcp://127.0.0.1:{port}", secrets=secrets)
    signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    try:
        with fleet(plan, known, seconds=0.002):
            part = ServerRole(guests=guests, heartbeat=beat, plan=plan)
            server_role.serve(part, tmp_path, port)
    finally:
        for number, handler in signals.items():
            signal.signal(number, handler)
    (record,) = [record for record in read(log) if record.what == "checkpoint"]
    layout = models.find(model).layout
    checkpoint = saved_model.read(tmp_path / "checkpoint.npz", layout)
    final = saved_model.read(tmp_path / "model.npz", layout)
    assert checkpoint.version == record.version
    assert final.version == updates() >= record.version + 40


def _until(true: Any, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)
