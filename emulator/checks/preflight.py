"""The table of all checks of a scenario before a run, and what a run is refused or warned of.

Every command uses this table: `emulate check` prints all findings; `run`, `sweep`, `tune`, `study`,
`compare --runtimes` and the functions of Python tell the warnings, and raise an error with the
refusals before anything is created or calibrated. The Docker engine is not asked here: `emulate
doctor` asks the engine. Mistakes that lie in the file alone are found as it is read, with their
lines, in `scenario/reading/`; keys that a runtime ignores stand in `scenario/unkept.py`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path

from ..costs.host_limits import HostTables
from ..errors import EmulatorError, ScenarioError, mistakes
from ..machine.host import Host
from ..runs.data_split import DataSplit, split_data
from ..scenario import Scenario
from .deadlines import late_groups, too_short
from .faults import endless_crashes, faults_in_vain, scarce_memory
from .finding import Finding, Situation
from .links import link_bounds, short_limits, standing_clock
from .own_parts import (
    doubtful_plugins,
    missing_imports,
    misunderstood_parts,
    unfit_plugins,
)
from .playable import (
    background_in_containers,
    routers_in_containers,
    shards_in_containers,
    workload_in_containers,
)
from .this_host import (
    congestion_control,
    containers_here,
    full_tables,
    quotas,
    shortfalls,
    small_devices,
    tensorflow_here,
    tight,
    too_fast,
)
from .training import (
    data_split,
    learner_fit,
    measures_in_virtual_time,
    readable_initial_model,
    relayed_messages,
    trainable_model,
    unfit_optimizer,
    unguarded_quarantine,
)

BOTH, DOCKER, VIRTUAL = ("docker", "virtual"), ("docker",), ("virtual",)

STAGES = ("model", "scenario", "data", "platform", "host")
"""Stages of checking, in order: whether the model can be trained; what the scenario says by itself;
what its data and files hold; whether this system has containers; what this host has left."""

DECISIVE = ("model", "platform")
"""Stages after whose errors those of later stages say nothing new."""


@dataclass(frozen=True)
class Check:
    """A row of the table: a function that yields findings, and when it is called."""

    stage: str
    runtimes: tuple[str, ...]
    function: Callable[..., Iterable[Finding]]
    """Its parameters without a default bear the names of facts of `Situation`."""
    any_work: bool = False
    """Whether the check holds for a workload, too; the others look into a training."""

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Return what the function finds in `situation`."""
        names = [
            name
            for name, parameter in signature(self.function).parameters.items()
            if parameter.default is Parameter.empty
        ]
        return self.function(*(getattr(situation, name) for name in names))


CHECKS: tuple[Check, ...] = (
    Check("model", BOTH, workload_in_containers, any_work=True),
    Check("model", BOTH, trainable_model),
    Check("scenario", BOTH, endless_crashes),
    Check("scenario", BOTH, scarce_memory),
    Check("scenario", BOTH, unfit_plugins),
    Check("data", BOTH, data_split),
    Check("data", BOTH, readable_initial_model),
    Check("scenario", VIRTUAL, learner_fit),
    Check("scenario", VIRTUAL, standing_clock),
    Check("scenario", BOTH, late_groups),
    Check("scenario", BOTH, too_short),
    Check("scenario", BOTH, unfit_optimizer),
    Check("scenario", BOTH, misunderstood_parts),
    Check("scenario", BOTH, doubtful_plugins),
    Check("scenario", BOTH, unguarded_quarantine),
    Check("scenario", BOTH, faults_in_vain, any_work=True),
    Check("scenario", DOCKER, short_limits, any_work=True),
    Check("platform", DOCKER, containers_here, any_work=True),
    Check("host", DOCKER, measures_in_virtual_time),
    Check("scenario", DOCKER, background_in_containers, any_work=True),
    Check("scenario", DOCKER, routers_in_containers, any_work=True),
    Check("host", DOCKER, relayed_messages),
    Check("host", DOCKER, shards_in_containers),
    Check("host", DOCKER, missing_imports),
    Check("host", DOCKER, quotas, any_work=True),
    Check("host", DOCKER, link_bounds, any_work=True),
    Check("host", DOCKER, congestion_control, any_work=True),
    Check("host", DOCKER, shortfalls, any_work=True),
    Check("host", DOCKER, full_tables, any_work=True),
    Check("host", DOCKER, too_fast),
    Check("host", DOCKER, small_devices),
    Check("host", DOCKER, tight),
    Check("host", BOTH, tensorflow_here),
)
"""All checks, in the order in which they are made."""


def findings(situation: Situation, stages: Collection[str] = STAGES) -> Iterator[Finding]:
    """Yield the findings of all checks of `stages` in `situation`, in their order."""
    decided: set[str] = set()
    for check in CHECKS:
        if situation.on not in check.runtimes or check.stage not in stages:
            continue
        if situation.works and not check.any_work:
            continue
        if "platform" in decided and check.stage == "host":
            continue  # a system without containers may lack what these checks ask
        for finding in check.findings(situation):
            known = decided - {check.stage}
            if finding.fatal and check.stage in DECISIVE:
                decided.add(check.stage)
            if not (finding.fatal and known):
                yield finding


@dataclass(frozen=True)
class Preflight:
    """The findings of all checks of a scenario for a runtime."""

    findings: tuple[Finding, ...]
    split: DataSplit | None
    """The split of the data; None if the run needs no data, or if the scenario was refused."""

    @property
    def refusals(self) -> tuple[EmulatorError, ...]:
        """Errors; any of them stops the run."""
        return tuple(found.error() for found in self.findings if found.fatal)

    def require(self) -> DataSplit | None:
        """Return `split`. Raise a single error with the texts of `refusals`, if any."""
        refuse(self.refusals)
        return self.split


def refuse(
    refusals: Iterable[EmulatorError], heading: str = "this cannot be played here:\n"
) -> None:
    """Raise a single error with the texts of `refusals`, equal ones once, if there are any.

    Several texts follow the `heading`. A ScenarioError has each of them among its `mistakes`.
    """
    told = {str(error): error for error in refusals}
    if not told:
        return
    if len(told) == 1:
        raise next(iter(told.values()))
    text = heading + "\n".join(told)
    if not any(isinstance(error, ScenarioError) for error in told.values()):
        raise type(next(iter(told.values())))(text)
    raise ScenarioError(text, [each for error in told.values() for each in mistakes(error)])


def preflight(
    scenario: Scenario,
    on: str,
    host: Host | None = None,
    split_by: Callable[[Scenario], DataSplit | None] = split_data,
    tables: Sequence[HostTables] | None = None,
) -> Preflight:
    """Check whether the runtime `on` can play `scenario` on `host`, by default this host.

    `split_by` makes the data split, if the runtime needs one; `tables` as of a `Situation`.
    """
    situation = Situation(scenario, on, host, split_by, tables=tables)
    found = tuple(findings(situation))
    return Preflight(found, None if any(each.fatal for each in found) else situation.split)


def warnings(
    scenario: Scenario,
    on: str,
    runs: Path = Path(),
    host: Host | None = None,
    tables: Sequence[HostTables] | None = None,
) -> list[str]:
    """Return the warnings for a run of `scenario` on `on` into a folder of `runs`.

    `host` and `tables` as of `preflight`.

    Neither data nor weights are read.
    """
    stages = [stage for stage in STAGES if stage != "data"]
    found = findings(Situation(scenario, on, host, runs=runs, tables=tables), stages)
    return [each.text for each in found if each.severity == "warning"]
