"""The types of values that the analysis uses, and the refusal of other types."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import RunError

_SHOWN = 40
"""Number of characters of a value that a message shows."""


class Kind(NamedTuple):
    """A type of values: a name for messages, and a test."""

    name: str
    holds: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


NUMBER = Kind("a number", _is_number)
TEXT = Kind("a text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
MAPPING = Kind("a mapping", lambda value: isinstance(value, dict))
LIST = Kind("a list", lambda value: isinstance(value, list))
PAIRS = Kind(
    "a list of pairs of numbers",
    lambda value: isinstance(value, list) and all(map(_is_pair, value)),
)
PROFILE = Kind("a text or a mapping", lambda value: isinstance(value, str | dict))

Shape = Kind | Mapping[str, Any] | Sequence[Any]
"""A kind; or a mapping of some keys to their shapes; or a list with the shape of its items."""

_LINK = {"up": MAPPING, "down": MAPPING}

MODEL: Shape = {"source": TEXT, "version": NUMBER, "note": TEXT}
SUMMARY: Shape = {
    **dict.fromkeys(("duration_s", "devices", "updates", "pull_bytes"), NUMBER),
    **dict.fromkeys(("evaluation_pull_bytes", "dense_push_bytes", "compression_ratio"), NUMBER),
    **dict.fromkeys(("dense_pull_bytes", "traffic_ratio"), NUMBER),
    **dict.fromkeys(("server_rx_bytes", "server_tx_bytes", "faults_planned"), NUMBER),
    "push_bytes": dict.fromkeys(("values", "indices", "headers", "framing"), NUMBER),
    "model": MODEL,
    "left_out": [{"node": TEXT, "steps": NUMBER, "of": NUMBER}],
    "left_out_unlisted": NUMBER,
    "activation_bytes": dict.fromkeys(("up", "down"), NUMBER),
    "fidelity": {"reasons": LIST},
    "fault_effects": {"faults": LIST, "unlisted": NUMBER},
}
MANIFEST: Shape = {
    "host": {"cores": NUMBER, "memory": NUMBER},
    "shaping": dict.fromkeys(("rate", "delay", "loss", "cut"), TEXT),
    "tcp": TEXT,
    "network": {"server": TEXT, "devices": MAPPING},
    "encrypted": FLAG,
    "hardware_efficiency": dict.fromkeys(("groups", "formula", "queue"), NUMBER),
}
SCENARIO: Shape = {
    "devices": [{"count": NUMBER, "profile": PROFILE, "link": _LINK}],
    "bottlenecks": [{"name": TEXT, "members": LIST, **_LINK}],
    "network": {"routers": LIST, "links": [{"name": TEXT, "between": LIST, **_LINK}]},
}
POINT: Shape = {"label": TEXT}
COLUMNS: dict[str, Kind] = {
    **dict.fromkeys(("at", "planned", "rx", "tx", "bytes", "staleness", "entries"), NUMBER),
    **dict.fromkeys(("group", "steps", "of"), NUMBER),
    **dict.fromkeys(("values", "indices", "headers", "framing", "up", "down"), NUMBER),
    **dict.fromkeys(("accuracy", "error", "push_bytes", "updates", "count"), NUMBER),
    **dict.fromkeys(("iteration", "iterations"), NUMBER),
    **dict.fromkeys(("t_forward", "t_backward", "t_iteration"), NUMBER),
    **dict.fromkeys(("predicted_forward", "predicted_backward", "predicted_iteration"), NUMBER),
    **dict.fromkeys(("pull", "push", "pulled", "forward", "backward", "pushed"), PAIRS),
    **dict.fromkeys(("node", "fault", "verb", "kind"), TEXT),
    "begins": FLAG,
    "again": FLAG,
}
"""The kinds of values in records, by key."""
OF_KIND: dict[tuple[str, str], Kind] = {("metric", "values"): MAPPING}
"""The kinds of values under keys that mean something else in the records of one kind: the kind of
record, and the key."""


def check(place: Path | str, content: Any, shape: Shape, key: str = "") -> None:
    """Raise RunError for the first value in `content` that does not fit `shape`.

    Missing keys and null values fit. `place` is the file, and `key` the place of `content` in it.
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
    """Raise RunError that names `place` if `value` is not of `kind`."""
    if not kind.holds(value):
        text = repr(value)
        text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise RunError(f"{place}: {text} where {kind.name} was expected")
