"""The directions of links as a run may play them: as written, by steps, by traces, under faults."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from ...world.faults import Scheduled
from ...world.links.bottleneck import SharedLink
from ...world.links.link import WAYS, Link, Side
from ...world.links.link_course import MANY, side_course
from ...world.links.reshaping import VERB, reshaped
from ...world.verbs import Setting
from ..model import Scenario
from ..reading.document import Address, place
from ..sections.devices import Group


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

    A device behind a bottleneck has the bottleneck's delay, too.
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
    for index, fault in enumerate(scenario.faults):
        if fault.begin("").verb == verb:
            aimed = frozenset(scenario.targets_of_faults.aimed(index))
            for group in scenario.devices:
                if not aimed.isdisjoint(group.names):
                    yield ("faults", index), fault, group
    for number, group in enumerate(scenario.devices):
        for nth, profile in enumerate(group.failures):
            for index, entry in enumerate(profile.faults):
                if entry.begin("").verb == verb:
                    yield ("devices", number, "failures", nth, "faults", index), entry, group


def _shared(scenario: Scenario, group: Group) -> list[SharedLink]:
    """Return the bottlenecks in front of the devices of `group`, each once; a device without one
    has one that changes nothing."""
    if not scenario.bottlenecks:
        return [SharedLink()]
    found = {id(each): each for each in map(scenario.bottleneck_of.get, group.names)}
    return [SharedLink() if each is None else each.shared for each in found.values()]


def _of_link(where: str, link: Link, changed: Callable[[Link], Link]) -> Iterator[Moment]:
    """Yield the directions of `link`, of which each moment is as `changed` makes it."""
    for way in WAYS:
        for part, side, traced in _moments(getattr(link, way)):
            now = getattr(changed(Link(**{way: side})), way)
            yield Moment(f"{where}.{way}", part, now, traced)


@lru_cache(maxsize=MANY)
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
