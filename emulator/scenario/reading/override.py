"""Overrides like `--set training.batch_size=32`, which change a scenario before the checks."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .document import Address, Document, Mark, Mistake, Step, place
from .wording import quoted
from .yaml_subset import parse

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class Override(NamedTuple):
    """A change of a value in a scenario."""

    text: str
    """`PATH=VALUE`, where VALUE is YAML."""
    option: str = "--set"
    """Option of the command line that gave `text`, for messages."""


def override(document: Document, change: Override, expand: Callable[[Address], None]) -> None:
    """Apply `change` to `document`; a mistake in `change` becomes a mistake of `document`.

    A missing key is added, a missing entry of a list is a mistake. `expand` is called with the
    path first, and replaces the names of profiles and algorithms around the value by their
    contents.
    """
    source = f"{change.option} {change.text}"
    path, equals, value = change.text.partition("=")
    new = parse(value, source, lines=False)
    try:
        if not equals:
            raise ValueError("write PATH=VALUE, for example training.batch_size=32")
        address = _address(path.strip())
        expand(address)
        made = _make_room(document.data, address)
    except ValueError as error:
        document.mistakes.append(Mistake(Mark(source, None, ()), str(error)))
        return
    document.marks |= {at: Mark(source, None, at, typed=True) for at in made}
    new.marks = {at: Mark(source, None, address + at, typed=True) for at in new.marks}
    document.graft(address, new)


def _address(path: str) -> Address:
    steps: list[Step] = []
    end = 0
    while match := _STEP.match(path, end):
        steps.append(match[1] if match[2] is None else int(match[2]))
        end = match.end()
    if end < len(path) or not steps:
        raise ValueError(
            f"{quoted(path)} is no path to a value: a path looks like devices[0].link.up.rate"
        )
    return tuple(steps)


def _make_room(data: Any, address: Address) -> list[Address]:
    """Make the missing mappings around the value at `address`, and return their addresses.

    Raises ValueError if `data` cannot hold a value at `address`.
    """
    made = []
    for depth, step in enumerate(address):
        _check(data, step, place(address[:depth]) or "the file")
        if depth + 1 == len(address):
            break
        if isinstance(step, str) and data.get(step) is None:
            data[step] = {}
            made.append(address[: depth + 1])
        data = data[step]
    return made


def _check(holder: Any, step: Step, where: str) -> None:
    """Raise ValueError unless `holder`, which is at the place `where`, can have the key `step`."""
    match holder, step:
        case dict(), str():
            return
        case list(), int() if step < len(holder):
            return
        case list(), int():
            raise ValueError(f"{where} has no entry [{step}]: it has {len(holder)}")
        case list(), _:
            raise ValueError(f"{where} is a list: name the entry, as {where}[0]")
        case dict(), _:
            raise ValueError(f"{where} is a mapping: name the key, as {where}.KEY")
        case _:
            raise ValueError(f"{where} is {quoted(holder)}, which has no keys: set {where} itself")
