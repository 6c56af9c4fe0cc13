"""Types of the scenario's fields that are plugins: one of the package's classes, or a user's."""

from typing import Annotated, TypeAlias

from ... import aggregation, codecs, modulation, optimizers, schedules, synchronization
from .fields import Kinds

CodecField: TypeAlias = Annotated[codecs.AnyCodec, Kinds(family=codecs.FAMILY)]
ModulationField: TypeAlias = Annotated[modulation.AnyModulation, Kinds(family=modulation.FAMILY)]
SynchronizationField: TypeAlias = Annotated[
    synchronization.AnySynchronization, Kinds(family=synchronization.FAMILY)
]
OptimizerField: TypeAlias = Annotated[optimizers.AnyOptimizer, Kinds(family=optimizers.FAMILY)]
AggregationField: TypeAlias = Annotated[
    aggregation.AnyAggregation, Kinds(family=aggregation.FAMILY)
]
ScheduleField: TypeAlias = Annotated[schedules.AnySchedule, Kinds(family=schedules.FAMILY)]
