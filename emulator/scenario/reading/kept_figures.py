"""Figures of users for a report: those that a run's scenario names, or that a command is given."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import MisplacedKeysError, ScenarioError
from ...plugins.python_file import Reference, is_reference
from ..own_plugins import read_own
from ..sections.run_sections import FIGURES, Figure
from .document import place
from .wording import not_among
from .yaml_subset import parse, read


@dataclass(frozen=True)
class KeptFigure:
    """A figure of a scenario, or the reason why there is none to draw."""

    name: str
    """Kind of the figure, as `figures.py:Class`."""
    figure: Figure | None
    reason: str = ""


def has_figures(file: Path) -> bool:
    """Return whether `kept_figures` reads the scenario in `file`.

    Most runs have no figures, and the file of thousands of devices takes seconds to read.
    """
    return file.is_file() and b"\nreport:" in file.read_bytes()


def kept_figures(file: Path) -> list[KeptFigure]:
    """Return the figures of the scenario in `file`, which is in a run's folder.

    A figure that cannot be loaded has a reason, so that the others can be drawn.
    """
    if not has_figures(file):
        return []
    entries = read(file).at(("report", "figures"))
    return [_kept(entry, file.parent) for entry in entries] if isinstance(entries, list) else []


def typed_figures(given: Sequence[str]) -> list[KeptFigure]:
    """Return the figures that `given` names, as `./figures.py:Class` or as a mapping in YAML.

    Raises ScenarioError with a line for each that cannot be used.
    """
    found = [_kept(parse(text, text, lines=False).data, Path()) for text in given]
    if wrong := [f"--figure {each.name}: {each.reason}" for each in found if each.reason]:
        raise ScenarioError("\n".join(wrong))
    return found


def _kept(value: Any, folder: Path) -> KeptFigure:
    """Return the figure of an entry; its path begins at `folder`."""
    kind = value.get("kind") if isinstance(value, dict) else value
    if not isinstance(kind, str):
        return KeptFigure(json.dumps(value), None, "names no figure: write ./figures.py:Class")
    if is_reference(kind):
        kind = str(Reference.read(kind, folder).resolved)
    name = Path(kind).name
    if not FIGURES.is_own(kind):
        known = [*FIGURES.installed(), "./figures.py:Class"]
        return KeptFigure(name, None, not_among(kind, known))
    keys = {**value, "kind": kind} if isinstance(value, dict) else kind
    try:
        return KeptFigure(name, read_own(keys, FIGURES, lambda cls: cls))
    except MisplacedKeysError as error:
        found = ((key if isinstance(key, tuple) else (key,), said) for key, said in error.conflicts)
        reason = "; ".join(f"{place(key)}: {said}".removeprefix(": ") for key, said in found)
        return KeptFigure(name, None, reason)
    except ValueError as error:
        return KeptFigure(name, None, str(error))
