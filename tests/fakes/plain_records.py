"""Records as plain data, for tests that say only the fields that they are about."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from msgspec import NODEFAULT
from msgspec.structs import fields

from emulator.log import records

PlainRecord: TypeAlias = dict[str, Any]
"""A line of a log: `at`, `what`, and the fields of its kind."""

_MADE_UP: dict[Any, Any] = {str: "", bool: False, int: 0, float: 0.0}


def full(record: PlainRecord) -> records.Record:
    """Return the Struct of `record`; a required field that is not in it is empty or zero."""
    facts = {key: value for key, value in record.items() if key not in ("at", "what")}
    struct = records.KINDS[record["what"]]
    missing = {
        field.name: _made_up(field.type)
        for field in fields(struct)
        if field.default is NODEFAULT and field.name not in record
    }
    return records.made(record["what"], record["at"], **missing, **facts)


def plain(record: records.Record) -> PlainRecord:
    """Return `record` as a line of a log would hold it."""
    return {"at": record.at, "what": record.what, **record.facts()}


def read(path: Path) -> Iterator[PlainRecord]:
    """Yield the lines of a log, whether or not they are complete records."""
    with path.open() as log:
        yield from map(json.loads, log)


def written(plain_records: list[PlainRecord]) -> bytes:
    """Return the text of a log, whether or not its lines are complete records."""
    return "".join(json.dumps(record) + "\n" for record in plain_records).encode()


def _made_up(annotation: Any) -> Any:
    if annotation in _MADE_UP:
        return _MADE_UP[annotation]
    if get_origin(annotation) is list:
        return []
    if get_origin(annotation) is Mapping:
        return {}
    annotated = get_origin(annotation) is Annotated
    return _made_up(annotation.__origin__ if annotated else get_args(annotation)[0])
