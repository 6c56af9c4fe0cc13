"""Values typed in a shell: an override of a scenario, a codec, a data set, a split."""

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from ...codecs import FAMILY, AnyCodec
from ...errors import ScenarioError
from ...learning.datasets import OwnDataset
from ...learning.datasets.own import OwnDataError
from ...learning.datasets.own.kept_data import resolved
from ...learning.datasets.split import AnySplit
from ...plugins.python_file import is_reference
from ..own_plugins import STRICT
from ..sections.devices import Section
from ..sections.fields import Kinds
from ..sections.training_section import CodecField
from .data_and_model_files import PATHS, absolute_path, placed
from .document import Address, Document, Mark, Mistake, Step, place
from .wording import conflicts, explain, not_among, quoted
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


def typed_codec(kind: str, given: Sequence[str]) -> AnyCodec:
    """Return the codec of `kind`, a word or `./file.py:Class`, with each `FIELD=VALUE` of `given`.

    Raises ScenarioError with a line for each mistake.
    """
    known = [*FAMILY.classes, *FAMILY.installed()]
    if is_reference(kind):
        kind = os.path.abspath(Path() / kind)
    elif kind not in known:
        raise ScenarioError(f"{not_among(kind, known)}; a file is ./file.py:Class")
    keys: dict[str, Any] = {"kind": kind}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(f"--set {text}: write FIELD=VALUE")
        document = parse(value, f"--set {text}", lines=False)
        if document.mistakes:
            raise ScenarioError("\n".join(map(str, document.mistakes)))
        keys[name] = document.data
    adapter: TypeAdapter[AnyCodec] = TypeAdapter(CodecField, config=STRICT)
    try:
        return adapter.validate_json(json.dumps(keys))
    except ValidationError as error:
        found = conflicts(error.errors(include_url=False), adapter.json_schema(), keys)
        lines = (
            ": ".join(filter(None, (place(at), said)))
            + (f": write --set {place(at)}=VALUE" if said.startswith("is missing") else "")
            for at, said in found
        )
        raise ScenarioError("\n".join(lines)) from error


class _TypedData(Section):
    value: OwnDataset


class _TypedSplit(Section):
    value: Annotated[AnySplit, Kinds()]


def read_dataset(path: str, overrides: Sequence[str] = (), *, again: bool = False) -> OwnDataset:
    """Return the data at `path`, resolved, with the keys of each `KEY=VALUE` of `overrides`.

    Paths count from the working directory. `again` reads the source even if the cache has its
    examples. Raises ScenarioError with every mistake.
    """
    document = Document({"file": path}, {(): Mark(path, None, ())})
    for text in overrides:
        override(document, Override(text), lambda _: None)
    for key in PATHS:
        if isinstance(given := document.at((key,)), str):
            document.data[key] = absolute_path(given, Path())
    own: OwnDataset | None = _validated(document, _TypedData)
    if own is not None and not document.mistakes:
        try:
            return resolved(own, again=again)
        except OwnDataError as error:
            for mistake in error.mistakes:
                document.note(placed(mistake, None))
    raise document.refusal()


def read_split(text: str, option: str) -> AnySplit:
    """Return the split in `text`, YAML from the command line's `option`. Raises ScenarioError."""
    document = parse(text, f"{option} {text}", lines=False)
    if isinstance(document.data, dict) and isinstance(file := document.data.get("file"), str):
        document.data["file"] = str(Path(file).resolve())
    split: AnySplit | None = _validated(document, _TypedSplit)
    if split is None or document.mistakes:
        raise document.refusal()
    return split


def _validated(document: Document, section: type[Section]) -> Any:
    """Return the field `value` of `section` in `document`; None after a mistake."""
    if document.mistakes:
        return None
    try:
        # a section is strict, and refuses unknown keys, where a dataclass alone would not
        read: Any = section.model_validate_json(json.dumps({"value": document.data}))
        return read.value
    except ValidationError as error:
        inside = [{**found, "loc": found["loc"][1:]} for found in error.errors(include_url=False)]
        schema: Any = TypeAdapter(section.model_fields["value"].rebuild_annotation()).json_schema()
        explain(document, inside, schema)
        return None
