"""The parts of a run in virtual time that learn, or stand in for learning."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...codecs.base import Codec
from ...core import assembly
from ...core.assembly import cut_exchange
from ...core.cut.activation_values import DeviceCoder
from ...core.cut.cut_exchange import CutExchange
from ...core.plan import Plan
from ...core.server.parameters import JoinedState, Saved, State
from ...learning.learners.base import ServerPart
from ...learning.learners.device import server_part
from ...learning.learners.export import ready
from ...learning.learners.numpy import NumpyServer
from ...machine.host import cores as usable
from ...runs.data_split import DataSplit
from ...scenario import Scenario
from ...scenario.sections.training_section import initial_model
from .cut_times import ServerPasses, server_passes
from .learning.gradient_handle import FleetLearning
from .learning.job_pool import tools_factory
from .learning.prefetched_training import PredecodedCodec, PrefetchedTraining
from .learning.traffic_only import (
    ConstantState,
    ExpectedSizeCodec,
    SizedCoder,
    SizedServerPart,
    TrafficOnly,
)
from .learning.trajectory import measured
from .workers import CutCoder


class RunParts(NamedTuple):
    """The learners of a run, and the server's model."""

    learning: FleetLearning
    codec: Codec
    """Codec of the server."""
    state: State
    """The model, or the devices' part of it."""
    exchange: CutExchange | None = None
    """The exchange of activations, if the model is cut."""
    coder: CutCoder | None = None
    """Coder of devices' messages, if the model is cut."""
    passes: ServerPasses | None = None
    """Times of the server's passes, if the model is cut."""

    @property
    def model(self) -> Saved:
        """The whole model."""
        if self.exchange is None:
            return self.state
        return JoinedState(self.state, self.exchange.parameters)


def run_parts(
    scenario: Scenario,
    plan: Plan,
    split: DataSplit | None,
    progress: Callable[[str], None],
    cores: int | None,
) -> RunParts:
    """Make the parts of a run of `scenario`, which has a law for all work.

    Without `split` nothing is trained. `progress` is called with the name of a step that takes
    seconds; `cores` threads compute gradients (None: as many as this process may use).
    """
    if split is None:
        return _sized_parts(scenario, plan)
    training, learner = scenario.training, scenario.virtual.learner
    graph = None
    if learner == "tensorflow":
        progress("graphs")
        graph = ready(training.network, scenario.seed)
    cut, saved = training.cut, initial_model(training)
    make = tools_factory(learner, training.layout, graph, cut.layer if cut else None)
    tools = [make() for _ in range(cores or usable())]
    compression = scenario.measure.compression if scenario.measure else None
    every = compression.every if compression else None
    learning = PrefetchedTraining(plan.worker, training.layout, split, tools, every)
    codec = PredecodedCodec(training.codec)
    state: State = assembly.parameters(plan, saved)
    state = measured(scenario, state, learning.gradient, len(split.data.train))
    if cut is None:
        return RunParts(learning, codec, state)
    exchange = cut_exchange(
        plan, _server_part(scenario, graph), assembly.server_parameters(plan, saved)
    )
    passes = server_passes(scenario, cut, plan.worker.batch_of)
    return RunParts(learning, codec, state, exchange, DeviceCoder(cut), passes)


def _server_part(scenario: Scenario, graph: Path | None) -> ServerPart:
    """Return a learner of the layers behind the cut, for the thread that drives the server."""
    training = scenario.training
    assert training.cut is not None
    if graph is None:
        return NumpyServer(training.layout, training.cut.layer)
    return server_part(graph, training.cut.layer)


def _sized_parts(scenario: Scenario, plan: Plan) -> RunParts:
    """Make the parts of a run without training, in which messages have sizes only."""
    training, cut = scenario.training, scenario.training.cut
    layout = assembly.held_layout(plan.worker, training.layout)
    codec, state = ExpectedSizeCodec(training.codec, layout), ConstantState(layout.size)
    batch_of = plan.worker.batch_of
    learning = TrafficOnly(layout.size, codec, scenario.mean_batches, batch_of)
    if cut is None:
        return RunParts(learning, codec, state)
    model = training.network
    part = SizedServerPart(cut, model)
    exchange = cut_exchange(plan, part, ConstantState(model.layout.size - layout.size))
    passes = server_passes(scenario, cut, batch_of)
    return RunParts(learning, codec, state, exchange, SizedCoder(cut, model), passes)
