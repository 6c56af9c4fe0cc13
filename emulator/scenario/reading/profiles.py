"""Profiles: devices, links and failures that are described once and used by name.

A name is looked for in `profiles/<kind>/` beside the scenario, then in `scenarios/profiles/<kind>/`
of each folder above it, then among those that come with the emulator. A path (it has a slash,
or ends in .yaml) counts from the scenario's folder.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ...did_you_mean import suggestion
from .document import Address, Document
from .yaml_subset import read

Kind: TypeAlias = Literal["devices", "links", "failures"]

_WHAT: dict[Kind, str] = {
    "devices": "device profile",
    "links": "link preset",
    "failures": "failure profile",
}
_PACKAGE = Path(__file__).parents[2]
_SHIPPED = (_PACKAGE.parent / "scenarios" / "profiles", _PACKAGE / "profiles")
"""In a checkout, and in an installed package."""


class Library:
    """The profiles that a scenario in `folder` can name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        above = (parent / "scenarios" / "profiles" for parent in folder.absolute().parents)
        own = (folder / "profiles", folder / "scenarios" / "profiles", *above)
        self._shelves = tuple(dict.fromkeys((*own, *_SHIPPED)))

    def names(self, kind: Kind) -> dict[str, Path]:
        """All that can be named, and their files."""
        found: dict[str, Path] = {}
        for shelf in self._shelves:
            for file in sorted((shelf / kind).glob("*.yaml")):
                found.setdefault(file.stem, file)
        return found

    def find(self, kind: Kind, name: str) -> Path:
        """The profile's file. A ValueError says what there is instead."""
        if "/" in name or name.endswith((".yaml", ".yml")):
            file = self._folder / name
            if not file.is_file():
                raise ValueError(f"{name!r} is no {_WHAT[kind]}: there is no file {file}")
            return file
        known = self.names(kind)
        if name not in known:
            hint = suggestion(name, known) or f": there are {', '.join(sorted(known))}, or a path"
            raise ValueError(f"{name!r} is no {_WHAT[kind]}{hint}")
        return known[name]


def inline(document: Document, library: Library, towards: Address | None = None) -> None:
    """Put each profile's contents where the scenario has its name.

    With `towards`, only where the name stands in the way to that address.
    """

    @cache
    def profile(file: Path, kind: Kind) -> Document:
        return _contents(read(file), kind, file.stem)

    for address, kind in list(_uses(document.data)):
        name = document.at(address)
        on_the_way = towards is None or address == towards[: len(address)] != towards
        if not isinstance(name, str) or not on_the_way:
            continue
        try:
            document.graft(address, profile(library.find(kind, name), kind))
        except ValueError as error:
            document.complain(address, str(error))


def _contents(document: Document, kind: Kind, name: str) -> Document:
    """The profile as a scenario would write it in place."""
    if not isinstance(document.data, dict):
        if not document.mistakes:
            document.complain((), f"a {_WHAT[kind]} is a mapping")
        return document
    for key in ("description", "source"):
        if not isinstance(document.data.pop(key, ""), str):
            document.complain((key,), "is not text")
    if kind != "links":
        document.data = {"name": name, **document.data}
    return document


def _uses(data: Any) -> Iterator[tuple[Address, Kind]]:
    """Where a scenario may name a profile."""
    scenario = data if isinstance(data, dict) else {}
    if isinstance(scenario.get("server"), dict):
        yield ("server", "link"), "links"
    groups = scenario.get("devices")
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        if not isinstance(group, dict):
            continue
        yield ("devices", index, "profile"), "devices"
        yield ("devices", index, "link"), "links"
        failures = group.get("failures")
        for number in range(len(failures) if isinstance(failures, list) else 0):
            yield ("devices", index, "failures", number), "failures"
