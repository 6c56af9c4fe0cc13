"""Plays the steps and traces of links in virtual time, from the run's zero on."""

from collections.abc import Iterator, Sequence

from ....scenario import Scenario
from ....scenario.timeline.link_changes import start_draw
from ....world.links.link import Link
from ....world.links.link_course import link_course
from ..clock import Heap
from .network import GroupLinks


class LinkPlayer:
    """Changes the links of devices as their scenario dates it. A group whose devices all change
    alike has one event a change."""

    def __init__(self, clock: Heap, scenario: Scenario, links: Sequence[GroupLinks]) -> None:
        """`links` has an item per group of devices. Links are as at the run's zero from now on."""
        self._clock, self._zero = clock, 0.0
        self._played: list[tuple[GroupLinks, Sequence[int], Iterator[tuple[float, Link]]]] = []
        for group, own in zip(scenario.devices, links, strict=True):
            if not group.link.changes:
                continue
            sides = (group.link.up, group.link.down)
            if any(side.trace is not None and side.trace.start.random for side in sides):
                for number, name in enumerate(group.names):
                    changes = link_course(group.link, start_draw(scenario.seed, name))
                    self._played.append((own, (number,), changes))
            else:
                everyone = range(len(group.names))
                self._played.append((own, everyone, link_course(group.link)))
        for own, numbers, changes in self._played:
            _, link = next(changes)
            self._change(own, numbers, link)

    def begin(self, zero: float) -> None:
        """Play from the driver's time `zero` on."""
        self._zero = zero
        for own, numbers, changes in self._played:
            self._plan(own, numbers, changes)

    def _plan(
        self, own: GroupLinks, numbers: Sequence[int], changes: Iterator[tuple[float, Link]]
    ) -> None:
        if (following := next(changes, None)) is not None:
            at, link = following
            self._clock.at(self._zero + at, self._do, own, numbers, changes, link)

    def _do(
        self,
        own: GroupLinks,
        numbers: Sequence[int],
        changes: Iterator[tuple[float, Link]],
        link: Link,
    ) -> None:
        self._change(own, numbers, link)
        self._plan(own, numbers, changes)

    @staticmethod
    def _change(own: GroupLinks, numbers: Sequence[int], link: Link) -> None:
        for number in numbers:
            own.change(number, link)
