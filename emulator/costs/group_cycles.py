"""The cycle of a compute group of a scenario: its own time, and its time on shared resources.

The devices of a group pull, compute and push one after the other, so t_conv is the sum of these
times, of the group's slowest member. t_fc is the time for which the group's updates occupy the
server. The server begins with the first of them; t_conv is the rest of the cycle of a group that is
alone. Where the devices together could send more than the server's own link carries, that link is
a second resource that groups share. `docs/predict.md` says what the model leaves out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf

from ..errors import ScenarioError
from ..scenario import Scenario
from ..scenario.sections.devices import Group
from ..synchronization import ComputeGroups
from ..synchronization.groups import dealt
from ..world.links.link import FRAME, Side
from . import machine_repair
from .compute_groups import compute_groups
from .exchange import CycleTraffic, cycle_traffic
from .machine_repair import GroupCycle
from .quota_rounds import PacedMember, mean_round
from .slowest_member import TimedMember, served
from .step_times import StepTimes

_SETTLED = 3
"""Repetitions after which the time that devices with CPU quotas rest agrees with the queue's."""

Members = tuple[tuple[Group, int, int], ...]
"""Members of a compute group: the devices' group in the file, examples of each, their number."""


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
        self._traffic: CycleTraffic = cycle_traffic(scenario)
        self._group_of = {name: group for group in scenario.devices for name in group.names}
        server, groups = scenario.server.link, scenario.devices
        # bits a second of the server's link that all devices share; infinite: nobody waits for it
        self._down = _contended(server.up, [(g.link.down, len(g.names)) for g in groups])
        self._up = _contended(server.down, [(g.link.up, len(g.names)) for g in groups])

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
        return any(_cpu(group) is not None for group in self._scenario.devices)

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
        crossing = [(self._traffic.crossing(share), count) for _, share, count in members]
        down = size * self._traffic.pull + sum(count * cut.down for cut, count in crossing)
        up = size * self._traffic.push + sum(count * cut.up for cut, count in crossing)
        shared = [_bits(down) / self._down, _bits(up) / self._up]
        paced = [(self._paced(group, share, size), count) for group, share, count in members]
        if any(member.limited for member, _ in paced):
            whole = mean_round([m for m, count in paced for _ in range(count)], serve, rest)
        else:
            equal = (TimedMember(m.before + m.after, m.scale, m.law, count) for m, count in paced)
            whole = served(equal, serve)
        dense = self._times.dense * sum(share * count for _, share, count in members)
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
        server, link, cut = self._scenario.server.link, group.link, self._traffic.crossing(share)
        down = _carried(self._traffic.pull, link.down, server.up, self._down / size)
        up = _carried(self._traffic.push, link.up, server.down, self._up / size)
        if cut.activations:
            down += _carried(cut.down, link.down, server.up, self._down / size, cut.messages)
            up += _carried(cut.up, link.up, server.down, self._up / size, cut.messages)
        # the request for the next model is a message of its own behind the update
        return PacedMember(down, scale, law, up + link.up.setup + server.down.setup, _cpu(group))


def _cpu(group: Group) -> float | None:
    """Return the CPU quota of the devices of `group` in cores; None: a whole core."""
    cpu = group.profile.cpu if group.profile else None
    return float(cpu) if cpu is not None and cpu < 1 else None


def _bits(size: float) -> float:
    """Return the bits of Ethernet frames that carry `size` bytes."""
    return size * 8 * FRAME


def _carried(size: float, own: Side, server: Side, share: float, messages: int = 1) -> float:
    """Return the seconds for `size` bytes on both links, with `share` bit/s of the server's.

    The bytes travel in `messages`, each of which waits for an answer.
    """
    rate = min(own.net_rate, server.net_rate, share)
    return _bits(size) / rate + messages * sum(side.setup + side.delay for side in (own, server))


def _contended(server: Side, devices: Iterable[tuple[Side, int]]) -> float:
    """Return the rate of `server` if all `devices` together exceed the rate; infinite otherwise."""
    together = sum(side.net_rate * count for side, count in devices)
    return inf if together <= server.net_rate else server.net_rate


def _mean(cycles: Sequence[tuple[GroupCycle, int]]) -> GroupCycle:
    """Return the cycle of equal groups that update as often as the different groups, when alone.

    A group counts by its updates per second: a fast one comes to the server more often.
    """
    rates = [count / cycle.total for cycle, count in cycles]

    def weighted(times: Sequence[float]) -> float:
        return sum(rate * time for rate, time in zip(rates, times, strict=True)) / sum(rates)

    columns = zip(*(cycle.serial for cycle, _ in cycles), strict=True)
    return GroupCycle(weighted([cycle.conv for cycle, _ in cycles]), tuple(map(weighted, columns)))
