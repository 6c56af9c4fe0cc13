"""Episodes: the spans of time in which a fault strikes a device, drawn from the seed."""

from collections.abc import Iterator
from itertools import count
from random import Random

from ... import chance
from ...units import Seconds
from ...world.faults import Interval, Scheduled
from ...world.faults.occurrences import MOST_FAILURES


class EpisodeDraws:
    """Draws the episodes of the faults of a scenario, up to the plan's end.

    Each entry has a random stream for each device. An entry with `together` has one stream for all
    of its devices, and the streams of the devices give the delays of its `spread`.
    """

    def __init__(self, seed: int, horizon: float) -> None:
        """`horizon` is the plan's end in emulated seconds."""
        self._seed, self._horizon = seed, horizon
        self._common: dict[tuple[str, int, int], list[list[Interval]]] = {}

    def of(self, fault: Scheduled, node: str, profile: str, index: int) -> Iterator[Interval]:
        """Yield the episodes of `fault` on `node`, in order.

        The fault is entry number `index` of `profile`, or of the scenario if `profile` is empty.
        Raises ValueError if the fault strikes more often than a timeline may hold.
        """
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
