"""Points of a sweep: a scenario with a label, and the result of a finished one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..learning.datasets import OwnDataset
from ..runs.plugin_sources import PluginSources, plugin_sources
from ..scenario import Scenario, dump

_UNSAFE = re.compile(r"[^A-Za-z0-9._=,%+\[\]-]")
_LONGEST = 200
"""Longest name of a folder in characters; file systems allow 255."""


@dataclass(frozen=True)
class Point:
    """A scenario to play. Points of a sweep may come from different files."""

    label: str
    """Name, unique in the sweep."""
    scenario: Scenario
    values: Mapping[str, str] = field(default_factory=dict)
    """Values that distinguish the point from others: the first columns of the table."""

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
        return dump(scenario, places).encode() + digest.encode() + read

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
