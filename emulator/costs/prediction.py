"""Hardware efficiency of a scenario: how many seconds a group update takes with g compute groups.

The models are those of `calibration/machine_repair.py`, the times those of `group_cycles.py`.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import EmulatorError, ScenarioError
from ..scenario import Scenario
from ..synchronization import Asynchronous, Barrier, ComputeGroups
from . import machine_repair
from .group_cycles import FleetCycles, named_groups, shares
from .machine_repair import GroupCycle
from .step_times import step_times

_MOST_SCANNED = 512
"""Number of devices up to which the saturation point is sought among all numbers of groups, not
only among the divisors."""


@dataclass(frozen=True)
class PredictedUpdate:
    """Seconds per group update with `groups` groups."""

    groups: int
    formula: float
    """By the paper's formula."""
    queue: float
    """By the exact queue."""


@dataclass(frozen=True)
class HardwareEfficiency:
    """Cycles of the compute groups of a fleet, for every number of groups."""

    devices: int
    cycle_of: Callable[[int], GroupCycle]
    """Returns the cycle of a group when there are so many groups."""

    def predicted(self, groups: int) -> PredictedUpdate:
        """Return the seconds per group update with `groups` groups."""
        cycle = self.cycle_of(groups)
        return PredictedUpdate(
            groups, machine_repair.formula(groups, cycle), machine_repair.queue(groups, cycle)
        )

    @property
    def saturation(self) -> int | None:
        """The smallest number of groups that saturates the server; above `devices` if none does."""
        scanned = None if self.devices <= _MOST_SCANNED else divisors(self.devices)
        return machine_repair.saturation(self.devices, self.cycle_of, scanned)


def divisors(number: int) -> list[int]:
    """Return the divisors of `number`, the smallest first."""
    return [part for part in range(1, number + 1) if number % part == 0]


def group_batch(scenario: Scenario) -> int:
    """Return the number of examples behind one group update of `scenario`.

    That is `batch_size` with `groups` and `asynchronous`, and the sum over all devices with
    `barrier`. Raises a ScenarioError for another synchronization.
    """
    training = scenario.training
    match training.synchronization:
        case ComputeGroups() | Asynchronous():
            return training.batch_size
        case Barrier(quorum=1):
            return training.batch_size * len(scenario.nodes)
        case Barrier():
            found = "a barrier with a quorum"
        case other:
            found = other.kind
    raise ScenarioError(
        f"training.synchronization: {found} makes no compute groups: hardware efficiency is known "
        "for groups, barrier and asynchronous; try --set training.synchronization=asynchronous"
    )


def hardware_efficiency(
    scenario: Scenario,
    groups: Iterable[int],
    tell: Callable[[str], None],
    *,
    assumed: bool = True,
) -> HardwareEfficiency:
    """Return the cycles of compute groups made of the devices of `scenario`.

    The shares of mini-batches with 1 group, N groups and each number in `groups` are calibrated if
    `virtual.step` is missing or not `assumed`; other shares are interpolated. `tell` and errors as
    of `step_times`.
    """
    return _efficiency(scenario, {1, len(scenario.nodes), *groups}, tell, assumed)


def _efficiency(
    scenario: Scenario, wanted: Iterable[int], tell: Callable[[str], None], assumed: bool
) -> HardwareEfficiency:
    """Return the cycles for the numbers of groups in `wanted`, with the computing times of the
    groups' shares."""
    batch = group_batch(scenario)
    sizes = {
        examples
        for number in wanted
        for named in named_groups(scenario, number)
        for examples in shares(batch, len(named))
    }
    times = step_times(scenario, sizes, tell, assumed=assumed)
    cycles: dict[int, GroupCycle] = {}
    fleet = FleetCycles(scenario, batch, times)

    def cycle_of(number: int) -> GroupCycle:
        if number not in cycles:
            cycles[number] = fleet.cycle(number)
        return cycles[number]

    return HardwareEfficiency(len(scenario.nodes), cycle_of)


def prediction_facts(
    scenario: Scenario, tell: Callable[[str], None], *, assumed: bool
) -> dict[str, Any]:
    """Return the entry of a manifest with the prediction for the compute groups of `scenario`.

    Empty without `synchronization: groups`, and where nothing can be predicted: no run fails for
    want of a prediction. Arguments as of `hardware_efficiency`.
    """
    policy = scenario.training.synchronization
    if not isinstance(policy, ComputeGroups):
        return {}
    try:
        efficiency = _efficiency(scenario, [policy.groups], tell, assumed)
        return {"hardware_efficiency": asdict(efficiency.predicted(policy.groups))}
    except EmulatorError as error:
        tell(f"no prediction of group updates: {error}")
        return {}
