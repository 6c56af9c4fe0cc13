"""Study: entries compared over several seeds, all at their best learning rate."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...errors import ScenarioError
from ...scenario import Override, load
from .. import Point


@dataclass(frozen=True)
class Entry:
    """A way to train in a world, for example an algorithm with a number of devices."""

    world: str
    """Group of entries that are compared with each other."""
    name: str
    """Name in the tables, with the values of `over`: `AdaComp, c = 1%`."""
    scenario: Path
    """File of the base scenario."""
    sets: tuple[str, ...]
    """Overrides `PATH=VALUE` on top of the scenario."""
    rates: tuple[str, ...]
    """Learning rates to try, as text."""
    seeds: int = 3
    """Number of seeds, from the scenario's own on."""
    short: bool = False
    """Whether the runs are so short that they share processes."""
    over: Mapping[str, str] = field(default_factory=dict)
    """Value on each grid of the entry's block, by the name of the grid."""
    on: str = "virtual"
    """Runtime that plays the entry: `virtual` or `docker`."""
    place: str = field(default="--set", compare=False)
    """File and key of the entry, for messages about its overrides."""

    @property
    def key(self) -> tuple[str, str, str]:
        """World, name and runtime, by which the entries of a study differ."""
        return self.world, self.name, self.on

    @property
    def in_containers(self) -> bool:
        """Whether the entry is played in containers."""
        return self.on == "docker"

    @property
    def written(self) -> str:
        """The name in the file, without the values of `over`."""
        return self.name.removesuffix(grid_text(self.over))

    def point(self, rate: str, seed: int | None = None) -> Point:
        """Return the point with learning rate `rate`; `seed` None means the scenario's own."""
        texts = [*self.sets, f"training.learning_rate={rate}"]
        texts += [] if seed is None else [f"seed={seed}"]
        scenario = load(self.scenario, [Override(text, self.place) for text in texts])
        label = f"{self.world},{self.name},rate={rate},seed={scenario.seed}"
        values = {"world": self.world, "entry": self.name, "rate": rate}
        if self.in_containers:
            label, values = f"{label},on={self.on}", {**values, "on": self.on}
        return Point(label, scenario, values, short=self.short, on=self.on)

    def seeded(self, rate: str) -> list[Point]:
        """Return points at `rate` for all seeds, the scenario's own first."""
        first = self.point(rate)
        seed = first.scenario.seed
        return [first, *(self.point(rate, more) for more in range(seed + 1, seed + self.seeds))]


def grid_text(over: Mapping[str, str]) -> str:
    """Return the end of an entry's name with values on grids, as `, c = 1%`."""
    return "".join(f", {axis} = {value}" for axis, value in over.items())


@dataclass(frozen=True)
class Quick:
    """A smaller version of a study, to see the same code at work within minutes, in virtual time
    alone."""

    sets: tuple[str, ...] = ()
    """Overrides `PATH=VALUE` of every entry, after its own."""
    seeds: int = 1
    """Largest number of seeds."""
    rates: int = 1
    """Largest number of learning rates: those in the middle of each entry's."""
    worlds: tuple[str, ...] = ()
    """Worlds to keep; all if empty."""
    over: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Values to keep on some grids."""

    def of(self, entry: Entry) -> Entry | None:
        """Return the smaller version of `entry`; None if it is left out."""
        if entry.in_containers or (self.worlds and entry.world not in self.worlds):
            return None
        if any(entry.over.get(axis, kept[0]) not in kept for axis, kept in self.over.items()):
            return None
        skipped = max(0, len(entry.rates) - self.rates) // 2
        return replace(
            entry,
            sets=(*entry.sets, *self.sets),
            rates=entry.rates[skipped : skipped + self.rates],
            seeds=min(entry.seeds, self.seeds),
        )


@dataclass(frozen=True)
class Study:
    """A study: the entries to compare for the answer to one question."""

    name: str
    about: str
    scenario: Path
    """File of the scenario on which most entries are based."""
    entries: tuple[Entry, ...]
    target: float = 1.0
    """Test accuracy, a fraction, that decides the best rate: the first to reach it in updates; if
    no rate does, the rate with the highest accuracy at the end."""
    also: tuple[tuple[str, str], ...] = ()
    """Pairs of entries: the first is also played at the best rate of the second, in every world."""
    plans: str = ""
    """Name in `PLANS` of what is computed without a run, for the figures."""
    question: str = ""
    paper: str = ""
    """Folder of the study's file, named after its paper."""
    quick: Quick = Quick()

    @property
    def in_containers(self) -> bool:
        """Whether some entries are played in containers."""
        return any(entry.in_containers for entry in self.entries)

    def smaller(self) -> "Study":
        """Return the quick version of the study."""
        entries = tuple(small for entry in self.entries if (small := self.quick.of(entry)))
        return replace(self, entries=entries)

    def only(self, names: Collection[str]) -> "Study":
        """Return the study with the entries called one of `names`, with their grid or without."""
        kept = tuple(each for each in self.entries if {each.name, each.written} & {*names})
        return replace(self, entries=kept)

    def search(self) -> list[tuple[Entry, str, Point]]:
        """Return every entry with every rate and a point with the scenario's own seed.

        Raises ScenarioError with the mistakes of all entries, each once.
        """
        found: list[tuple[Entry, str, Point]] = []
        mistakes: dict[str, None] = {}
        for entry in self.entries:
            for rate in entry.rates:
                try:
                    found.append((entry, rate, entry.point(rate)))
                except ScenarioError as error:
                    mistakes |= dict.fromkeys(str(error).splitlines())
        if mistakes:
            raise ScenarioError("\n".join(mistakes))
        return found

    def borrowed(self, best: Sequence[tuple[Entry, str]]) -> Iterator[tuple[Entry, str]]:
        """Yield entries of `also` with the other's best rate, unless it equals their own."""
        rates = {entry.key: rate for entry, rate in best}
        for entry, own_rate in best:
            for name, lender in self.also:
                rate = rates.get((entry.world, lender, entry.on), own_rate)
                if entry.name == name and rate != own_rate:
                    yield entry, rate
