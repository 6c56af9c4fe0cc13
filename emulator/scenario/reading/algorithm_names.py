"""An algorithm's name stands for a codec, a modulation, a synchronization and error feedback.

Where the paper has an optimizer of its own, it stands for that too.
"""

from typing import Any

from ..algorithms import ALGORITHMS
from .document import Address, Document
from .dump import plain
from .wording import choice

_PARTS = ("codec", "modulation", "synchronization", "error_feedback", "optimizer")


def meaning(name: str) -> dict[str, Any]:
    """The keys that the algorithm stands for, as a file would have them."""
    parts = {part: getattr(ALGORITHMS[name], part) for part in _PARTS}
    return {part: plain(value) for part, value in parts.items() if value is not None}


def flow(value: Any) -> str:
    """As YAML has it on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(one)}" for key, one in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def spell_out(document: Document) -> None:
    """Put what the algorithm stands for in its place; complain unless it is the only word on it."""
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
    """Do it early, if a part of the algorithm stands in the way to the address."""
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
        document.complain(("training", "algorithm"), choice(name, ALGORITHMS))
        if "codec" not in training:  # which is no second mistake
            document.broken.add(("training", "codec"))
        return
    parts = meaning(name)
    for part in parts:
        if part in training:
            whole = ", ".join(f"{key}: {flow(value)}" for key, value in parts.items())
            message = f"{name!r} says it already: write one or the other, as it stands for {whole}"
            document.complain(("training", part), message)
    training |= {part: value for part, value in parts.items() if part not in training}
