"""Keys of a study's file, and checks of them that find every mistake with its place."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...errors import shortened, suggestion
from ...scenario.reading.document import Address, Document

Check: TypeAlias = Callable[[Document, Address], None]
"""Function that records the mistakes of the value at an address."""


def _value(expected: str, fits: Callable[[Any], bool]) -> Check:
    """Return a check that the value `fits`; `expected` describes a value that does."""

    def check(document: Document, address: Address) -> None:
        value = document.at(address)
        if not fits(value):
            document.complain(address, f"{shortened(value)} is not {expected}")

    return check


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


_TEXT = _value("a text", lambda value: isinstance(value, str) and bool(value.strip()))
_COUNT = _value("a whole number of at least 1", _is_count)
_SWITCH = _value("true or false", lambda value: isinstance(value, bool))
_MAPPING = _value("a mapping", lambda value: isinstance(value, dict))
_ANYTHING = _value("a value", lambda value: value is not None)
_RATE = _value("a number above 0", lambda value: _is_number(value) and value > 0)
_SHARE = _value(
    "a fraction above 0 and at most 1, as 0.985", lambda value: _is_number(value) and 0 < value <= 1
)
_PAIR = _value(
    "a pair of entries, as [AdaComp, ASGD]",
    lambda value: (
        isinstance(value, list) and len(value) == 2 and all(isinstance(each, str) for each in value)
    ),
)


def _listed(item: Check) -> Check:
    """Return a check of a list of at least one value, each by `item`."""

    def check(document: Document, address: Address) -> None:
        value = document.at(address)
        if not isinstance(value, list) or not value:
            document.complain(address, f"{shortened(value)} is not a list with a value at least")
            return
        for number in range(len(value)):
            item(document, (*address, number))

    return check


def _named(item: Check, what: str) -> Check:
    """Return a check of a mapping of names to values, each by `item`; `what` has the names."""

    def check(document: Document, address: Address) -> None:
        value = document.at(address)
        if not isinstance(value, dict) or not value:
            document.complain(address, f"{shortened(value)} is not a mapping of names to {what}")
            return
        for name in value:
            item(document, (*address, name))

    return check


def _keys(required: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    """Return a check of a mapping with the `required` keys, and `optional` ones."""
    known = {**required, **optional}

    def check(document: Document, address: Address) -> None:
        value = document.at(address)
        if not isinstance(value, dict):
            document.complain(address, f"{shortened(value)} is not a mapping with {_names(known)}")
            return
        for name in required.keys() - value.keys():
            document.complain(address, f"has no key {name!r}")
        for name in value:
            if name in known:
                known[name](document, (*address, name))
            else:
                meant = suggestion(name, known)
                document.complain((*address, name), f"is no key here{meant}: {_names(known)}")

    return check


def _names(known: Mapping[str, Check]) -> str:
    return ", ".join(known)


def _or_nothing(check: Check) -> Check:
    """Return a check that takes a missing value, too."""

    def checked(document: Document, address: Address) -> None:
        if document.at(address) is not None:
            check(document, address)

    return checked


def _rates(document: Document, address: Address) -> None:
    """Check a list of learning rates, or such a list for each of some worlds."""
    by_world = isinstance(document.at(address), dict)
    check = _listed(_RATE)
    (_named(check, "lists of learning rates") if by_world else check)(document, address)


_SETTING = {
    "set": _MAPPING,
    "rates": _rates,
    "scenario": _TEXT,
    "seeds": _COUNT,
    "short": _SWITCH,
    "containers": _COUNT,
}
_ENTRIES = _named(_keys({}, _SETTING), "entries")
_VALUES = _keys({"key": _TEXT, "values": _listed(_ANYTHING)}, {})
_NAMES = _keys({"values": _named(_MAPPING, "overrides")}, {})


def _grid(document: Document, address: Address) -> None:
    """Check a grid: values of a key, or names with the keys that each of them sets."""
    grid = document.at(address)
    named = isinstance(grid, dict) and isinstance(grid.get("values"), dict)
    (_NAMES if named else _VALUES)(document, address)


_BLOCK = _keys(
    {"worlds": _named(_or_nothing(_keys({}, _SETTING)), "worlds"), "entries": _ENTRIES},
    {**_SETTING, "over": _named(_grid, "grids")},
)
_QUICK = {
    "set": _MAPPING,
    "seeds": _COUNT,
    "rates": _COUNT,
    "worlds": _listed(_TEXT),
    "over": _named(_listed(_ANYTHING), "lists of values"),
}

STUDY = _keys(
    {
        **dict.fromkeys(("name", "about", "source", "scenario", "make"), _TEXT),
        "entries": _listed(_BLOCK),
    },
    {
        **dict.fromkeys(("question", "plans", "base", "module"), _TEXT),
        "seeds": _COUNT,
        "target": _SHARE,
        "also": _listed(_PAIR),
        "quick": _keys({}, _QUICK),
        # plain data for the analysis, which knows the measures and the rules
        "tables": _listed(_MAPPING),
        "figures": _listed(_MAPPING),
        "claims": _named(_MAPPING, "claims"),
    },
)
"""Check of a study's file."""

ADDED = _keys({"entries": _ENTRIES}, {"worlds": _listed(_TEXT)})
"""Check of a file with entries that a user adds to a study."""
