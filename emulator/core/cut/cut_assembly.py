"""Makes the server's exchange of activations from the plan of a run whose model is cut."""

import math
from collections.abc import Sequence

from ... import synchronization
from ...learning import models
from ...learning.learners.base import ServerPart
from ...learning.models import Model
from ...synchronization import Barrier, Bounded, ComputeGroups
from ..plan import Cut, Plan
from ..server.parameters import State
from .activation_values import ActivationCoding
from .crossing_checks import ExampleSizes
from .cut_exchange import PATIENCE, CutExchange, CutPlan


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
