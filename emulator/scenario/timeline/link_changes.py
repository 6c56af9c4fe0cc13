"""Links in a run: as written, by steps and traces, under faults, and where they fall silent."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from ... import chance
from ...units import Rate, Seconds, three_digits
from ...world.faults import Scheduled
from ...world.links.bottleneck import SharedLink
from ...world.links.link import WAYS, Link, Side
from ...world.links.link_course import MOST_CACHED, side_course, silent_from, slowest
from ...world.links.offered_traffic import peak, rate_left
from ...world.links.reshaping import VERB, reshaped
from ...world.links.traces.trace_statistics import statistics
from ...world.verbs import Setting, row
from ..model import Scenario
from ..reading.document import Address, place
from ..sections.devices import Background, BackgroundSide, Group
from .compiled import Timed

_LISTED = 3
"""Steps of a side that a table lists; it counts the others."""


def start_draw(seed: int, device: str) -> float:
    """Return the draw, from 0 to below 1, that places traces with a random start on `device`."""
    return Random(chance.trace_start(seed, device)).random()


def step_words(steps: Sequence[Mapping[str, Any]]) -> str:
    """Return `steps` in words, for example `from 10s rate 1mbit; from 20s delay 80ms loss 1%`."""
    words = []
    for step in steps[:_LISTED]:
        new = " ".join(f"{key} {value}" for key, value in step.items() if key != "at")
        words.append(f"from {step['at']} {new}")
    if len(steps) > _LISTED:
        words.append(f"{len(steps) - _LISTED} more until {steps[-1]['at']}")
    return "; ".join(words)


def change_words(side: Side) -> str:
    """Return the changes of `side` in words; empty for a side without changes."""
    if side.steps:
        return f"({step_words([{'at': step.at, **step.named} for step in side.steps])})"
    if side.trace is None:
        return ""
    played, found = side.trace, statistics(side.trace.trace.scaled(side.trace.scale))
    words = [f"trace {played.file or ''}".strip(), f"of {Seconds(round(found.duration, 3))}"]
    words += ["looped"] if played.loop else []
    words += [f"from {played.start}"] if played.start else []
    if found.rate is not None:
        mean, low, high = (
            Rate(three_digits(rate)) if rate else "0"
            for rate in (found.rate.mean, found.rate.p5, found.rate.p95)
        )
        words.append(f"(mean {mean}, p5 {low}, p95 {high}, {found.outage:.1%} outage)")
    return " ".join(words)


def change_facts(side: Side) -> dict[str, Any]:
    """Return the changes of `side` as JSON types: the steps, or the trace's statistics."""
    facts: dict[str, Any] = {}
    if side.steps:
        facts["steps"] = [step.plain() for step in side.steps]
    if side.trace is not None:
        played = side.trace
        start = None if played.start.random else float(played.start)
        keys = {"file": played.file, "loop": played.loop, "scale": played.scale, "start": start}
        facts["trace"] = {**keys, **statistics(played.trace.scaled(played.scale)).plain()}
    return facts


def reshaped_links(scenario: Scenario) -> dict[str, tuple[Link, ...]]:
    """Return, by name of the device, the links that faults and the link's own changes may give.

    Devices whose links never change have no entry. Of a link with steps or a trace the slowest
    link counts, as `link_course.slowest` says, and of one with background traffic what that leaves.
    """
    aimed = _aimed(scenario)
    links: dict[str, tuple[Link, ...]] = {}
    for group in scenario.devices:
        own, slower = _own(group), group.link.changes or group.background is not None
        if not (own or aimed or slower):
            continue
        link = _shared_with(slowest(group.link), group.background)
        common = (*([link] if slower else []), *_links(link, own))
        others = [
            (reshaped(link, setting), names)
            for setting, names in aimed
            if not names.isdisjoint(group.names)  # a link of another group may not take it
        ]
        for name in group.names:
            found = common + tuple(link for link, names in others if name in names)
            if found:
                links[name] = found
    return links


def changed_network_links(scenario: Scenario) -> dict[str, list[Setting]]:
    """Return the settings with which faults may change links of the network, by the link's name."""
    changes: dict[str, list[Setting]] = {}
    for setting, names in _aimed(scenario) if scenario.network else ():
        for link in names & scenario.behind_links.keys():
            changes.setdefault(link, []).append(setting)
    return changes


def links_of_groups(scenario: Scenario) -> dict[str, tuple[Link, ...]]:
    """Return, by group, the link of its devices, then those that faults may make of it."""
    aimed = _aimed(scenario)
    found = {}
    for group in scenario.devices:
        settings = [*_own(group), *(each for each, names in aimed if names & {*group.names})]
        found[group.name] = (group.link, *_links(group.link, settings))
    return found


def _aimed(scenario: Scenario) -> list[tuple[Setting, frozenset[str]]]:
    """Return the settings with which the faults of `scenario` change links, with the devices."""
    return [
        (setting, frozenset(scenario.targets_of_faults.aimed(index)))
        for index, fault in enumerate(scenario.faults)
        if (setting := _setting(fault)) is not None
    ]


def _own(group: Group) -> list[Setting]:
    """Return the settings with which the failure profiles of `group` change links."""
    entries = [entry for profile in group.failures for entry in profile.faults]
    return [setting for entry in entries if (setting := _setting(entry)) is not None]


def _setting(fault: Scheduled) -> Setting | None:
    """Return the setting with which `fault` changes a link, or None if links stay as they are."""
    begin = fault.begin("")
    return begin.setting if begin.verb == VERB else None


def _shared_with(link: Link, background: Background | None) -> Link:
    """Return what `background` traffic leaves of `link`."""
    if background is None:
        return link
    return Link(_left(link.up, background, "up"), _left(link.down, background, "down"))


def _left(side: Side, background: Background, way: str) -> Side:
    stream: BackgroundSide | None = getattr(background, way)
    if side.rate is None or stream is None:
        return side
    heedless, fair = (peak(stream), 0) if background.kind == "udp" else (0.0, 1)
    return replace(side, rate=Rate(rate_left(side.rate, heedless, fair)))


def _links(link: Link, settings: Sequence[Setting]) -> tuple[Link, ...]:
    return tuple(reshaped(link, setting) for setting in settings)


def silent_links(scenario: Scenario, schedule: Iterable[Timed]) -> dict[str, float]:
    """Return, by device, the second of the run from which its link carries nothing for good.

    `schedule` are the actions of the run's faults in order, some of which change links.
    """
    changes: dict[str, list[tuple[float, Setting | None]]] = defaultdict(list)
    for timed in schedule:
        if row(timed.action.verb).name == VERB:
            changes[timed.action.node].append((timed.at, timed.action.setting))
    silent = {}
    for group in scenario.devices:
        if not (group.link.changes or changes):
            continue
        for name in group.names:
            if (own := changes.get(name)) or group.link.changes:
                draw = start_draw(scenario.seed, name)
                at = _silent_from(group.link, [(0.0, None), *(own or [])], draw)
                if at < math.inf:
                    silent[name] = at
    return silent


def _silent_from(link: Link, settings: list[tuple[float, Setting | None]], draw: float) -> float:
    """Return the second from which `link` carries nothing for good.

    `settings` are those of the verb `reshape`, each with its time, in order.
    """
    until, silent = math.inf, math.inf
    for begin, setting in reversed(settings):
        at = max(begin, silent_from(link, setting, draw))
        if at >= until:
            break
        silent = at
        if at > begin:
            break
        until = begin
    return silent


class Moment(NamedTuple):
    """A direction of a link at some moment of a run."""

    place: str
    """Place of the direction, or of the fault that changes the direction of a group's link."""
    part: str
    """Place inside of the step or the trace that makes the moment; empty for the side's own."""
    side: Side
    traced: bool
    """Whether the rate comes from a sample of a trace."""


def link_moments(scenario: Scenario) -> Iterator[Moment]:
    """Yield the directions that the links of `scenario` may have; of a trace the extremes.

    A device behind a bottleneck or a network has their delays, too.
    """
    yield from _of_link("server.link", scenario.server.link, _unchanged)
    for number, group in enumerate(scenario.devices):
        for shared in _shared(scenario, group):
            yield from _of_link(f"devices[{number}].link", group.link, shared.lengthen)
    for address, fault, group in link_faults(scenario):
        where, setting = f"{place(address)}: {group.name}: link", fault.begin("").setting
        for shared in _shared(scenario, group):
            if setting is not None and "link" in setting:  # hides the steps and the trace
                yield from _of_link(where, reshaped(group.link, setting), shared.lengthen)
            else:
                yield from _of_link(where, group.link, _faulty(setting, shared))


def _unchanged(link: Link) -> Link:
    return link


def _faulty(setting: Setting | None, shared: SharedLink) -> Callable[[Link], Link]:
    """Return the function that changes a link by a fault's `setting`, then by the delays of
    `shared`, as a node does."""
    return lambda link: shared.lengthen(reshaped(link, setting))


def link_faults(scenario: Scenario, verb: str = VERB) -> Iterator[tuple[Address, Scheduled, Group]]:
    """Yield place, fault and group for each fault that changes links of devices of the group.

    With another `verb`, for each fault that begins with the verb.
    """
    for entry in scenario.targets_of_faults.entries():
        if entry.fault.begin("").verb != verb:
            continue
        if entry.group is not None:
            yield entry.place, entry.fault, entry.group
            continue
        aimed = frozenset(entry.names)
        for group in scenario.devices:
            if not aimed.isdisjoint(group.names):
                yield entry.place, entry.fault, group


def _shared(scenario: Scenario, group: Group) -> list[SharedLink]:
    """Return the bottlenecks and routes in front of the devices of `group`, each once; a device
    without any has one that changes nothing."""
    none = SharedLink()
    if not scenario.shared_of:
        return [none]
    return list(dict.fromkeys(scenario.shared_of.get(name, none) for name in group.names))


def _of_link(where: str, link: Link, changed: Callable[[Link], Link]) -> Iterator[Moment]:
    """Yield the directions of `link`, of which each moment is as `changed` makes it."""
    for way in WAYS:
        for part, side, traced in _moments(getattr(link, way)):
            now = getattr(changed(Link(**{way: side})), way)
            yield Moment(f"{where}.{way}", part, now, traced)


@lru_cache(maxsize=MOST_CACHED)
def _moments(side: Side) -> tuple[tuple[str, Side, bool], ...]:
    """Return the directions that `side` may have, with the places of the step or the trace, and
    whether the rate is a sample's."""
    if not side.changes:
        return (("", side, False),)
    sides = side_course(side).sides
    if side.trace is None:
        first = len(sides) - len(side.steps)  # 1, unless a step begins at 0
        steps = ((f".steps[{at}]", each, False) for at, each in enumerate(sides[first:]))
        return (*(("", each, False) for each in sides[:first]), *steps)
    sampled = [sample.rate is not None for sample in side.trace.played.samples]
    moments = list(zip(sides, sampled, strict=True))
    extremes = [
        max(moments, key=lambda each: each[0].rate or 0.0),
        max(moments, key=lambda each: each[0].delay),
        max(moments, key=lambda each: (each[0].rate or 0.0) * each[0].delay),
        *[each for each in moments if not each[1]][:1],  # has the side's own rate
    ]
    return tuple((".trace", each, traced) for each, traced in dict.fromkeys(extremes))
