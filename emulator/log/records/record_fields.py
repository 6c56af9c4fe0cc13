"""Types of the fields of log records, with their units, and the fields that all records have."""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from ...layout import Segment

Time: TypeAlias = Annotated[float, Meta(extra={"unit": "s"})]
"""Emulated seconds; a time since the run's zero where the docstring names no other beginning."""

Size: TypeAlias = Annotated[int, Meta(extra={"unit": "bytes"})]
"""Bytes."""

Share: TypeAlias = Annotated[float, Meta(extra={"unit": "fraction"})]
"""A fraction between 0 and 1."""

Rate: TypeAlias = Annotated[float, Meta(extra={"unit": "bit/s"})]
"""Bits per second."""

Times: TypeAlias = Annotated[list[float], Meta(extra={"unit": "s"})]
"""Emulated seconds, one number for each layer, layer 1 first."""

Layers: TypeAlias = Annotated[list[Segment], Meta(extra={"unit": "layers"})]
"""Segments of layers as [first, last], both included, layers counted from 1 at the input."""

Spans: TypeAlias = Annotated[list[tuple[float, float]], Meta(extra={"unit": "s"})]
"""Emulated seconds as [begin, end], one pair for each segment, in the segments' order."""


class LogRecord(msgspec.Struct, tag_field="what", omit_defaults=True, gc=False):
    """The fields that every line of `run.jsonl` has."""

    at: Time
    """When it happened, since the run's zero; negative before; to the microsecond."""

    @property
    def what(self) -> str:
        """The record's kind, as `update`."""
        return kind(type(self))

    def facts(self) -> dict[str, Any]:
        """Return the fields behind `at` and `what` as in the record's line."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        del plain["at"], plain["what"]
        return plain


def kind(record_type: type[LogRecord]) -> str:
    """Return the `what` of the records of `record_type`, as `update`."""
    return str(record_type.__struct_config__.tag)
