"""The keys of resolved scenarios, one by one: with their address, their like, and left out."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from emulator.scenario import loads
from emulator.scenario.reading.dump import dump
from emulator.scenario.reading.yaml_subset import parse
from tests.fakes.small_scenario import addresses


def written(text: str) -> dict[str, Any]:
    """Return the resolved scenario of `text` as plain data."""
    return parse(dump(loads(text)), "resolved").data


def places(data: dict[str, Any], seen: set[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the address of each key of `data` whose like is not in `seen` yet."""
    for address in addresses(data):
        if address and isinstance(address[-1], str) and (like := alike(data, address)) not in seen:
            seen.add(like)
            yield address


def alike(data: dict[str, Any], address: tuple[Any, ...]) -> str:
    """Return the key at `address` without the numbers of list entries, with the entry's kind."""
    key = path(tuple("" if isinstance(step, int) else step for step in address))
    kind = holder(data, address).get("kind")
    return f"{key} of {kind}" if kind else key


def holder(data: dict[str, Any], address: tuple[Any, ...]) -> dict[str, Any]:
    """Return the mapping that has the key at `address`."""
    found: Any = data
    for step in address[:-1]:
        found = found[step]
    return found


def without(data: dict[str, Any], address: tuple[Any, ...]) -> tuple[dict[str, Any], Any]:
    """Return `data` without the key at `address`, and its value."""
    less = deepcopy(data)
    return less, holder(less, address).pop(address[-1])


def path(address: tuple[Any, ...]) -> str:
    """Return `address` as `--set` names it."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in address)
    return "".join(steps).removeprefix(".")
