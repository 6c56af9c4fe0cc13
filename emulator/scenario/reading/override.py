"""`--set training.batch_size=32`: change a value of the file before it is checked."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .document import Address, Document, Mark, Mistake, Step, place
from .wording import found
from .yaml_subset import parse

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class Override(NamedTuple):
    """A `PATH=VALUE`, VALUE being YAML, and the option that it was given by."""

    text: str
    option: str = "--set"


def override(document: Document, one: Override, expand: Callable[[Address], None]) -> None:
    """Apply it; what is wrong with it is the document's mistake.

    A key that is not there yet is added, an entry of a list is not. `expand` is given the path
    and replaces the names on the way to the value by what they stand for.
    """
    source = f"{one.option} {one.text}"
    path, equals, value = one.text.partition("=")
    new = parse(value, source, lines=False)
    try:
        if not equals:
            raise ValueError("write PATH=VALUE, as training.batch_size=32")
        address = _address(path.strip())
        expand(address)
        made = _make_room(document.data, address)
    except ValueError as error:
        document.mistakes.append(Mistake(Mark(source, None, ()), str(error)))
        return
    document.marks |= {at: Mark(source, None, at) for at in made}
    new.marks = {at: Mark(source, None, address + at) for at in new.marks}
    document.graft(address, new)


def _address(path: str) -> Address:
    steps: list[Step] = []
    end = 0
    while match := _STEP.match(path, end):
        steps.append(match[1] if match[2] is None else int(match[2]))
        end = match.end()
    if end < len(path) or not steps:
        raise ValueError(f"{path!r} is no path to a value: write one as devices[0].link.up.rate")
    return tuple(steps)


def _make_room(data: Any, address: Address) -> list[Address]:
    """See that what is to hold the value exists; which mappings had to be made for that."""
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
    """Raise ValueError unless the holder can have such a part."""
    match holder, step:
        case dict(), str():
            return
        case list(), int() if step < len(holder):
            return
        case list(), int():
            raise ValueError(f"{where} has no entry [{step}]: it has {len(holder)}")
        case list(), _:
            raise ValueError(f"{where} is a list: say which entry, as {where}[0]")
        case dict(), _:
            raise ValueError(f"{where} is a mapping: say which key, as {where}.KEY")
        case _:
            raise ValueError(f"{where} is {found(holder)}, which has no parts: set it whole")
