"""Profiles: files that describe a device, a link, a failure or a network, for use by name.

A name is looked up in `profiles/<kind>/` beside the scenario, then in `scenarios/profiles/<kind>/`
beside the scenario and in each folder above, then among the emulator's own profiles. A text with a
slash, or one that ends in .yaml, is a path from the folder of the file that holds the text.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias

from ...errors import shortened, suggestion
from ...machine.shipped_files import profile_folders
from .document import Address, Document
from .yaml_subset import read

Kind: TypeAlias = Literal["devices", "links", "failures", "networks"]

_WORDS: dict[Kind, str] = {
    "devices": "device profile",
    "links": "link preset",
    "failures": "failure profile",
    "networks": "layer table",
}


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long, or a folder is locked
        return False


class Library:
    """The profiles that a scenario file in `folder` can use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._folders = profile_folders(folder)

    def names(self, kind: Kind) -> dict[str, Path]:
        """Return the names of all profiles of `kind`, with their files."""
        files: dict[str, Path] = {}
        for folder in self._folders:
            for file in sorted((folder / kind).glob("*.yaml")):
                files.setdefault(file.stem, file)
        return files

    def find(self, kind: Kind, name: str, folder: Path) -> Path:
        """Return the file of the profile `name`, a name or a path that counts from `folder`.

        Raises ValueError, with the known names, if there is no such profile.
        """
        if "/" in name or name.endswith((".yaml", ".yml")):
            file = folder / name
            if not _is_file(file):
                raise ValueError(f"{shortened(name)} is no {_WORDS[kind]}: there is no file {file}")
            return file
        known = self.names(kind)
        if name not in known:
            hint = suggestion(name, known) or f": there are {', '.join(sorted(known))}, or a path"
            raise ValueError(f"{shortened(name)} is no {_WORDS[kind]}{hint}")
        return known[name]


def inline(document: Document, library: Library, towards: Address | None = None) -> None:
    """Replace each name of a profile in `document` by the profile's contents.

    With `towards`, the address of an override, replace only the names on the path to it.
    """

    @cache
    def profile(file: Path, kind: Kind) -> Document:
        return _contents(read(file), kind, file.stem)

    # a failure profile may name link presets in its turn: its contents are there by then
    for address, kind in chain(list(_uses(document)), _uses_of_faults(document)):
        name = document.at(address)
        on_the_way = towards is None or address == towards[: len(address)] != towards
        if not isinstance(name, str) or not on_the_way:
            continue
        try:
            folder = document.folder(address, name, library.folder)
            contents = profile(library.find(kind, name, folder), kind)
        except ValueError as error:
            document.complain(address, str(error))
            continue
        if kind == "networks":
            _spread(document, address, contents)
        else:  # a copy: each device's own may be changed
            document.graft(address, replace(contents, data=deepcopy(contents.data)))


def _spread(document: Document, address: Address, table: Document) -> None:
    """Put the keys of the layer table `table` beside the key at `address`, which names the table.

    Keys that stand there already keep their values.
    """
    holder = address[:-1]
    beside = {key: value for key, value in document.at(holder).items() if key != address[-1]}
    if isinstance(table.data, dict):
        table.data |= beside
        inside = {
            at[len(holder) :]: mark
            for at, mark in document.marks.items()
            if at[: len(holder)] == holder
        }
        table.marks |= {at: mark for at, mark in inside.items() if at and at[0] in beside}
    document.graft(holder, table)


def _contents(document: Document, kind: Kind, name: str) -> Document:
    """Return the profile in `document` as a scenario would write it in place of the name."""
    if not isinstance(document.data, dict):
        if not document.mistakes:
            document.complain((), f"a {_WORDS[kind]} is a mapping")
        return document
    for key in ("description", "source"):
        if not isinstance(document.data.pop(key, ""), str):
            document.complain((key,), "is not text")
    if kind != "links":
        document.data = {"name": name, **document.data}
    return document


def _uses(document: Document) -> Iterator[tuple[Address, Kind]]:
    """Yield the addresses at which `document` may name a profile, with the kinds."""
    if isinstance(document.at(("server",)), dict):
        yield ("server", "link"), "links"
    model = document.at(("training", "model"))
    if isinstance(model, dict) and "layers" in model:
        yield ("training", "model", "layers"), "networks"
    for group, _ in document.entries(("devices",), dict):
        yield (*group, "profile"), "devices"
        yield (*group, "link"), "links"
        yield from ((profile, "failures") for profile, _ in document.entries((*group, "failures")))


def _uses_of_faults(document: Document) -> Iterator[tuple[Address, Kind]]:
    """Yield the addresses at which the faults of `document` may name a link preset."""
    yield from (((*at, "link"), "links") for at, fault in document.faults() if "link" in fault)
