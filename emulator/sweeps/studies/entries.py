"""Study: entries compared over several seeds, all at their best learning rate."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ...errors import ScenarioError
from ...scenario import load
from ...scenario.reading.yaml_subset import read
from .. import Point


@dataclass(frozen=True)
class Entry:
    """A way to train in a world, for example an algorithm with a number of devices."""

    world: str
    """Group of entries that are compared with each other."""
    name: str
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

    def point(self, rate: str, seed: int | None = None) -> Point:
        """Return the point with learning rate `rate`; `seed` None means the scenario's own."""
        overrides = [*self.sets, f"training.learning_rate={rate}"]
        scenario = load(self.scenario, overrides if seed is None else [*overrides, f"seed={seed}"])
        label = f"{self.world},{self.name},rate={rate},seed={scenario.seed}"
        return Point(label, scenario, {"world": self.world, "entry": self.name, "rate": rate})

    def seeded(self, rate: str) -> list[Point]:
        """Return points at `rate` for all seeds, the scenario's own first."""
        first = self.point(rate)
        seed = first.scenario.seed
        return [first, *(self.point(rate, more) for more in range(seed + 1, seed + self.seeds))]


@dataclass(frozen=True)
class Study:
    """Entries that answer one question."""

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

    def search(self) -> list[tuple[Entry, str, Point]]:
        """Return every entry with every rate and a point with the scenario's own seed."""
        return [(entry, rate, entry.point(rate)) for entry in self.entries for rate in entry.rates]

    def borrowed(self, best: Sequence[tuple[Entry, str]]) -> Iterator[tuple[Entry, str]]:
        """Yield entries of `also` with the other's best rate, unless it equals their own."""
        rates = {(entry.world, entry.name): rate for entry, rate in best}
        for entry, own_rate in best:
            for name, lender in self.also:
                if entry.name == name and (rate := rates[entry.world, lender]) != own_rate:
                    yield entry, rate


# -- the file --------------------------------------------------------------------------------------


class _Setting(msgspec.Struct, forbid_unknown_fields=True):
    """What a block, a world or an entry says; an entry's word counts before those around it."""

    set: dict[str, Any] = {}
    """Values by the path of their key in the scenario."""
    rates: list[float] | dict[str, list[float]] | None = None
    """Learning rates, for all worlds or by world."""
    scenario: str | None = None
    """Path of the base scenario, from the folder of the study's file."""
    seeds: int | None = None
    short: bool | None = None


class _Block(_Setting, forbid_unknown_fields=True, kw_only=True):
    """Worlds, and the entries that are played in each of them."""

    worlds: dict[str, _Setting | None]
    entries: dict[str, _Setting]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a study's file. Those without a use here are for `analysis/papers/`."""

    name: str
    about: str
    source: str
    """Publication of the claim."""
    scenario: str
    make: str
    """Target of the Makefile that writes the study's page."""
    entries: list[_Block]
    claims: dict[str, dict[str, Any]] = {}
    """Claims by name, each with the rule of its verdict."""
    target: float = 1.0
    seeds: int = 3
    also: list[tuple[str, str]] = []
    plans: str = ""
    question: str = ""
    base: str = ""
    tables: list[dict[str, Any]] = []
    figures: list[dict[str, Any]] = []


def read_study(path: Path) -> Study:
    """Return the study in the file at `path`. Raises ScenarioError."""
    document = read(path)
    if document.mistakes:
        raise document.refusal()
    try:
        file = msgspec.convert(document.data, _File)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{path}: {error}") from error
    whole = _Setting(scenario=file.scenario, seeds=file.seeds, short=False)
    return Study(
        file.name,
        file.about,
        path.parent / file.scenario,
        tuple(
            _entry(path.parent, world, name, [whole, block, setting or _Setting(), own])
            for block in file.entries
            for world, setting in block.worlds.items()
            for name, own in block.entries.items()
        ),
        file.target,
        tuple(file.also),
        file.plans,
    )


def _entry(folder: Path, world: str, name: str, settings: Sequence[_Setting]) -> Entry:
    """Return the entry of a study in `folder` that `settings` say, the widest first."""

    def said(key: str) -> Any:
        return next(value for s in reversed(settings) if (value := getattr(s, key)) is not None)

    sets = {path: value for setting in settings for path, value in setting.set.items()}
    rates = said("rates")
    return Entry(
        world,
        name,
        folder / said("scenario"),
        # JSON is YAML
        tuple(f"{path}={json.dumps(value)}" for path, value in sets.items()),
        tuple(f"{rate:g}" for rate in (rates[world] if isinstance(rates, dict) else rates)),
        said("seeds"),
        said("short"),
    )
