"""Study: entries compared over several seeds, all at their best learning rate."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...scenario import load
from .. import Point

_CHECKOUT = Path(__file__).parents[3] / "scenarios"
_WHEEL = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """A way to train in a world, for example an algorithm with a number of devices."""

    world: str
    """Group of entries that are compared with each other."""
    name: str
    sets: tuple[str, ...]
    """Overrides `PATH=VALUE` on top of the study's scenario."""
    rates: tuple[str, ...]
    """Learning rates to try, as text."""
    scenario: str = ""
    """Scenario file of `scenarios/` in place of the study's."""
    seeds: int | None = None
    """Number of seeds in place of the study's."""
    short: bool = False
    """Whether the runs are so short that they share processes."""

    def point(self, file: Path, rate: str, seed: int | None = None) -> Point:
        """Return the point with learning rate `rate`; `seed` None means the scenario's own."""
        overrides = [*self.sets, f"training.learning_rate={rate}"]
        scenario = load(file, overrides if seed is None else [*overrides, f"seed={seed}"])
        label = f"{self.world},{self.name},rate={rate},seed={scenario.seed}"
        return Point(label, scenario, {"world": self.world, "entry": self.name, "rate": rate})


@dataclass(frozen=True)
class Study:
    """Entries on top of a scenario of `scenarios/`."""

    name: str
    about: str
    scenario: str
    entries: tuple[Entry, ...]
    target: float = 1.0
    """Test accuracy, a fraction, that decides the best rate: the first to reach it in updates; if
    no rate does, the rate with the highest accuracy at the end."""
    seeds: int = 3
    """Number of seeds, from the scenario's own on."""
    also: tuple[tuple[str, str], ...] = ()
    """Pairs of entries: the first is also played at the best rate of the second, in every world."""
    plans: Callable[[Path], dict[str, Any]] | None = None
    """Function from the path of the scenario to JSON types that need no run, for the figures."""

    def file(self, entry: Entry | None = None) -> Path:
        """Return the path of the scenario of `entry`, or of the study; a wheel carries it beside
        this module.
        """
        scenario = (entry.scenario if entry else "") or self.scenario
        in_wheel = _WHEEL / scenario
        return in_wheel if in_wheel.is_file() else _CHECKOUT / scenario

    def search(self) -> list[tuple[Entry, str, Point]]:
        """Return every entry with every rate and a point with the scenario's own seed."""
        return [
            (entry, rate, entry.point(self.file(entry), rate))
            for entry in self.entries
            for rate in entry.rates
        ]

    def seeded(self, entry: Entry, rate: str) -> list[Point]:
        """Return points of `entry` at `rate` for all seeds, the scenario's own first."""
        first = entry.point(self.file(entry), rate)
        more = range(first.scenario.seed + 1, first.scenario.seed + (entry.seeds or self.seeds))
        return [first, *(entry.point(self.file(entry), rate, seed) for seed in more)]

    def borrowed(self, best: Sequence[tuple[Entry, str]]) -> Iterator[tuple[Entry, str]]:
        """Yield entries of `also` with the other's best rate, unless it equals their own."""
        rates = {(entry.world, entry.name): rate for entry, rate in best}
        for entry, own_rate in best:
            for name, lender in self.also:
                if entry.name == name and (rate := rates[entry.world, lender]) != own_rate:
                    yield entry, rate
