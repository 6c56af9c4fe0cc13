"""Points of a sweep: a scenario with a label, the result of a finished one, and grids of points.

A grid is a scenario file with lists of values for several keys.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import file_digest, sha256
from itertools import product
from pathlib import Path
from typing import Any

from ..errors import ScenarioError
from ..learning.datasets import OwnDataset
from ..runs.plugin_sources import PluginSources, plugin_sources
from ..scenario import Override, Scenario, dump, load
from ..scenario.sections.workload_section import WorkloadSection

_UNSAFE = re.compile(r"[^A-Za-z0-9._=,%+\[\]-]")
_LONGEST = 200
"""Longest name of a folder in characters; file systems allow 255."""
_UPDATES = 1000
"""Updates that a run counts for if it has no largest number."""
_SECOND = 5e7
"""Work of a second, in updates × parameters."""
_START = 4 * _SECOND
"""Work that the start of a process counts for."""
_LIFE = 15.0
"""Seconds in which the containers of a run start, and are removed."""
_UNKNOWN = 120.0
"""Seconds that a run in containers counts for without a limit of its time."""
_WITHOUT_LEARNER = 1000
"""Parameters that a model counts for if nothing learns: its size costs no time then."""


@dataclass(frozen=True)
class Point:
    """A scenario to play. Points of a sweep may come from different files."""

    label: str
    """Name, unique in the sweep."""
    scenario: Scenario
    values: Mapping[str, str] = field(default_factory=dict)
    """Values that distinguish the point from others: the first columns of the table."""
    short: bool = False
    """Whether the run takes so little time that it shares a process with others."""
    on: str = "virtual"
    """Runtime that plays the point: `virtual` or `docker`."""

    @property
    def in_containers(self) -> bool:
        """Whether the point is played in containers, and thus alone on the host."""
        return self.on == "docker"

    @cached_property
    def work(self) -> float:
        """Work of the run, in updates × parameters, as far as it ends by a number of updates.

        The start of a process counts, too, unless the point shares one. A run in containers takes
        the time that its stop condition allows.
        """
        scenario = self.scenario
        if self.in_containers:
            return _SECOND * (_LIFE + scenario.dilation * (scenario.stop.time or _UNKNOWN))
        learns = scenario.virtual.learner != "none"
        size = scenario.training.layout.size if learns else _WITHOUT_LEARNER
        start = 0.0 if self.short else _START
        return start + (scenario.stop.updates or _UPDATES) * float(size)

    @cached_property
    def sources(self) -> PluginSources:
        """Sources of the users' plugins, models and data functions, as they are when first read."""
        return plugin_sources(self.scenario, Path())

    @property
    def contents(self) -> bytes:
        """Everything that could change the run: the scenario's keys, and the files that it names.

        Files count wherever they are, so that folders can be moved. Data counts by its SHA-256,
        which is a key. Figures of the report change no run.
        """
        scenario = self.scenario.model_copy(update={"report": None})
        if scenario.workload:
            return dump(scenario).encode() + workload_contents(scenario.workload)
        training, places, read = scenario.training, self.sources.beside, b""
        _ = self.sources.contents  # a point is played with the files that it is known by
        files = [(training.initial, "model.npz"), (getattr(training.split, "file", None), "owners")]
        for file, name in files:
            if file is not None:
                read += Path(file).read_bytes()
                places[file] = name
        if isinstance(data := training.dataset, OwnDataset):
            tables = [file for file in (data.file, data.test_file) if file is not None]
            places |= {file: Path(file).name for file in tables}
        digest = plugin_sources(scenario, Path()).digest
        on = self.on.encode() if self.in_containers else b""
        return dump(scenario, places).encode() + digest.encode() + read + on

    @cached_property
    def digest(self) -> str:
        """Digest of the contents, which changes with anything that could change the run."""
        return sha256(self.contents).hexdigest()[:16]

    @property
    def name(self) -> str:
        """The label as a folder name: unchanged if possible, else unique by a digest."""
        name = _UNSAFE.sub("_", self.label).lstrip(".")
        if name == self.label and len(name) <= _LONGEST:
            return name
        return f"{name[: _LONGEST - 9]}-{sha256(self.label.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Finished:
    """A point played to its end; a diverged training is an end, too."""

    label: str
    folder: Path
    """Run folder of the point."""
    row: dict[str, Any]
    """Row of the sweep's table: the point's values and results."""


def workload_contents(workload: WorkloadSection) -> bytes:
    """Return the digests of all files of this host that the programs of `workload` read."""
    programs = workload.programs.values()
    paths = [
        workload.build,
        workload.data,
        *(path for each in programs for path in each.mounts.values()),
    ]
    lines = []
    for path in map(Path, filter(None, paths)):
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in filter(Path.is_file, files):
            with file.open("rb") as content:
                lines.append(f"{file} {file_digest(content, 'sha256').hexdigest()}\n")
    return "".join(lines).encode()


_OPTION = "--over"


@dataclass(frozen=True)
class Axis:
    """A key of the scenario and the values, as YAML, that it takes in turn."""

    path: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Axis":
        """Parse `PATH=VALUE,VALUE,…`; commas inside brackets, braces or quotes do not separate.

        Raises ValueError.
        """
        path, equals, values = text.partition("=")
        if not equals or not path.strip():
            raise ValueError("write PATH=VALUE,VALUE,… as training.learning_rate=0.01,0.1")
        listed = tuple(value.strip() for value in _parted(values))
        if "" in listed:
            raise ValueError("has an empty value: write PATH=VALUE,VALUE,…")
        if repeated := sorted({value for value in listed if listed.count(value) > 1}):
            raise ValueError(f"has {repeated[0]} twice")
        return cls(path.strip(), listed)


@dataclass(frozen=True)
class Grid:
    """Every combination of the axes' values, each with `seeds` seeds from the scenario's own on."""

    file: Path
    overrides: tuple[str, ...] = ()
    """Overrides `PATH=VALUE` of every point."""
    over: tuple[str, ...] = ()
    """Axes, each as text for `Axis.parse`."""
    seeds: int = 1

    def points(self) -> list[Point]:
        """Return the points in the order of the axes, seeds last.

        Raises ScenarioError with every mistake of every point, each mentioned once.
        """
        axes, mistakes = self._axes()
        points: list[Point] = []
        refusals = []
        for values in product(*(axis.values for axis in axes)):
            chosen = dict(zip((axis.path for axis in axes), values, strict=True))
            try:
                points += self._seeded(chosen)
            except ScenarioError as error:
                refusals.append((chosen, str(error).splitlines()))
        mistakes += _worded(refusals, len(refusals) + len(points) // self.seeds)
        if mistakes:
            raise ScenarioError("\n".join(mistakes))
        return points

    def plain(self) -> dict[str, Any]:
        """Return the grid as JSON-compatible values for `sweep.json`."""
        over = {axis.path: list(axis.values) for axis in map(Axis.parse, self.over)}
        return {
            "file": str(self.file),
            "set": list(self.overrides),
            "over": over,
            "seeds": self.seeds,
        }

    def _axes(self) -> tuple[list[Axis], list[str]]:
        """Return the valid axes and the mistakes of the others."""
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
        """Yield a point for every seed, with the axes' values in `chosen`."""
        overrides = [Override(f"{path}={value}", _OPTION) for path, value in chosen.items()]
        first = load(self.file, [*self.overrides, *overrides])
        for seed in range(first.seed, first.seed + self.seeds):
            scenario = first
            if seed != first.seed:
                scenario = load(self.file, [*self.overrides, *overrides, f"seed={seed}"])
            yield Point(_label({**chosen, "seed": str(seed)}), scenario, chosen)


def folder_name(points: Sequence[Point]) -> str:
    """Return the scenario's name and a digest of the points, without their seeds.

    The number of seeds does not change the name, so that more seeds can be added to a folder.
    """
    firsts: dict[tuple[str, ...], Scenario] = {}
    digest = sha256()
    for point in points:
        key = tuple(f"{path}={value}" for path, value in point.values.items())
        # only the first seed of each combination goes into the digest
        if firsts.setdefault(key, point.scenario) is point.scenario:
            digest.update("\0".join((*key, point.digest, "")).encode())
    return f"{points[0].scenario.name}-{digest.hexdigest()[:8]}"


def _label(chosen: dict[str, str]) -> str:
    """Return `PATH=VALUE,PATH=VALUE` of the chosen values."""
    return ",".join(f"{path}={value}" for path, value in chosen.items())


def _worded(refusals: Sequence[tuple[dict[str, str], list[str]]], count: int) -> list[str]:
    """Return each mistake once, with an example if it depends on the combination of values.

    `count` is the number of combinations: a mistake of all of them needs no example.
    """
    points: dict[str, list[dict[str, str]]] = {}
    for chosen, lines in refusals:
        for line in lines:
            points.setdefault(line, []).append(chosen)
    return [
        line
        if line.startswith(f"{_OPTION} ") or len(combinations) == count
        else f"{line} ({_with(combinations[0])})"
        for line, combinations in points.items()
    ]


def _with(chosen: dict[str, str]) -> str:
    """Return the options of a combination of values, for an error message."""
    return "with " + " ".join(f"{_OPTION} {path}={value}" for path, value in chosen.items())


@dataclass
class _CommaScanner:
    """Scanner of a text that tracks the depth of brackets, and quotes."""

    closing: list[str] = field(default_factory=list)
    """Closing brackets that are expected, the innermost last."""
    quote: str = ""
    """Quote that is open; empty outside of quotes."""

    def separates(self, letter: str) -> bool:
        """Advance by `letter`; return whether it is a separating comma."""
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
    """Split `text` at the commas outside of brackets and quotes."""
    scanner, parts = _CommaScanner(), [""]
    for letter in text:
        if scanner.separates(letter):
            parts.append("")
        else:
            parts[-1] += letter
    return parts
