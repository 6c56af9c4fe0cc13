"""Costs of an iteration from a JSON file, read exactly: numbers as decimals, texts as fractions."""

from fractions import Fraction
from pathlib import Path
from typing import Any

from ...schedules import LayerCosts
from .exact_json import MistakeList, found_text, key_text, read_mapping, read_text

LISTS = ("pull", "forward", "backward", "push")
"""Keys with a time for each layer."""
KEYS = ("setup", *LISTS)


def read_costs(file: Path) -> LayerCosts:
    """Return the costs in `file` in exact fractions of a second.

    Raises ScenarioError with a line for each mistake, which names the file and the key.
    """
    return parse_costs(read_text(file), str(file))


def parse_costs(text: str, name: str) -> LayerCosts:
    """Return the costs in `text`, as `read_costs` does; `name` names the text in mistakes."""
    data, mistakes = read_mapping(text, name, KEYS)
    setups = _setups(data, mistakes)
    times = {key: _times(data, key, mistakes) for key in LISTS}
    lists = {key: value for key in LISTS if isinstance(value := data.get(key), list)}
    _same_lengths(lists, mistakes)
    if mistakes:
        raise mistakes.error()
    return LayerCosts(**times, pull_setup=setups["pull"], push_setup=setups["push"])


def _setups(data: dict[str, Any], mistakes: MistakeList) -> dict[str, Fraction]:
    """Return the set-up times of both directions."""
    setup = data.get("setup")
    if "setup" not in data:
        mistakes.add("setup", "is missing: seconds of each message before its layers")
    if not isinstance(setup, dict):
        both = mistakes.seconds(setup, "setup") if "setup" in data else Fraction(0)
        return {"pull": both, "push": both}
    if setup.keys() != {"pull", "push"}:
        wanted = 'write one number, or {"pull": …, "push": …}'
        written = ", ".join(map(key_text, setup)) or "none"
        mistakes.add("setup", f"has the keys {written}: {wanted}")
    return {
        way: mistakes.seconds(setup[way], f"setup.{way}") if way in setup else Fraction(0)
        for way in ("pull", "push")
    }


def _times(data: dict[str, Any], key: str, mistakes: MistakeList) -> tuple[Fraction, ...]:
    match data.get(key):
        case list(items):
            if not items:
                mistakes.add(key, "is empty: give a time for each layer")
            return tuple(
                mistakes.seconds(item, f"{key}[{index}]") for index, item in enumerate(items)
            )
        case _ if key not in data:
            mistakes.add(key, "is missing: a list with a time for each layer")
        case other:
            mistakes.add(key, f"{found_text(other)} is not a list of times")
    return ()


def _same_lengths(lists: dict[str, list[Any]], mistakes: MistakeList) -> None:
    """Note a mistake if non-empty lists differ in length."""
    lengths = {key: len(items) for key, items in lists.items() if items}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{key} {length}" for key, length in lengths.items())
        mistakes.add(
            ", ".join(lengths), f"differ in length ({counts}): give each layer one time in each"
        )
