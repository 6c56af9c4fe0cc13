"""Changes of links in a run: by themselves, by faults, and into silence."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from ... import chance
from ...units import Rate, Seconds, three_digits
from ...world.faults import Scheduled
from ...world.links.link import Link, Side
from ...world.links.link_course import silent_from, slowest
from ...world.links.reshaping import VERB, reshaped
from ...world.links.traces.trace_statistics import statistics
from ...world.verbs import Setting, row
from ..model import Scenario
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
    link counts, as `link_course.slowest` says.
    """
    aimed = [
        (setting, frozenset(scenario.targets_of_faults.aimed(index)))
        for index, fault in enumerate(scenario.faults)
        if (setting := _setting(fault)) is not None
    ]
    links: dict[str, tuple[Link, ...]] = {}
    for group in scenario.devices:
        entries = [entry for profile in group.failures for entry in profile.faults]
        own = [setting for entry in entries if (setting := _setting(entry)) is not None]
        if not (own or aimed or group.link.changes):
            continue
        link = slowest(group.link)
        common = (*([link] if group.link.changes else []), *_links(link, own))
        others = [(reshaped(link, setting), names) for setting, names in aimed]
        for name in group.names:
            found = common + tuple(link for link, names in others if name in names)
            if found:
                links[name] = found
    return links


def _setting(fault: Scheduled) -> Setting | None:
    """Return the setting with which `fault` changes a link, or None if links stay as they are."""
    begin = fault.begin("")
    return begin.setting if begin.verb == VERB else None


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
