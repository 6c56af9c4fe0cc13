"""A grid: one scenario file, and the values that some of its keys take in turn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from ..errors import ScenarioError
from ..scenario import Override, Scenario, load
from .point import Point

_OPTION = "--over"


@dataclass(frozen=True)
class Axis:
    """A key of the scenario and the values, as YAML, that it takes in turn."""

    path: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Axis":
        """From `PATH=VALUE,VALUE,…`; a comma inside brackets, braces or quotes parts nothing.

        Raises ValueError.
        """
        path, equals, values = text.partition("=")
        if not equals or not path.strip():
            raise ValueError("write PATH=VALUE,VALUE,… as training.learning_rate=0.01,0.1")
        found = tuple(value.strip() for value in _parted(values))
        if "" in found:
            raise ValueError("has an empty value: write PATH=VALUE,VALUE,…")
        if twice := sorted({value for value in found if found.count(value) > 1}):
            raise ValueError(f"has {twice[0]} twice")
        return cls(path.strip(), found)


@dataclass(frozen=True)
class Grid:
    """Every combination of the axes' values, each with `seeds` seeds from the scenario's own on."""

    file: Path
    overrides: tuple[str, ...] = ()
    """Each a `PATH=VALUE` that holds for all points."""
    over: tuple[str, ...] = ()
    """Each an axis, as `Axis.parse` takes it."""
    seeds: int = 1

    def points(self) -> list[Point]:
        """The points in the order of the axes, seeds last.

        Raises a ScenarioError that has every mistake of every point, each once.
        """
        axes, mistakes = self._axes()
        made: list[Point] = []
        refusals = []
        for values in product(*(axis.values for axis in axes)):
            chosen = dict(zip((axis.path for axis in axes), values, strict=True))
            try:
                made += self._seeded(chosen)
            except ScenarioError as error:
                refusals.append((chosen, str(error).splitlines()))
        mistakes += _worded(refusals, len(refusals) + len(made) // self.seeds)
        if mistakes:
            raise ScenarioError("\n".join(mistakes))
        return made

    def plain(self) -> dict[str, Any]:
        """As `sweep.json` keeps it."""
        over = {axis.path: list(axis.values) for axis in map(Axis.parse, self.over)}
        return {
            "file": str(self.file),
            "set": list(self.overrides),
            "over": over,
            "seeds": self.seeds,
        }

    def _axes(self) -> tuple[list[Axis], list[str]]:
        axes: list[Axis] = []
        mistakes = []
        for text in self.over:
            try:
                axis = Axis.parse(text)
                if any(axis.path == other.path for other in axes):
                    raise ValueError("this key has an --over already: give all its values in one")
                if axis.path == "seed" and self.seeds > 1:
                    raise ValueError("--seeds varies the seed too: give one or the other")
                axes.append(axis)
            except ValueError as error:
                mistakes.append(f"{_OPTION} {text}: {error}")
        return axes, mistakes

    def _seeded(self, chosen: dict[str, str]) -> Iterator[Point]:
        words = [Override(f"{path}={value}", _OPTION) for path, value in chosen.items()]
        first = load(self.file, [*self.overrides, *words])
        for seed in range(first.seed, first.seed + self.seeds):
            scenario = first
            if seed != first.seed:
                scenario = load(self.file, [*self.overrides, *words, f"seed={seed}"])
            yield Point(_label({**chosen, "seed": str(seed)}), scenario, chosen)


def folder_name(points: Sequence[Point]) -> str:
    """For a grid's points: the scenario's name, and a digest of base scenario and axes.

    The number of seeds is not in it, so that more can be added to what there is.
    """
    firsts: dict[tuple[str, ...], Scenario] = {}
    told = sha256()
    for point in points:
        key = tuple(f"{path}={value}" for path, value in point.values.items())
        if firsts.setdefault(key, point.scenario) is point.scenario:
            told.update("\0".join((*key, point.digest, "")).encode())
    return f"{points[0].scenario.name}-{told.hexdigest()[:8]}"


def _label(chosen: dict[str, str]) -> str:
    return ",".join(f"{path}={value}" for path, value in chosen.items())


def _worded(refusals: Sequence[tuple[dict[str, str], list[str]]], count: int) -> list[str]:
    """Each mistake once; where the fault may lie with a combination, which one it was."""
    points: dict[str, list[dict[str, str]]] = {}
    for chosen, lines in refusals:
        for line in lines:
            points.setdefault(line, []).append(chosen)
    return [
        line if line.startswith(f"{_OPTION} ") or len(by) == count else f"{line} ({_with(by[0])})"
        for line, by in points.items()
    ]


def _with(chosen: dict[str, str]) -> str:
    return "with " + " ".join(f"{_OPTION} {path}={value}" for path, value in chosen.items())


@dataclass
class _Parting:
    """Walks a text and knows how deep inside brackets and quotes it is."""

    closing: list[str] = field(default_factory=list)
    quote: str = ""

    def parts(self, letter: str) -> bool:
        if self.quote:
            self.quote = "" if letter == self.quote else self.quote
        elif letter in "\"'":
            self.quote = letter
        elif letter in "[{":
            self.closing.append("]" if letter == "[" else "}")
        elif self.closing and letter == self.closing[-1]:
            self.closing.pop()
        return letter == "," and not self.quote and not self.closing


def _parted(text: str) -> list[str]:
    parting, parts = _Parting(), [""]
    for letter in text:
        if parting.parts(letter):
            parts.append("")
        else:
            parts[-1] += letter
    return parts
