"""Python files of users in a scenario: where they are named, and how to read it without them.

A path begins at the folder of the file that holds it: of the scenario, or of a failure profile.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from ...plugins.python_file import Reference, is_reference
from .document import Address, Document, place

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
