"""Translates a scenario into the plan of a run, from which the core makes server and workers."""

from collections.abc import Mapping

from .. import plugins
from ..core.plan import Plan, WorkerPlan
from ..core.zmtp import Form
from ..costs.compute_groups import compute_groups, dealt_batches
from ..scenario import Scenario
from ..scenario.sections.server_section import planned
from ..scenario.timeline.compiled import verbs_of_faults
from ..world.faults.corrupt import VERB
from ..world.roles import EVALUATOR


def plan(
    scenario: Scenario, examples: Mapping[str, int] | None, *, contained: bool = False
) -> Plan:
    """Return the plan of a run of `scenario`.

    `examples`: number of training examples of each device; None: nothing is trained, so the run
    has neither an evaluator nor checkpoints. `contained`: whether the run is one in containers,
    where a measurement takes processor time from devices, and may therefore have to wait.
    """
    kept = contained and scenario.evaluate.later
    training = scenario.training
    checkpoint = scenario.server.checkpoint if examples is not None else None
    durability = planned(scenario.server.durability)
    worker = WorkerPlan(
        seed=scenario.seed,
        batch_size=training.batch_size,
        codec=plugins.plain(training.codec),
        error_feedback=training.error_feedback,
        fleet=len(scenario.nodes),
        local=training.local,
        pull=plugins.plain(training.pull),
        schedule=plugins.plain(training.cutting),
        batch_sizes={
            name: size
            for name, size in dealt_batches(scenario).items()
            if size != training.batch_size
        },
        cut=training.cut,
        noisy=isinstance(training.model, str) and training.network.noisy,
        form=Form(
            encrypted=scenario.server.encrypt,
            checked=VERB in verbs_of_faults(scenario),
            durable=durability is not None,
        ),
        shards=scenario.server.shards,
    )
    return Plan(
        worker=worker,
        model=training.model_name,
        learning_rate=training.learning_rate,
        workers=tuple(device.name for device in scenario.nodes),
        modulation=plugins.plain(training.modulation),
        synchronization=plugins.plain(training.synchronization),
        optimizer=plugins.plain(training.optimizer),
        aggregation=plugins.plain(training.aggregation),
        groups=compute_groups(scenario),
        evaluator=None if examples is None or kept else EVALUATOR,
        every=scenario.evaluate.every,
        kept=kept,
        stop=scenario.stop.planned,
        examples=dict(examples or {}),
        quarantine=scenario.server.quarantine.rule if scenario.server.quarantine else None,
        checkpoint=None if checkpoint is None else float(checkpoint.every),
        durability=durability,
        conducted=contained,
        # schedules are compared on the same bits, and each has another order of arrival
        by_name=training.schedule is not None,
    )
