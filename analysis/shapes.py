"""The types of the values that the analysis reckons with, and the refusal of any other."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .errors import RunError

_SHOWN = 40
"""Characters of a value that a message repeats."""


class Kind(NamedTuple):
    """A type of value: its name in messages, and its test."""

    name: str
    holds: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


NUMBER = Kind("a number", _is_number)
TEXT = Kind("a text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
MAPPING = Kind("a mapping", lambda value: isinstance(value, dict))
LIST = Kind("a list", lambda value: isinstance(value, list))
PROFILE = Kind("a text or a mapping", lambda value: isinstance(value, str | dict))

Shape = Kind | Mapping[str, Any] | Sequence[Any]
"""A kind; or a mapping with the shapes of some of its keys; or a list with that of its items."""

_LINK = {"up": MAPPING, "down": MAPPING}

SUMMARY: Shape = {
    **dict.fromkeys(("duration_s", "devices", "updates", "pull_bytes"), NUMBER),
    **dict.fromkeys(("evaluation_pull_bytes", "dense_push_bytes", "compression_ratio"), NUMBER),
    **dict.fromkeys(("server_rx_bytes", "server_tx_bytes", "faults_planned"), NUMBER),
    "push_bytes": dict.fromkeys(("values", "indices", "headers", "framing"), NUMBER),
    "fidelity": {"reasons": LIST},
}
MANIFEST: Shape = {
    "host": {"cores": NUMBER, "memory": NUMBER},
    "shaping": dict.fromkeys(("rate", "delay", "loss", "cut"), TEXT),
    "tcp": TEXT,
    "encrypted": FLAG,
}
SCENARIO: Shape = {
    "devices": [{"count": NUMBER, "profile": PROFILE, "link": _LINK}],
}
POINT: Shape = {"label": TEXT}
COLUMNS: dict[str, Kind] = {
    **dict.fromkeys(("at", "planned", "rx", "tx", "bytes", "staleness", "entries"), NUMBER),
    **dict.fromkeys(("values", "indices", "headers", "framing"), NUMBER),
    **dict.fromkeys(("accuracy", "push_bytes", "updates", "count"), NUMBER),
    **dict.fromkeys(("node", "fault", "verb"), TEXT),
    "begins": FLAG,
}
"""Of records, by their keys."""


def check(place: Path | str, content: Any, shape: Shape, key: str = "") -> None:
    """Raise a RunError for the first value in `content` that is not as `shape` has it.

    Keys that are missing or null are right. `key` is where `content` stands in its file.
    """
    if content is None:
        return
    if isinstance(shape, Kind):
        require(f"{place}: {key}", content, shape)
    elif isinstance(shape, Mapping):
        require(f"{place}: {key}", content, MAPPING)
        for name, inner in shape.items():
            check(place, content.get(name), inner, f"{key}.{name}".lstrip("."))
    else:
        require(f"{place}: {key}", content, LIST)
        for number, item in enumerate(content):
            check(place, item, shape[0], f"{key}[{number}]")


def require(place: str, value: Any, kind: Kind) -> None:
    """Raise a RunError that names `place` if `value` is not of this kind."""
    if not kind.holds(value):
        told = repr(value)
        told = told if len(told) <= _SHOWN else f"{told[:_SHOWN]}…"
        raise RunError(f"{place}: {told} where {kind.name} was expected")
