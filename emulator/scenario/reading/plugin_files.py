"""Users' plugins in a scenario: where it names their files, and how to read it without them.

The figures of its report are read by themselves, for a run that has ended; plugins of installed
packages are listed. A path begins at the folder of the file that holds it: of the scenario, or of a
failure profile.
"""

import inspect
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from ... import aggregation, codecs, modulation, optimizers, schedules, synchronization
from ...errors import MisplacedKeysError, PythonFileError, ScenarioError
from ...plugins.python_file import Reference, is_reference
from ...world import faults
from ..own_plugins import read_own
from ..sections.run_sections import FIGURES, Figure
from .document import Address, Document, place
from .wording import not_among
from .yaml_subset import parse, read

P = TypeVar("P")

PARTS = ("codec", "modulation", "synchronization", "optimizer", "aggregation", "schedule")
"""Keys of `training` that are plugins."""

_DATASET = ("training", "dataset")
_FUNCTIONS = (_DATASET, ("training", "model"), ("training", "loss"))
"""Addresses of the values that can be functions of users."""


def find_plugin_files(document: Document, folder: Path) -> None:
    """Make the paths of all plugin files in `document` absolute; `folder` is the scenario's."""
    for at, reference in _references(document, folder, plugin_places(document)):
        document.at(at[:-1])[at[-1]] = str(reference)


def named_code(document: Document, folder: Path) -> Iterator[tuple[Address, Reference]]:
    """Yield the address and the absolute path of each plugin, model, loss and data in `document`
    that is an object of a Python file; `folder` is the scenario's.

    Profiles that `document` names are in it already.
    """
    yield from _references(document, folder, (*plugin_places(document), *_FUNCTIONS))


def is_data(address: Address) -> bool:
    """Return whether the value at `address` is the training data."""
    return address[:2] == _DATASET


def _references(
    document: Document, folder: Path, places: Iterable[Address]
) -> Iterator[tuple[Address, Reference]]:
    """Yield the address and the absolute path of each reference in the values at `places`."""
    for address in places:
        key = "file" if is_data(address) else "kind"
        at = (*address, key) if isinstance(document.at(address), dict) else address
        if is_reference(text := document.at(at)):
            yield at, Reference.read(text, document.folder(at, text, folder)).resolved


def readable(plugin: TypeAdapter[P], value: Any) -> P | None:
    """Return `value` of the document as a plugin; None for a missing or unreadable value.

    pydantic reports an unreadable value.
    """
    try:
        return plugin.validate_python(value)
    except ValidationError:
        return None


def plugin_kind(value: Any) -> Any:
    """Return the kind of a plugin's `value`: itself, or the entry `kind` of a mapping."""
    return value.get("kind") if isinstance(value, dict) else value


def plugin_places(document: Document) -> Iterator[Address]:
    """Yield the addresses of the values that can be plugins."""
    yield from (("training", part) for part in PARTS)
    lists: list[Address] = [("faults",), ("report", "figures")]
    for group, _ in document.entries(("devices",)):
        lists += ((*at, "faults") for at, _ in document.entries((*group, "failures")))
    yield from (at for each in lists for at, _ in document.entries(each))


_CODEC = ("training", "codec")
_MODEL = ("training", "model")
_STAND_INS = {"dataset": "digits", "model": "digits-mlp"}
"""Shipped data and a shipped model, which stand for a user's model: its layers are unknown."""
_OF_THE_MODEL = ("loss", "initial", "fully_connected", "split")
"""Keys of `training` that mean nothing without the user's model or data."""


def leave_out_plugins(document: Document) -> list[str]:
    """Remove the plugins in `document` that are Python files, and the failure profiles that have no
    other faults; return each place, of a plugin with its file."""
    left = []
    for address in reversed(list(plugin_places(document))):  # from behind: entries are removed
        text = plugin_kind(document.at(address))
        if is_reference(text):
            left.append(f"{place(address)} ({text})")
            document.remove(address)
            if address == _CODEC:  # the only plugin without a default
                document.data["training"]["codec"] = "dense"
            if address[0] == "devices" and not document.at(address[:-1]):
                left.append(place(profile := address[:4]))
                document.remove(profile)
    return left[::-1]


def leave_out_data(document: Document) -> list[str]:
    """Put shipped data in place of data that a function returns; return the place, if any."""
    given = document.at(_DATASET)
    text = given.get("file") if isinstance(given, dict) else given
    if not is_reference(text):
        return []
    return [f"training.dataset ({text})", *_stand_in(document)]


def leave_out_model(document: Document) -> list[str]:
    """Put a shipped model in place of a user's function; return the place, if any."""
    text = document.at(_MODEL)
    if not is_reference(text):
        return []
    return [f"training.model ({text})", *_stand_in(document)]


def _stand_in(document: Document) -> list[str]:
    """Let shipped data and a shipped model be trained; return the places that go unchecked."""
    training: dict[str, Any] = document.data["training"]
    without = [key for key in _OF_THE_MODEL if training.pop(key, None) is not None]
    training |= _STAND_INS
    return [f"training.{key}" for key in without]


FAMILIES = (
    *(codecs.FAMILY, modulation.FAMILY, synchronization.FAMILY, optimizers.FAMILY),
    *(aggregation.FAMILY, schedules.FAMILY, faults.FAMILY, FIGURES),
)
"""Families that users can add to."""


@dataclass(frozen=True)
class InstalledPlugin:
    """A plugin of an installed package."""

    kind: str
    family: str
    about: str
    """First line of the class's docstring, or why the class cannot be used."""
    package: str
    """Name and version of the package."""
    value: str
    """Module and class, as the entry point names them."""

    def plain(self) -> dict[str, str]:
        """Return the fields for JSON, without the kind."""
        texts = {"about": self.about, "from": self.package}
        return {**texts, "family": self.family, "class": self.value}


def installed_plugins() -> Iterator[InstalledPlugin]:
    """Yield the plugins of installed packages, family by family."""
    for family in FAMILIES:
        for name, point in sorted(family.installed().items()):
            try:
                about = (inspect.getdoc(family.own(name)) or "").partition("\n")[0]
            except PythonFileError as error:
                about = f"cannot be used: {error}"
            package = f"{point.dist.name} {point.dist.version}" if point.dist else "no package"
            yield InstalledPlugin(name, family.name, about, package, point.value)


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
