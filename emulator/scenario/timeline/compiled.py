"""The timeline: the schedule of a run's faults, compiled before the run begins.

It holds the faults of the scenario and of its failure profiles, drawn from the seed. Faults of one
verb that overlap on a node are one fault, of the kind that began first: a device killed twice is
down until the later end. If their settings differ, the first holds the node until its end, and then
the next one takes over for the rest of its time. Faults of different verbs stay apart: a device
that boots while a partition lasts is still cut off, and the runtime takes care of that.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from random import Random
from typing import NamedTuple

from ... import chance
from ...errors import ScenarioError
from ...log.records.fault_records import TimelineRecord
from ...units import Seconds
from ...world import verbs
from ...world.faults import Interval, Scheduled
from ...world.faults.occurrences import MOST_FAILURES
from ...world.roles import SERVER
from ...world.verbs import Action
from ..model import Scenario
from ..sections.fault_targets import FaultEntry


class EpisodeDraws:
    """Draws the episodes of the faults of a scenario, up to the plan's end.

    Each entry has a random stream for each device. An entry with `together` has one stream for all
    of its devices, and the streams of the devices give the delays of its `spread`.
    """

    def __init__(self, seed: int, horizon: float) -> None:
        """`horizon` is the plan's end in emulated seconds."""
        self._seed, self._horizon = seed, horizon
        self._common: dict[tuple[str, int, int], list[list[Interval]]] = {}

    def of(self, entry: FaultEntry, node: str) -> Iterator[Interval]:
        """Yield the episodes of the fault of `entry` on `node`, in order.

        Raises ValueError if the fault strikes more often than a timeline may hold.
        """
        fault, profile, index = entry.fault, entry.list_name, entry.index
        # the stream bears the names of the device and the profile, so that adding another device or
        # profile does not shift its draws
        own = Random(chance.faults(self._seed, node, profile, index))
        if not fault.together:
            for episodes in self._spells(fault, own, node):
                yield from episodes
            return
        key = profile, index, id(fault)
        if key not in self._common:
            stream = Random(chance.common_faults(self._seed, profile, index))
            self._common[key] = list(map(list, self._spells(fault, stream, None)))
        for spell in self._common[key]:
            delay = 0.0 if fault.spread is None else fault.spread.draw(own)
            for episode in spell:
                yield Interval(episode.begin + delay, episode.end + delay)

    def _spells(
        self, fault: Scheduled, rng: Random, node: str | None
    ) -> Iterator[Iterator[Interval]]:
        """Yield the episodes of all occurrences of `fault`, at most `MOST_FAILURES` in total, on
        `node` or on all targets together.

        A consumer takes all episodes of an occurrence before the next one: both draw from `rng`.
        """
        numbers = count(1)
        for interval in fault.intervals(rng, self._horizon):
            yield self._within(fault.episodes_on(node, interval, rng), numbers)

    def _within(self, episodes: Iterator[Interval], numbers: Iterator[int]) -> Iterator[Interval]:
        """Yield `episodes`, which may be endless, until an episode begins after the plan's end.

        Raises ValueError if the next of `numbers` exceeds `MOST_FAILURES`.
        """
        for episode in episodes:
            if episode.begin >= self._horizon:
                return
            if next(numbers) > MOST_FAILURES:
                until = Seconds(self._horizon)
                raise ValueError(f"more than {MOST_FAILURES:,} failures before {until}")
            yield episode


HORIZON = 24 * 3600.0
"""Emulated seconds for which recurring faults are drawn when a scenario has no `stop.time`."""


@dataclass(frozen=True)
class Timed:
    """An action with its time, in emulated seconds since every device said hello."""

    at: float
    action: Action

    @property
    def record(self) -> TimelineRecord:
        """The action as a line of `timeline.jsonl`."""
        action = self.action
        facts = action.verb, action.node, action.fault, action.begins, action.setting
        return TimelineRecord(self.at, *facts)


class Outage(NamedTuple):
    """A fault of a node from `begin` to `end`, in emulated seconds.

    `end` is infinite for a permanent fault.
    """

    node: str
    fault: Scheduled
    begin: float
    end: float
    begins: Action
    """Action at the begin."""
    ends: Action
    """Action at the end of a temporary fault."""


def timeline(scenario: Scenario) -> list[Timed]:
    """Return the actions of all dated faults of `scenario`, in order.

    The result depends on the scenario and its seed only. Raises ScenarioError if a failure profile
    makes a device fail more than 10,000 times.
    """
    end, order = horizon(scenario), _positions(scenario)
    actions = chain.from_iterable(map(_actions, outages(scenario)))
    within = (timed for timed in actions if timed.at < end)
    # stable, so that a fault without a duration begins before it ends, and one that takes over
    # from a fault with another setting begins behind the end of that
    planned = sorted(
        within,
        key=lambda timed: (timed.at, order[timed.action.node], verbs.ORDER[timed.action.verb]),
    )
    return server_back(planned, end)


def server_back(schedule: Sequence[Timed], end: float) -> list[Timed]:
    """Return `schedule`, in order, with a server that is back at `end` seconds at the latest.

    The server alone can end the run. Its actions behind `end` are left out.
    """
    of_server = [timed for timed in schedule if timed.action.node == SERVER and timed.at < end]
    if not of_server or not of_server[-1].action.begins:
        return list(schedule)
    kept = [timed for timed in schedule if timed.action.node != SERVER or timed.at < end]
    down = of_server[-1].action
    back = Timed(end, Action(verbs.row(down.verb).undone_by, SERVER, down.fault))
    place = bisect_left(kept, end, key=lambda timed: timed.at)
    return [*kept[:place], back, *kept[place:]]


def ends_beyond(scenario: Scenario) -> list[Timed]:
    """Return the ends of temporary faults that come after the plan's end, in order.

    The timeline does not hold them, but a device with such a fault is not gone for good.
    """
    end = horizon(scenario)
    actions = chain.from_iterable(map(_actions, outages(scenario)))
    return sorted((timed for timed in actions if timed.at >= end), key=lambda timed: timed.at)


def outages(scenario: Scenario) -> list[Outage]:
    """Return the dated faults of `scenario`, ordered by their begin, overlaps merged."""
    by_verb: dict[tuple[str, str], list[Outage]] = defaultdict(list)
    end, order = horizon(scenario), _positions(scenario)
    draws = EpisodeDraws(scenario.seed, end)
    for outage in _drawn(scenario, draws):
        by_verb[outage.node, outage.begins.verb].append(outage)
    merged = chain.from_iterable(map(_merged, by_verb.values()))
    within = [outage for outage in merged if outage.begin < end]
    return sorted(within, key=lambda outage: (outage.begin, order[outage.node], outage.fault.kind))


def verbs_of_faults(scenario: Scenario) -> set[str]:
    """Return the verbs that may begin a fault in `scenario`, planned ahead or drawn by a device."""
    return {entry.fault.begin("").verb for entry in scenario.targets_of_faults.entries()}


def presses(scenario: Scenario) -> bool:
    """Return whether a fault of `scenario` takes memory of a device."""
    return any(verbs.row(verb).revives for verb in verbs_of_faults(scenario))


def horizon(scenario: Scenario) -> float:
    """Return the emulated second at which the plan ends: `stop.time`, or else `HORIZON`."""
    return HORIZON if scenario.stop.time is None else float(scenario.stop.time)


def to_jsonl(schedule: Iterable[Timed]) -> str:
    """Return `schedule` as the text of `timeline.jsonl`, with an action on every line."""
    return "".join(timed.record.line() for timed in schedule)


def _positions(scenario: Scenario) -> dict[str, int]:
    """Return the position of each device in the file, by name; the server comes first, and links
    of the network last."""
    nodes = [*(node.name for node in scenario.nodes), *scenario.behind_links]
    return {SERVER: -1, **{name: place for place, name in enumerate(nodes)}}


def _drawn(scenario: Scenario, draws: EpisodeDraws) -> Iterator[Outage]:
    """Yield the outages of each entry, as drawn. Raises ScenarioError with the entry's place."""
    for entry in scenario.targets_of_faults.entries():
        for node in entry.names:
            struck = [
                (each, entry.fault.begin(each), entry.fault.end(each))  # shared: a day has many
                for each in _struck(scenario, entry.fault, node)
            ]
            try:
                for begin, end in draws.of(entry, node):
                    # to the microsecond: people read the schedule, and tests compare its bytes
                    times = round(begin, 6), round(end, 6)
                    for each, *actions in struck:
                        yield Outage(each, entry.fault, *times, *actions)
            except ValueError as error:
                at = f"faults[{entry.index}]"
                where = (
                    f"{node}: failures: {entry.list_name}: {at}"
                    if entry.group
                    else (f"{at}: {node}")
                )
                raise ScenarioError(f"{where}: {error}") from error


def _struck(scenario: Scenario, fault: Scheduled, node: str) -> tuple[str, ...]:
    """Return the nodes that `fault` strikes at the times drawn for `node`.

    A link of the network has another rate and delay by itself; when it is cut, all devices behind
    it are.
    """
    behind = scenario.behind_links.get(node)
    cut = behind is not None and verbs.row(fault.begin("").verb).severs
    return behind if behind is not None and cut else (node,)


def _merged(outages: Sequence[Outage]) -> list[Outage]:
    """Return `outages`, of one node and verb, as intervals that do not overlap."""
    merged: list[Outage] = []
    for outage in sorted(outages, key=lambda outage: (outage.begin, outage.end)):
        # sorted by begin, so only the last interval can overlap the next one
        if merged and outage.begin <= merged[-1].end:
            last = merged[-1]
            if outage.end <= last.end:
                continue
            if outage.begins.setting == last.begins.setting:
                merged[-1] = last._replace(end=outage.end)
                continue
            outage = outage._replace(begin=last.end)
        merged.append(outage)
    return merged


def _actions(outage: Outage) -> Iterator[Timed]:
    """Yield the action at the begin of `outage`, and the action at the end of a temporary fault."""
    yield Timed(outage.begin, outage.begins)
    if outage.end < math.inf:
        yield Timed(outage.end, outage.ends)
