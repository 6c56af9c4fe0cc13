"""The parts of a worker's process, for whole models, models in segments of layers, cut models."""

from dataclasses import dataclass
from typing import Any

from ...codecs.base import Encoder
from ...core.assembly import WorkerAssembly
from ...core.cut.activation_values import DeviceCoder
from ...core.cut.cut_worker import cut_worker
from ...core.scheduling.scheduler import Scheduler
from ...core.wire.messages import ModelReply, ModelSegment
from ...core.worker.falsifying import Falsifier, FalsifyingEncoder, FalsifyingSegmentEncoder
from ...core.worker.layered_worker import layered_worker
from ...core.worker.worker import NodeCoroutine, worker
from ...learning.learners.batches import Batches
from ...learning.learners.device import DeviceLearner, device_part, layered_learner
from ...transport.work import Work
from .. import config
from ..config import NodeConfig, WorkerRole
from .part_faults import PartFaults


@dataclass(frozen=True)
class WorkerParts:
    """A worker's coroutine, and the means to carry out its commands."""

    coroutine: NodeCoroutine[Any]
    work: Work
    encoder: Encoder | None
    """Encoder of a worker that pushes whole models, or the layers before a cut."""


def worker_parts(
    node: NodeConfig,
    incarnation: int,
    part: WorkerRole,
    assembly: WorkerAssembly,
    scheduler: Scheduler | None,
    batches: Batches,
    faults: PartFaults,
) -> WorkerParts:
    """Make the parts of the device `node`.

    It pulls and pushes as `scheduler` cuts; without, the whole model, or the layers before a cut.
    """
    name, layout, timeout = node.name, assembly.layout, part.connection.timeout
    falsifier = Falsifier(part.plan.seed, name, incarnation)
    before, cut = faults.before_gradient, part.plan.cut
    if scheduler is not None:
        by_segment = assembly.segment_encoder(name, incarnation, batches)
        pieces = FalsifyingSegmentEncoder(by_segment, falsifier, faults.settings)
        layers = layered_learner(config.GRAPH, batches, node.clock.now)
        return WorkerParts(
            layered_worker(name, incarnation, scheduler, pieces, layout, timeout, ModelSegment),
            Work(layers, node.clock, scheduler=scheduler, before_gradient=before),
            None,
        )
    honest = assembly.encoder(name, incarnation, batches)
    encoder = FalsifyingEncoder(honest, falsifier, faults.settings)
    pushed = encoder, layout.size, timeout, ModelReply
    if cut is not None:
        coder, learner = DeviceCoder(cut), device_part(config.GRAPH, batches, cut.layer)
        work = Work(learner, node.clock, coder=coder, before_gradient=before)
        return WorkerParts(cut_worker(name, incarnation, coder, *pushed), work, encoder)
    whole = DeviceLearner(config.GRAPH, batches, part.plan.local)
    work = Work(whole, node.clock, before_gradient=before)
    return WorkerParts(worker(name, incarnation, *pushed), work, encoder)
