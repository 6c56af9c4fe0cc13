"""Data sets and splits that are typed on the command line, without a scenario."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from ...learning.datasets import OwnDataset
from ...learning.datasets.own import OwnDataError
from ...learning.datasets.own.kept_data import resolved
from ...learning.datasets.split import AnySplit
from ..sections.devices import Section
from ..sections.fields import Kinds
from .dataset_files import PATHS, absolute_path, placed
from .document import Document, Mark
from .override import Override, override
from .wording import explain
from .yaml_subset import parse


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
