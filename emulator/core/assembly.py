"""Makes the server and the workers' parts from the plan of a run, for every runtime.

Random streams have the names that `emulator/chance.py` gives them.
"""

import math
from collections.abc import Sequence
from typing import Any

from .. import (
    aggregation,
    chance,
    codecs,
    modulation,
    optimizers,
    pulls,
    schedules,
    synchronization,
)
from ..codecs.base import Codec, Encoder, EncoderContext
from ..codecs.segment_encoder import SegmentEncoder
from ..layout import Layout, Segment
from ..learning import models
from ..learning.datasets.examples import Examples, Subset
from ..learning.learners.base import ServerPart
from ..learning.learners.batches import Batches, per_epoch
from ..learning.models import Model
from ..learning.models.saved_model import SavedModel
from ..log.lines import RunLog
from ..pulls import HeldModel, HeldParts
from ..synchronization import Barrier, Bounded, ComputeGroups, Synchronizer
from .cut.activation_values import ActivationCoding, ExampleSizes
from .cut.cut_exchange import PATIENCE, CutExchange, CutPlan
from .plan import Cut, Plan, WorkerPlan, device_layers
from .scheduling.prior_costs import PriorCosts
from .scheduling.scheduler import Report, Scheduler
from .server.parameter_server import VIRTUAL, Driver, ParameterServer
from .server.parameters import Parameters, State
from .server.pulled_versions import GroupUpdates
from .server.worker_exchanges import ServerParts
from .sharding.follower import Follower
from .sharding.leader import Leader, LeadersCodec, LeadersReplies, LeadersState
from .sharding.parts_elsewhere import FollowerConnections, Followers
from .sharding.server_shards import LEADER, ServerShards, balanced_shards
from .sharding.sharded_state import ShardedState


def parameters(plan: Plan, saved: SavedModel | None = None) -> State:
    """Make the model at its initial weights, with the plan's modulation and optimizer.

    Of a cut model, make the devices' part; with shards, make the part of each. The parameters of
    `saved` take the place of the initial weights, and its state of an optimizer that of the
    optimizer's zeros if it is of the same kind; the version begins at 0.
    """
    layout = models.find(plan.model).layout
    segment = device_layers(plan.worker.cut, layout)
    shards = server_shards(plan.worker, layout)
    parts = [_shard(plan, own, saved) for own in (shards.segments if shards else [segment])]
    return ShardedState(parts) if shards else parts[0]


def server_shards(plan: WorkerPlan, layout: Layout) -> ServerShards | None:
    """Return the shards of the server for the model of `layout`; None: it has none."""
    return balanced_shards(layout, plan.shards) if plan.shards > 1 else None


def follower(plan: Plan, number: int, saved: SavedModel | None = None) -> Follower:
    """Make the shard `number` of the plan's server; parameters of `saved` as of `parameters`."""
    layout = models.find(plan.model).layout
    shards = server_shards(plan.worker, layout)
    assert shards is not None
    segment = shards.segments[number]
    own, pull = layout.part(segment), pulls.make(plan.worker.pull)
    state = _shard(plan, segment, saved)
    return Follower(segment, own, state, pull.start(own), codecs.make(plan.worker.codec))


def leader(
    plan: Plan,
    log: RunLog,
    now: float,
    driver: Driver,
    connections: FollowerConnections,
    saved: SavedModel | None = None,
) -> Leader:
    """Make the parameter server of the plan's first shard, which leads the others.

    `connections` are those with the other shards; otherwise as `server` and `parameters`.
    """
    layout = models.find(plan.model).layout
    shards = server_shards(plan.worker, layout)
    assert shards is not None
    segment = shards.segments[LEADER]
    own, followers = _shard(plan, segment, saved), Followers(connections, shards)
    pull = pulls.make(plan.worker.pull).start(layout.part(segment))
    parts = ServerParts(
        layout=layout,
        codec=LeadersCodec(codecs.make(plan.worker.codec), layout.part(segment)),
        synchronizer=synchronizer(plan),
        pulls=pull,
        groups=_group_updates(plan),
        shards=shards,
        replies=LeadersReplies(own, pull, layout, shards, followers),
    )
    made = ParameterServer(plan, LeadersState(own, followers), parts, log, now, driver)
    return Leader(made, shards, followers)


def _shard(plan: Plan, segment: Segment, saved: SavedModel | None) -> Parameters:
    """Make the layers of `segment`, with the plan's modulation and optimizer."""
    modulator, combined = modulation.make(plan.modulation), aggregation.make(plan.aggregation)
    return _part(plan, segment, modulator, combined, saved)


def server_parameters(plan: Plan, saved: SavedModel | None = None) -> Parameters:
    """Make the server's part of the plan's cut model, as `parameters` makes the devices' part.

    Its gradients are not modulated, as none is stale, and its steps go along their mean.
    """
    assert plan.worker.cut is not None
    segment = plan.worker.cut.server(models.find(plan.model).layout)
    return _part(plan, segment, modulation.Constant(), aggregation.Mean(), saved)


def _part(
    plan: Plan,
    segment: Segment,
    modulator: modulation.Modulation,
    combined: aggregation.Aggregation,
    saved: SavedModel | None,
) -> Parameters:
    """Make the layers of `segment` of the plan's model, from their slices of the whole model."""
    model = models.find(plan.model)
    place, layout = model.layout.place(segment), model.layout.part(segment)
    optimizer, state = optimizers.make(plan.optimizer), None
    initial = model.initial(plan.worker.seed) if saved is None else saved.theta
    if saved is not None and saved.optimizer is not None:
        state = saved.optimizer.part(place)
    return Parameters(
        initial[place],
        plan.learning_rate,
        modulator.start(layout),
        optimizer=optimizer,
        state=state,
        aggregation=combined,
    )


def server(
    plan: Plan,
    state: State,
    log: RunLog,
    now: float,
    driver: Driver = VIRTUAL,
    *,
    codec: Codec | None = None,
    layout: Layout | None = None,
    cut: CutExchange | None = None,
) -> ParameterServer:
    """Make the parameter server that holds `state`, writes to `log`, and begins at `now`.

    `codec` takes the place of the plan's codec where the runtime decodes updates in another way;
    `layout` that of the plan's model where the model is a layer table. A model that is cut needs
    the exchange `cut`, and `state` is the devices' part.
    """
    layout = held_layout(plan.worker, layout or models.find(plan.model).layout)
    parts = ServerParts(
        layout=layout,
        codec=codec or codecs.make(plan.worker.codec),
        synchronizer=synchronizer(plan),
        pulls=pulls.make(plan.worker.pull).start(layout),
        groups=_group_updates(plan),
        cut=cut,
        shards=server_shards(plan.worker, layout),
    )
    return ParameterServer(plan, state, parts, log, now, driver)


def _group_updates(plan: Plan) -> GroupUpdates | None:
    return GroupUpdates(plan.groups) if 1 < len(plan.groups) < len(plan.workers) else None


def cut_exchange(
    plan: Plan, part: ServerPart, state: State, coding: ActivationCoding | None = None
) -> CutExchange:
    """Make the exchange of activations of the plan's cut model.

    `part` computes the server's layers, whose parameters are `state`. `coding` takes the place of
    the cut's coding of activations where the runtime transfers sizes alone.
    """
    cut, model = plan.worker.cut, models.find(plan.model)
    assert cut is not None
    groups, patience = _meetings(plan)
    cut_plan = CutPlan(
        cut,
        example_sizes(model, cut),
        model.layout.part(cut.server(model.layout)),
        plan.worker.batch_of,
        groups=groups,
        patience=patience,
        by_name=plan.by_name,
        form=plan.worker.form,
    )
    return CutExchange(cut_plan, part, state, coding)


def example_sizes(model: Model, cut: Cut) -> ExampleSizes:
    """Return the sizes of what crosses the `cut` of `model`."""
    task = model.task
    return ExampleSizes(model.crossing(cut.layer), math.prod(task.answers), task.classes)


def _meetings(plan: Plan) -> tuple[Sequence[Sequence[str]], float]:
    """Return the groups of devices that make steps together, and the patience in seconds.

    There are no groups if no device waits for another.
    """
    match synchronization.make(plan.synchronization):
        case Barrier(patience=patience):
            return (plan.workers,), float(patience)
        case ComputeGroups(patience=patience) if len(plan.groups) < len(plan.workers):
            return plan.groups, float(patience)
        case ComputeGroups(patience=patience) | Bounded(patience=patience):
            return (), float(patience)
    return (), PATIENCE


def held_layout(plan: WorkerPlan, layout: Layout) -> Layout:
    """Return the layout of what devices hold of a model of `layout`: all, or the layers up to a
    cut."""
    return layout.part(device_layers(plan.cut, layout))


def synchronizer(plan: Plan) -> Synchronizer[Any]:
    """Make the state of the plan's synchronization."""
    policy, members = synchronization.make(plan.synchronization), frozenset(plan.workers)
    if isinstance(policy, ComputeGroups):
        batches = {name: plan.worker.batch_of(name) for name in plan.workers}
        return policy.start(members, groups=plan.groups, batches=batches)
    return policy.start(members, plan.worker.seed, plan.examples)


class WorkerAssembly:
    """Makes the parts of workers. A crash ends them; the next `incarnation` gets new parts."""

    def __init__(self, plan: WorkerPlan, layout: Layout) -> None:
        """`layout` is the whole model's."""
        self._plan = plan
        self.layout = held_layout(plan, layout)
        """Layout of what a device holds."""
        self.codec = codecs.make(plan.codec)
        self._pull, self._schedule = pulls.make(plan.pull), schedules.make(plan.schedule)
        self.segmented = self._schedule != schedules.Sequential()
        """Whether model and update travel in segments, as a scheduler cuts them."""
        self.shards = server_shards(plan, layout)
        """The shards of the server, each of which has a part of model and update; None: it has
        none."""

    def batches(self, device: str, incarnation: int, examples: Examples | Subset) -> Batches:
        """Make the endless mini-batches of `device` from its `examples`."""
        plan = self._plan
        order = chance.batches(plan.seed, device, incarnation)
        noise = chance.noise(plan.seed, device, incarnation) if plan.noisy else None
        return Batches(examples, plan.batch_of(device), order, noise)

    def encoder(self, device: str, incarnation: int, batches: Batches) -> Encoder:
        """Make the encoder of `device`, which trains on `batches`.

        It has error feedback if the plan asks for that.
        """
        context = self._context(device, incarnation, batches)
        return codecs.encoder(self.codec, context, self._plan.error_feedback)

    def segment_encoder(self, device: str, incarnation: int, batches: Batches) -> SegmentEncoder:
        """Make the encoder of `device` that encodes by segment; it draws as `encoder` does."""
        context = self._context(device, incarnation, batches)
        return SegmentEncoder(self.codec, context, self._plan.error_feedback)

    def _context(self, device: str, incarnation: int, batches: Batches) -> EncoderContext:
        plan = self._plan
        rng = chance.stream(chance.codec(plan.seed, device, incarnation))
        epoch = per_epoch(batches, plan.local)
        return EncoderContext(self.layout, rng, plan.fleet, epoch)

    def scheduler(self, device: str, prior: PriorCosts, report: Report) -> Scheduler | None:
        """Make the scheduler of `device`; None if model and update travel whole (`sequential`).

        The first plan is made from `prior`. `report` takes the records of plans and iterations.
        """
        return Scheduler(device, self._schedule, prior, report) if self.segmented else None

    def held_model(self) -> HeldModel | HeldParts | None:
        """Make the copy of the model that a worker keeps and that patches refer to.

        Return None if every pull brings the whole model as float32.
        """
        if self._pull == pulls.WholeModel():
            return None
        if self.shards is not None:
            return HeldParts(self._pull.values, self.layout, self.shards.segments)
        return HeldModel(self._pull.values, self.layout)
