"""The parts of a worker's process, for whole models, models in segments of layers, cut models."""

import json
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...codecs.base import Encoder
from ...core.assembly import WorkerAssembly
from ...core.cut.activation_values import DeviceCoder
from ...core.cut.cut_worker import cut_worker
from ...core.scheduling.scheduler import Scheduler
from ...core.wire.messages import ModelReply, ModelSegment
from ...core.worker.falsifying import Falsifier, FalsifyingEncoder
from ...core.worker.kept_state import KeptState, go_on, kept
from ...core.worker.layered_worker import PieceEncoder, layered_worker
from ...core.worker.sharded_worker import sharded_worker
from ...core.worker.worker import NodeCoroutine, worker
from ...layout import Layout, Segment
from ...learning.learners.batches import Batches, Position
from ...learning.learners.device import DeviceLearner, staged_learner
from ...transport.work import Work
from ...vectors import Frames, Vector
from ...world.emulated_clock import UNDILATED, EmulatedClock
from ...world.faults.self_played import SelfPlayed
from ...world.verbs import Setting
from .. import config
from ..config import NodeConfig, WorkerRole
from ..orders import PartOrders, paused


@dataclass(frozen=True)
class WorkerParts:
    """A worker's coroutine, and the means to carry out its commands."""

    coroutine: NodeCoroutine[Any]
    work: Work
    encoder: Encoder | None
    """Encoder of a worker that pushes whole models, or the layers before a cut: the one with the
    codec's memory, without the lies."""


def worker_parts(
    node: NodeConfig,
    incarnation: int,
    part: WorkerRole,
    assembly: WorkerAssembly,
    scheduler: Scheduler | None,
    batches: Batches,
    faults: "PartFaults",
) -> WorkerParts:
    """Make the parts of the device `node`.

    It pulls and pushes as `scheduler` cuts; without, the whole model, or the layers before a cut.
    """
    name, layout, timeout = node.name, assembly.layout, part.connection.timeout
    falsifier = Falsifier(part.plan.seed, name, incarnation)
    cut = part.plan.cut
    if scheduler is not None:
        by_segment = assembly.segment_encoder(name, incarnation, batches)
        pieces = FalsifyingEncoder(by_segment, falsifier, faults.settings)
        layers = staged_learner(config.GRAPH, batches, clock=node.clock.now)
        return WorkerParts(
            layered_worker(name, incarnation, scheduler, pieces, layout, timeout, ModelSegment),
            Work(layers, node.clock, scheduler=scheduler, faults=faults),
            None,
        )
    if assembly.shards is not None:
        by_segment = assembly.segment_encoder(name, incarnation, batches)
        lying = FalsifyingEncoder(by_segment, falsifier, faults.settings)
        sliced, held = SlicedEncoder(lying, layout), (assembly.shards, layout, timeout)
        return WorkerParts(
            sharded_worker(name, incarnation, sliced, *held, ModelSegment, joined_model),
            Work(DeviceLearner(config.GRAPH, batches, part.plan.local), node.clock, faults=faults),
            None,
        )
    honest = assembly.encoder(name, incarnation, batches)
    encoder = FalsifyingEncoder(honest, falsifier, faults.settings)
    pushed = encoder, layout.size, timeout, ModelReply
    if cut is not None:
        coder, learner = DeviceCoder(cut), staged_learner(config.GRAPH, batches, cut.layer)
        work = Work(learner, node.clock, coder=coder, faults=faults)
        return WorkerParts(cut_worker(name, incarnation, coder, *pushed), work, honest)
    whole = DeviceLearner(config.GRAPH, batches, part.plan.local)
    work = Work(whole, node.clock, faults=faults)
    return WorkerParts(worker(name, incarnation, *pushed), work, honest)


def joined_model(parts: Sequence[ModelSegment]) -> ModelReply:
    """Return the model of which shards have sent `parts`, in the order of the layers."""
    first = parts[0]
    return ModelReply(first.ticket, first.version, np.concatenate([part.theta for part in parts]))


class SlicedEncoder:
    """Encodes the layers of a segment from the gradient of the whole model."""

    def __init__(self, encoder: PieceEncoder[Vector], layout: Layout) -> None:
        """`encoder` takes the gradient of the segment alone."""
        self._encoder, self._layout = encoder, layout

    def encode(self, segment: Segment, gradient: Vector, /) -> Frames:
        return self._encoder.encode(segment, gradient[self._layout.place(segment)])


class PartFaults:
    """Plays the faults of a worker's incarnation, before and after it computes."""

    def __init__(
        self,
        orders: PartOrders,
        played: SelfPlayed,
        draw: Callable[[], None],
        clock: EmulatedClock = UNDILATED,
    ) -> None:
        """`draw` draws, once an iteration, whether a fault strikes; it need not return."""
        self._orders, self._played, self._draw, self._clock = orders, played, draw, clock
        self._paused = 0.0  # seconds of all pauses before the present pass

    def settings(self) -> Mapping[str, Setting]:
        """Return the settings that were in force when the present iteration began, by verb."""
        return self._played.present

    def before_gradient(self) -> None:
        """Wait as a lag asks for, then draw the faults of the iteration.

        A wait goes on while the process is stopped: sleep counts by the clock.
        """
        self._played.settings = self._orders.settings()
        wait = self._played.wait()
        if wait:
            self._clock.sleep(wait)
        self._draw()
        self._orders.settings()
        self._played.begin_iteration()

    def before_pass(self) -> None:
        """Note the pauses before the pass, since pauses within it do not heat the device."""
        if self._played.heats:
            self._paused = paused(self._orders.settings())

    def after_pass(self, seconds: float) -> bool:
        """Wait as long as faults slow down a pass that took `seconds`, up to now.

        Return whether they do.
        """
        if not self._played.heats:
            return False
        ended = self._clock.now()
        still = min(seconds, paused(self._orders.settings()) - self._paused)
        wait = (seconds - still) * (self._played.slowdown(ended - seconds) - 1)
        if wait:
            self._clock.sleep(wait)
        self._played.computed(ended - seconds, ended + wait, still)
        return wait > 0


FILE = Path("/tmp/state.npz")


class KeptFile:
    """Stores the state of a worker after every push."""

    def __init__(self, encoder: Encoder, batches: Batches, path: Path = FILE) -> None:
        self._encoder, self._batches, self._path = encoder, batches, path

    def go_on(self) -> None:
        """Go on from the stored state; begin from nothing if the state is missing or damaged."""
        try:
            state = read(self._path)
            go_on(self._encoder, self._batches, state)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return

    def forget(self) -> None:
        """Remove the stored state."""
        self._path.unlink(missing_ok=True)

    def store(self) -> None:
        """Replace the stored state by the present state, whole or not at all."""
        state = kept(self._encoder, self._batches.position())
        facts = {"updates": state.updates, "draws": state.draws, "order": state.position.draws}
        arrays: dict[str, Any] = {f"memory{n}": v for n, v in enumerate(state.vectors)}
        arrays["unused"] = state.position.unused
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        beside = self._path.with_suffix(".part")
        with beside.open("wb") as file:
            np.savez(file, **arrays)
        os.replace(beside, self._path)


def read(path: Path) -> KeptState:
    """Return the state in the file at `path`. Raises OSError, or ValueError and others for a
    damaged file."""
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        facts = json.loads(file["facts"].tobytes())
        number = sum(name.startswith("memory") for name in file.files)
        vectors = tuple(file[f"memory{n}"] for n in range(number))
        position = Position(facts["order"], file["unused"])
    return KeptState(vectors, int(facts["updates"]), facts["draws"], position)
