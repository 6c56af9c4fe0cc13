"""Points of a sweep: a scenario with a label, and the result of a finished one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..runs.plugin_sources import plugin_sources
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
    def digest(self) -> str:
        """Digest of the scenario; it changes with anything that could change the run.

        The model to begin with counts by the content of its file, wherever the file is, so that
        the folder of a tuning can be moved. Figures of the report change no run.
        """
        scenario = self.scenario.model_copy(update={"report": None})
        training = scenario.training
        content = plugin_sources(scenario, Path()).digest.encode()
        if training.initial is not None:
            content += Path(training.initial).read_bytes()
            training = training.model_copy(update={"initial": "model.npz"})
            scenario = scenario.model_copy(update={"training": training})
        return sha256(dump(scenario).encode() + content).hexdigest()[:16]

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
