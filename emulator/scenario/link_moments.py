"""The directions of links as a run may play them: as written, by steps, by traces, under faults."""

from collections.abc import Iterator
from typing import NamedTuple

from ..faults import Scheduled
from ..world.link import Link, Side
from ..world.link_course import side_course
from ..world.reshaping import VERB, reshaped
from .devices import Group
from .model import Scenario
from .reading.document import Address, place

WAYS = ("up", "down")


class Moment(NamedTuple):
    """A direction of a link at some moment of a run."""

    place: str
    """Place of the direction, or of the fault that changes the direction of a group's link."""
    part: str
    """Place inside of the step or the trace that makes the moment; empty for the side's own."""
    side: Side

    @property
    def traced(self) -> bool:
        """Whether the values are a trace's."""
        return self.part == ".trace"


def link_moments(scenario: Scenario) -> Iterator[Moment]:
    """Yield the directions that the links of `scenario` may have; of a trace the extremes.

    A device behind a bottleneck has the bottleneck's delay, too.
    """
    yield from _of_link("server.link", scenario.server.link)
    for number, group in enumerate(scenario.devices):
        for link in _paths(scenario, group):
            yield from _of_link(f"devices[{number}].link", link)
    for address, fault, group in link_faults(scenario):
        setting = fault.begin("").setting
        for link in _paths(scenario, group):
            for way in WAYS:
                for part, side in _moments(getattr(link, way)):
                    worse = getattr(reshaped(Link(**{way: side}), setting), way)
                    yield Moment(f"{place(address)}: {group.name}: link.{way}", part, worse)


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


def _paths(scenario: Scenario, group: Group) -> list[Link]:
    """Return the link of `group`, with the delays of each bottleneck in front of its devices."""
    if not scenario.bottlenecks:
        return [group.link]
    found = {id(each): each for each in map(scenario.bottleneck_of.get, group.names)}
    return [
        group.link if each is None else each.shared.lengthen(group.link) for each in found.values()
    ]


def _of_link(where: str, link: Link) -> Iterator[Moment]:
    for way in WAYS:
        for part, side in _moments(getattr(link, way)):
            yield Moment(f"{where}.{way}", part, side)


def _moments(side: Side) -> list[tuple[str, Side]]:
    """Return the directions that `side` may have, with the places of the step or the trace."""
    if not side.changes:
        return [("", side)]
    sides = side_course(side).sides
    if side.trace is None:
        first = len(sides) - len(side.steps)  # 1, unless a step begins at 0
        parts = [("", each) for each in sides[:first]]
        return parts + [(f".steps[{at}]", each) for at, each in enumerate(sides[first:])]
    extremes = (
        max(sides, key=lambda each: each.rate or 0.0),
        max(sides, key=lambda each: each.delay),
        max(sides, key=lambda each: (each.rate or 0.0) * each.delay),
    )
    return [(".trace", each) for each in dict.fromkeys(extremes)]
