"""Contradictions between keys of a link's side that a malformed key of the same side would hide.

pydantic looks at a side as a whole only if each key of it can be read. The readable keys are looked
at here without the others, and without the keys whose sense depends on the others.
"""

import json
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...world.links.link import Side
from .document import Address, Document
from .link_trace_files import link_sides
from .wording import conflicts

_SIDE: TypeAdapter[Side] = TypeAdapter(Side)

_DEPENDENTS = {
    "rate": ("overhead",),
    "delay": ("jitter", "distribution", "correlation", "reorder", "gap"),
    "jitter": ("distribution", "correlation"),
    "reorder": ("gap",),
    "trace": ("overhead", "jitter", "distribution", "correlation", "reorder", "gap"),
}
"""For each key, the keys that may be right or wrong by its value."""
_STEPPED = ("rate", "delay", "jitter", "loss", "loss_model", "reorder")
"""Keys that the check of a step counts with."""


def find_hidden_conflicts(document: Document, schema: dict[str, Any]) -> None:
    """Add to `document` the contradictions in the sides that have malformed keys.

    `schema` is the JSON schema of scenarios.
    """
    for address in link_sides(document):
        side: dict[str, Any] = document.at(address)
        wrong = {key for key in side if _is_wrong(document, (*address, key))}
        if not wrong or document.has_mistake(address):
            continue
        without = wrong.union(*(_DEPENDENTS.get(key, ()) for key in wrong))
        readable = {key: value for key, value in side.items() if key not in without}
        for inside, message in _conflicts(readable, schema):
            if not (inside[:1] == ("steps",) and inside[2:] != ("at",) and wrong & {*_STEPPED}):
                document.complain((*address, *inside), message)


def _is_wrong(document: Document, address: Address) -> bool:
    """Return whether the value at `address`, or a value inside, has a mistake."""
    return any(at[: len(address)] == address for at in document.broken)


def _conflicts(side: dict[str, Any], schema: dict[str, Any]) -> list[tuple[Address, str]]:
    try:
        _SIDE.validate_json(json.dumps(side), strict=True)
    except ValidationError as error:
        return conflicts(error.errors(include_url=False), schema, side)
    return []
