"""Takes the Python files of users out of a scenario, so that reading it runs no code of theirs."""

from typing import Any

from ...plugins.python_file import is_reference
from .document import Document, place
from .plugin_files import plugin_kind, plugin_places

_CODEC = ("training", "codec")
_DATASET, _MODEL = ("training", "dataset"), ("training", "model")
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
