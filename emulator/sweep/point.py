"""A point of a sweep: one scenario under a label; and what is left of it when it is finished."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..scenario import Scenario, dump

_UNSAFE = re.compile(r"[^A-Za-z0-9._=,%+\[\]-]")
_LONGEST = 200
"""Characters of a folder's name; file systems take 255."""


@dataclass(frozen=True)
class Point:
    """One scenario to play. Points of a sweep may come of different files."""

    label: str
    """What it is called; no two points of a sweep share one."""
    scenario: Scenario
    values: Mapping[str, str] = field(default_factory=dict)
    """What sets it apart from its neighbours: the first columns of its row."""

    @cached_property
    def digest(self) -> str:
        """Changes with anything in the scenario that could change the run."""
        return sha256(dump(self.scenario).encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """The label as a folder's name: itself where it can be, and always another for another."""
        name = _UNSAFE.sub("_", self.label).lstrip(".")
        if name == self.label and len(name) <= _LONGEST:
            return name
        return f"{name[: _LONGEST - 9]}-{sha256(self.label.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Finished:
    """A point that was played to its end; a training that diverged is an end too."""

    label: str
    folder: Path
    """Its run folder."""
    row: dict[str, Any]
    """What it is and what came of it: a row of the sweep's table."""
