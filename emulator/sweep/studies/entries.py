"""A study: entries that are compared over several seeds, each at its own best learning rate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...scenario import load
from .. import Point

_SCENARIOS = Path(__file__).parents[3] / "scenarios"


@dataclass(frozen=True)
class Entry:
    """One way to train, in one world."""

    world: str
    """Entries of one world are compared with each other."""
    name: str
    sets: tuple[str, ...]
    """Each a `PATH=VALUE` on top of the study's scenario."""
    rates: tuple[str, ...]
    """Learning rates, of which the best is its own."""

    def point(self, file: Path, rate: str, seed: int | None = None) -> Point:
        """To be played at that rate; `seed` None: the scenario's own."""
        sets = [*self.sets, f"training.learning_rate={rate}"]
        scenario = load(file, sets if seed is None else [*sets, f"seed={seed}"])
        label = f"{self.world},{self.name},rate={rate},seed={scenario.seed}"
        return Point(label, scenario, {"world": self.world, "entry": self.name, "rate": rate})


@dataclass(frozen=True)
class Study:
    """Entries on top of one scenario of `scenarios/`."""

    name: str
    about: str
    scenario: str
    entries: tuple[Entry, ...]
    target: float = 1.0
    """The best rate is the one that reaches this test accuracy (a fraction) in the fewest updates;
    where none does, the one that ends with the highest."""
    seeds: int = 3
    also: tuple[tuple[str, str], ...] = ()
    """Pairs of names: the first is played at the best rate of the second, too, in each world."""

    @property
    def file(self) -> Path:
        return _SCENARIOS / self.scenario

    def search(self) -> list[tuple[Entry, str, Point]]:
        """Every rate of every entry, with the scenario's own seed."""
        return [
            (entry, rate, entry.point(self.file, rate))
            for entry in self.entries
            for rate in entry.rates
        ]

    def seeded(self, entry: Entry, rate: str) -> list[Point]:
        """An entry at a rate with all seeds, the scenario's own first."""
        first = entry.point(self.file, rate)
        more = range(first.scenario.seed + 1, first.scenario.seed + self.seeds)
        return [first, *(entry.point(self.file, rate, seed) for seed in more)]

    def borrowed(self, best: Sequence[tuple[Entry, str]]) -> Iterator[tuple[Entry, str]]:
        """Who is to be played at whose best rate, unless that is its own."""
        rates = {(entry.world, entry.name): rate for entry, rate in best}
        for entry, own in best:
            for name, whose in self.also:
                if entry.name == name and (rate := rates[entry.world, whose]) != own:
                    yield entry, rate
