"""The parts of a worker's process: for whole models, models in segments of layers, cut models."""

from dataclasses import dataclass
from typing import Any

from ..core.activation_values import DeviceCoder
from ..core.assembly import WorkerAssembly
from ..core.cut_worker import cut_worker
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
from . import config
from .config import WorkerRole


@dataclass(frozen=True)
class WorkerParts:
    """A worker's coroutine, and the means to carry out its commands."""

    coroutine: NodeCoroutine[Any]
    learner: Learner | None = None
    work: SegmentWork | None = None
    cut: CutWork | None = None


def whole_parts(
    name: str,
    incarnation: int,
    part: WorkerRole,
    assembly: WorkerAssembly,
    layout: Layout,
    batches: Batches,
) -> WorkerParts:
    """Make the parts of the device `name` that pulls and pushes whole models of `layout`."""
    learner = DeviceLearner(config.GRAPH, batches, part.plan.local)
    encoder = assembly.encoder(name, incarnation, batches)
    timeout = part.connection.timeout
    coroutine = worker(name, incarnation, encoder, layout.size, timeout, ModelReply)
    return WorkerParts(coroutine, learner=learner)


def layered_parts(
    name: str,
    incarnation: int,
    part: WorkerRole,
    assembly: WorkerAssembly,
    layout: Layout,
    batches: Batches,
    scheduler: Scheduler,
) -> WorkerParts:
    """Make the parts of the device `name` that pulls and pushes as `scheduler` cuts."""
    learner = layered_learner(config.GRAPH, batches)
    encoder = assembly.segment_encoder(name, incarnation, batches)
    timeout = part.connection.timeout
    coroutine = layered_worker(name, incarnation, scheduler, encoder, layout, timeout, ModelSegment)
    return WorkerParts(coroutine, work=SegmentWork(learner, scheduler))


def cut_parts(
    name: str,
    incarnation: int,
    part: WorkerRole,
    assembly: WorkerAssembly,
    layout: Layout,
    batches: Batches,
    cut: Cut,
) -> WorkerParts:
    """Make the parts of the device `name` that holds the layers before the `cut` of `layout`."""
    coder, learner = DeviceCoder(cut), device_part(config.GRAPH, batches, cut.layer)
    encoder = assembly.encoder(name, incarnation, batches)
    parameters, timeout = layout.part((1, cut.layer)).size, part.connection.timeout
    coroutine = cut_worker(name, incarnation, coder, encoder, parameters, timeout, ModelReply)
    return WorkerParts(coroutine, cut=CutWork(learner, coder))
