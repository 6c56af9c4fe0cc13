"""The scenario's section `time`: how much slower than real time containers play the run."""

import math
from typing import Annotated, Any, TypeAlias

from pydantic_core import core_schema

from ..reading.wording import quoted
from .devices import Section

AUTO = "auto"

MOST_DILATION = 1000.0
"""Largest dilation: a second of the run takes a quarter of an hour."""


class _Dilation:
    """Reads a dilation: the word `auto`, or a number from 1 to `MOST_DILATION`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_plain_validator_function(_read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "anyOf": [{"const": AUTO}, {"type": "number", "minimum": 1, "maximum": MOST_DILATION}]
        }


def _read(value: Any) -> str | float:
    if value == AUTO:
        return AUTO
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and math.isfinite(value) and 1 <= value <= MOST_DILATION:
        return float(value)
    raise ValueError(f"{quoted(value)} is not {AUTO}, or a number from 1 to {MOST_DILATION:g}")


AnyDilation: TypeAlias = Annotated[str | float, _Dilation()]


class TimeSection(Section):
    """Time of the run in containers: the time dilation."""

    dilation: AnyDilation = 1.0
    """Time dilation of a run in containers: with `4` everything takes four times as long as the
    scenario says, and is reported in the scenario's own seconds, so that a host can play four times
    the devices. `auto` takes the dilation that `emulate check` names for the host."""
