"""The parts of a worker's process: for whole models, models in segments of layers, cut models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..codecs.base import Encoder
from ..core.activation_values import DeviceCoder
from ..core.assembly import WorkerAssembly
from ..core.cut_worker import cut_worker
from ..core.falsifying import Falsifier, FalsifyingEncoder, FalsifyingSegmentEncoder
from ..core.layered_worker import layered_worker
from ..core.messages import ModelReply, ModelSegment
from ..core.plan import Cut
from ..core.scheduler import Scheduler
from ..core.worker import NodeCoroutine, worker
from ..layout import Layout
from ..learners.base import Learner
from ..learners.batches import Batches
from ..learners.device import DeviceLearner, device_part, layered_learner
from ..transport.cut_work import CutWork
from ..transport.segment_work import SegmentWork
from ..world.emulated_clock import EmulatedClock
from ..world.verbs import Setting
from . import config
from .config import WorkerRole

Settings: TypeAlias = Callable[[], Mapping[str, Setting]]
"""Returns the settings in force of the faults that a worker plays itself, by verb."""


@dataclass(frozen=True)
class WorkerParts:
    """A worker's coroutine, and the means to carry out its commands."""

    coroutine: NodeCoroutine[Any]
    learner: Learner | None = None
    work: SegmentWork | None = None
    cut: CutWork | None = None
    encoder: Encoder | None = None
    """Encoder of a worker that pushes whole models."""


def whole_parts(
    name: str,
    incarnation: int,
    part: WorkerRole,
    assembly: WorkerAssembly,
    layout: Layout,
    batches: Batches,
    settings: Settings,
    clock: EmulatedClock,
) -> WorkerParts:
    """Make the parts of the device `name` that pulls and pushes whole models of `layout`."""
    learner = DeviceLearner(config.GRAPH, batches, part.plan.local)
    honest = assembly.encoder(name, incarnation, batches)
    encoder = FalsifyingEncoder(honest, _falsifier(name, incarnation, part), settings)
    timeout = part.connection.timeout
    coroutine = worker(name, incarnation, encoder, layout.size, timeout, ModelReply)
    return WorkerParts(coroutine, learner=learner, encoder=encoder)


def layered_parts(
    name: str,
    incarnation: int,
    part: WorkerRole,
    assembly: WorkerAssembly,
    layout: Layout,
    batches: Batches,
    settings: Settings,
    clock: EmulatedClock,
    scheduler: Scheduler,
) -> WorkerParts:
    """Make the parts of the device `name` that pulls and pushes as `scheduler` cuts."""
    learner = layered_learner(config.GRAPH, batches, clock.now)
    honest = assembly.segment_encoder(name, incarnation, batches)
    encoder = FalsifyingSegmentEncoder(honest, _falsifier(name, incarnation, part), settings)
    timeout = part.connection.timeout
    coroutine = layered_worker(name, incarnation, scheduler, encoder, layout, timeout, ModelSegment)
    return WorkerParts(coroutine, work=SegmentWork(learner, scheduler, clock))


def cut_parts(
    name: str,
    incarnation: int,
    part: WorkerRole,
    assembly: WorkerAssembly,
    layout: Layout,
    batches: Batches,
    settings: Settings,
    clock: EmulatedClock,
    cut: Cut,
) -> WorkerParts:
    """Make the parts of the device `name` that holds the layers before the `cut` of `layout`."""
    coder, learner = DeviceCoder(cut), device_part(config.GRAPH, batches, cut.layer)
    honest = assembly.encoder(name, incarnation, batches)
    encoder = FalsifyingEncoder(honest, _falsifier(name, incarnation, part), settings)
    parameters, timeout = layout.part((1, cut.layer)).size, part.connection.timeout
    coroutine = cut_worker(name, incarnation, coder, encoder, parameters, timeout, ModelReply)
    return WorkerParts(coroutine, cut=CutWork(learner, coder, clock))


def _falsifier(name: str, incarnation: int, part: WorkerRole) -> Falsifier:
    return Falsifier(part.plan.seed, name, incarnation)
