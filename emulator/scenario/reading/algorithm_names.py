"""Replacement of `training.algorithm` by the keys for which an algorithm's name stands.

These are codec, modulation, synchronization and error feedback, and the optimizer if the
algorithm's paper prescribes one.
"""

from typing import Any

from ..algorithms import ALGORITHMS
from .document import Address, Document
from .dump import plain
from .wording import not_among

_PARTS = ("codec", "modulation", "synchronization", "error_feedback", "optimizer")


def meaning(name: str) -> dict[str, Any]:
    """Return the keys and plain values for which the algorithm `name` stands."""
    parts = {part: getattr(ALGORITHMS[name], part) for part in _PARTS}
    return {part: plain(value) for part, value in parts.items() if value is not None}


def flow(value: Any) -> str:
    """Return `value` as YAML on a single line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def spell_out(document: Document) -> None:
    """Replace `training.algorithm` of `document` by the algorithm's parts.

    Records a mistake if the name is unknown, if the file gives one of the keys too, or if the file
    has neither `algorithm` nor `codec`.
    """
    training = document.at(("training",))
    if not isinstance(training, dict):
        return
    for key in ("algorithm", "codec"):
        if training.get(key, "") is None:
            del training[key]
    if "algorithm" in training:
        _replace(document, training, training.pop("algorithm"))
    elif "codec" not in training:
        known = ", ".join(ALGORITHMS)
        message = f"does not say how to train: give `algorithm` ({known}) or spell out `codec`"
        document.complain(("training",), message)


def spell_out_towards(document: Document, address: Address) -> None:
    """Replace `training.algorithm` early if `address`, of an override, lies inside a part of it.

    An override of `training.codec.keep`, for example, needs the codec of the algorithm in place.
    """
    training = document.at(("training",))
    if len(address) < 3 or address[0] != "training" or not isinstance(training, dict):
        return
    name = training.get("algorithm")
    if not isinstance(name, str) or name not in ALGORITHMS:
        return
    parts = meaning(name)
    if address[1] in parts and not any(part in training for part in parts):
        spell_out(document)


def _replace(document: Document, training: dict[str, Any], name: Any) -> None:
    if not isinstance(name, str) or name not in ALGORITHMS:
        document.complain(("training", "algorithm"), not_among(name, ALGORITHMS))
        if "codec" not in training:  # a missing codec is not a second mistake
            document.broken.add(("training", "codec"))
        return
    parts = meaning(name)
    for part in parts:
        if part in training:
            whole = ", ".join(f"{key}: {flow(value)}" for key, value in parts.items())
            message = f"{name!r} sets this key too: remove one of the two; {name!r} means {whole}"
            document.complain(("training", part), message)
    training |= {part: value for part, value in parts.items() if part not in training}
