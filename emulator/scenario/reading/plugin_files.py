"""Resolves `kind: ./file.py:Class`: the path of each plugin file becomes absolute.

A path begins at the folder of the file that holds it: of the scenario, or of a failure profile.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...plugins.python_file import Reference, is_reference
from .document import Address, Document

PARTS = ("codec", "modulation", "synchronization", "optimizer", "aggregation", "schedule")
"""Keys of `training` that are plugins."""


def find_plugin_files(document: Document, folder: Path) -> None:
    """Make the paths of all plugin files in `document` absolute; `folder` is the scenario's."""
    for address in plugin_places(document):
        value = document.at(address)
        at = (*address, "kind") if isinstance(value, dict) else address
        if not is_reference(text := document.at(at)):
            continue
        inside = document.folder(at, text, folder)
        document.at(at[:-1])[at[-1]] = str(Reference.read(text, inside).resolved)


def plugin_kind(value: Any) -> Any:
    """Return the kind of a plugin's `value`: itself, or the entry `kind` of a mapping."""
    return value.get("kind") if isinstance(value, dict) else value


def plugin_places(document: Document) -> Iterator[Address]:
    """Yield the addresses of the values that can be plugins."""
    yield from (("training", part) for part in PARTS)
    yield from _entries(document, ("faults",))
    yield from _entries(document, ("report", "figures"))
    for device in _entries(document, ("devices",)):
        for profile in _entries(document, (*device, "failures")):
            yield from _entries(document, (*profile, "faults"))


def _entries(document: Document, address: Address) -> Iterator[Address]:
    """Yield the addresses of the entries of the list at `address`, if there is one."""
    values = document.at(address)
    for index in range(len(values) if isinstance(values, list) else 0):
        yield (*address, index)
