"""The parts of a worker's process: one for whole models, one for models in segments of layers."""

from dataclasses import dataclass
from typing import Any

from ..core.assembly import WorkerAssembly
from ..core.layered_worker import layered_worker
from ..core.messages import ModelReply, ModelSegment
from ..core.scheduler import Scheduler
from ..core.worker import NodeCoroutine, worker
from ..layout import Layout
from ..learners.base import Learner
from ..learners.batches import Batches
from ..learners.device import DeviceLearner, layered_learner
from ..transport.segment_work import SegmentWork
from . import config
from .config import WorkerRole


@dataclass(frozen=True)
class WorkerParts:
    """A worker's coroutine, and the means to carry out its commands."""

    coroutine: NodeCoroutine[Any]
    learner: Learner | None = None
    work: SegmentWork | None = None


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
