"""Hardware efficiency of a scenario: how many seconds a group update takes with g compute groups.

The models are those of `machine_repair.py`. The devices of a group pull, compute and push one after
the other, so t_conv is the sum of these times, of the group's slowest member. t_fc is the time for
which the group's updates occupy the server. The server begins with the first of them; t_conv is the
rest of the cycle of a group that is alone. Where the devices together could send more than the
server's own link carries, that link is a second resource that groups share. `docs/predict.md` says
what the model leaves out, and `left_out` names what it leaves out of a scenario.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import EmulatorError, ScenarioError
from ..pulls import WholeModel
from ..scenario import Scenario
from ..scenario.sections.devices import Group
from ..schedules import Sequential
from ..synchronization import Asynchronous, Barrier, ComputeGroups
from ..synchronization.groups import dealt
from ..world.links.link import FRAME
from . import machine_repair
from .compute_groups import PacedMember, TimedMember, compute_groups, mean_round, served
from .computing_times import StepTimes, step_times
from .exchange import Exchange, contended, exchange_sizes
from .machine_repair import GroupCycle

_MOST_SCANNED = 512
"""Number of devices up to which the saturation point is sought among all numbers of groups, not
only among the divisors."""


_SETTLED = 3
"""Repetitions after which the time that devices with CPU quotas rest agrees with the queue's."""

Members = tuple[tuple[Group, int, int], ...]
"""Members of a compute group: the devices' group in the file, examples of each, their number."""


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


# -- cycles ----------------------------------------------------------------------------------------


def named_groups(scenario: Scenario, groups: int) -> tuple[tuple[str, ...], ...]:
    """Return the names of the devices in the compute groups, `groups` in number, of `scenario`."""
    policy = scenario.training.synchronization
    assign = policy.assign if isinstance(policy, ComputeGroups) else "order"
    training = scenario.training.model_copy(
        update={"synchronization": ComputeGroups(groups, assign)}
    )
    return compute_groups(scenario.model_copy(update={"training": training}))


def shares(batch: int, members: int) -> list[int]:
    """Deal `batch` examples over `members`; each gets an example or more."""
    return [max(1, examples) for examples in dealt(batch, members)]


class FleetCycles:
    """The devices of a scenario, their computing times and the traffic of an update."""

    def __init__(self, scenario: Scenario, batch: int, times: StepTimes) -> None:
        self._scenario, self._batch, self._times = scenario, batch, times
        self._sizes = exchange_sizes(scenario)
        self._group_of = {name: group for group in scenario.devices for name in group.names}
        server, groups = scenario.server.link, scenario.devices
        # bits a second of the server's link that all devices share; infinite: nobody waits for it
        self._down = contended(server.up, [(g.link.down, len(g.names)) for g in groups])
        self._up = contended(server.down, [(g.link.up, len(g.names)) for g in groups])

    def cycle(self, groups: int) -> GroupCycle:
        """Return the cycle of a group when there are `groups`; the mean of unequal groups."""
        kinds = Counter(self._members(named) for named in named_groups(self._scenario, groups))
        rest = 0.0  # seconds that a group waits for others at the server
        for _ in range(_SETTLED if self._limited else 1):
            cycles = [(self._alone(members, rest), count) for members, count in kinds.items()]
            cycle = _mean(cycles)
            # meanwhile the budgets of devices with quotas fill
            stay = groups * machine_repair.queue(groups, cycle)
            rest = max(0.0, stay - cycle.total)
        return cycle

    @property
    def _limited(self) -> bool:
        return any(group.core < 1 for group in self._scenario.devices)

    def _members(self, named: Sequence[str]) -> Members:
        examples = shares(self._batch, len(named))
        equal: dict[tuple[str, int], int] = {}
        for name, share in zip(named, examples, strict=True):
            key = self._group_of[name].name, share
            equal[key] = equal.get(key, 0) + 1
        groups = {group.name: group for group in self._scenario.devices}
        return tuple((groups[name], share, count) for (name, share), count in equal.items())

    def _alone(self, members: Members, rest: float) -> GroupCycle:
        """Return the cycle of the group of `members` that waits `rest` seconds for other groups."""
        size = sum(count for _, _, count in members)
        serve = self._times.serve
        sizes, examples = self._sizes, sum(share * count for _, share, count in members)
        down = size * sizes.pull + examples * sizes.crossing.down
        up = size * (sizes.push + sizes.request) + examples * sizes.crossing.up
        shared = [_bits(down) / self._down, _bits(up) / self._up]
        paced = [(self._paced(group, share, size), count) for group, share, count in members]
        if any(member.core < 1 for member, _ in paced):
            whole = mean_round([m for m, count in paced for _ in range(count)], serve, rest)
        else:
            equal = (TimedMember(m.before + m.after, m.scale, m.law, count) for m, count in paced)
            whole = served(equal, serve)
        dense = self._times.dense * examples
        whole, t_fc = whole + dense, size * serve + dense
        try:
            return GroupCycle(max(0.0, whole - t_fc - sum(shared)), (t_fc, *shared))
        except ValueError as error:
            raise ScenarioError(
                "virtual.step: takes no time, and neither do links and server: a prediction needs "
                "a time, for example step: 100ms"
            ) from error

    def _paced(self, group: Group, share: int, size: int) -> PacedMember:
        """Return a device of `group` with `share` examples, as one of `size` equal members."""
        law, scale = self._times.of(share)
        server = self._scenario.server.link
        exchange = Exchange(group.link, server, self._sizes, self._down / size, self._up / size)
        # the server works on the update while the request for the next model arrives
        after = exchange.after(share) + max(0.0, exchange.request - self._times.serve)
        return PacedMember(exchange.before(share), scale, law, after, group.core)


def _bits(size: float) -> float:
    """Return the bits of Ethernet frames that carry `size` bytes."""
    return size * 8 * FRAME


def _mean(cycles: Sequence[tuple[GroupCycle, int]]) -> GroupCycle:
    """Return the cycle of equal groups that update as often as the different groups, when alone.

    A group counts by its updates per second: a fast one comes to the server more often.
    """
    rates = [count / cycle.total for cycle, count in cycles]

    def weighted(times: Sequence[float]) -> float:
        return sum(rate * time for rate, time in zip(rates, times, strict=True)) / sum(rates)

    columns = zip(*(cycle.serial for cycle, _ in cycles), strict=True)
    return GroupCycle(weighted([cycle.conv for cycle, _ in cycles]), tuple(map(weighted, columns)))


def left_out(scenario: Scenario, on: str) -> list[str]:
    """Return a clause for every part of `scenario` that the prediction for runtime `on` ignores."""
    return list(_clauses(scenario, on))


def _clauses(scenario: Scenario, on: str) -> Iterator[str]:
    training, groups = scenario.training, scenario.devices
    links = [scenario.server.link, *(group.link for group in groups)]
    sides = [side for link in links for side in (link.up, link.down)]
    if training.cutting != Sequential():
        yield f"{training.cutting.kind}: models and updates count as whole, without overlap"
    if not isinstance(training.pull, WholeModel):
        yield f"pull {training.pull.kind}: pulls count as whole models"
    delayed = any(side.delay for side in sides) and any(side.rate for side in sides)
    if delayed and (on == "docker" or scenario.virtual.tcp):
        yield "TCP's slow start on links with a rate and a delay: transfers take longer"
    if any(side.jitter or side.lossy for side in sides):
        yield "jitter and loss of links"
    if scenario.bottlenecks:
        yield "bottlenecks: no device waits for another in front of the server's link"
    if scenario.network:
        yield "network: no device waits for another on its way to the server's link"
    if scenario.faults or any(group.failures for group in groups):
        yield "faults: every device is up all the time"
    if on == "docker":
        yield "the wait of containers for cores of this host"
