"""Types of the keys of a fault's schedule, as a scenario file writes them."""

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import core_schema

from ...units import Fraction, Seconds
from ...world.faults import Aimed, Recurring, Scheduled, scheduled
from ...world.faults.occurrences import WindowEnd
from ...world.faults.schedule import ALL
from ..reading.wording import quoted
from .fields import AnyLaw, read_types


def _ordered(window: tuple[Seconds, WindowEnd]) -> tuple[Seconds, WindowEnd]:
    begin, end = window
    if not begin < end:
        raise ValueError(f"the window from {begin} to {end} is empty: write the earlier time first")
    return window


def _two_times(window: Any) -> Any:
    """Return the list `window` as a tuple; raise ValueError if it is no list of two."""
    if isinstance(window, list | tuple) and len(window) == 2:
        return tuple(window)
    found = f"a list of {len(window)}" if isinstance(window, list) else quoted(window)
    if isinstance(window, str) and window:
        time = window if len(window) < 60 else "TIME"
        meant = f"write [{time}, end] for the time from then on, or [0s, {time}] for until then"
    else:
        meant = "write its begin and its end, for example [1min, 3min] or [1min, end]"
    raise ValueError(f"{found} is not a list of two times: {meant}")


def _above_zero(share: Fraction) -> Fraction:
    if not share > 0:
        raise ValueError(f"{share} strikes no device: write a share above zero")
    return share


class Nodes:
    """Reads a list of names, or the word `all`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        word = core_schema.no_info_plain_validator_function(_every)
        choices = {ALL: word, "names": handler.generate_schema(tuple[str, ...])}
        return core_schema.tagged_union_schema(
            choices, lambda value: ALL if isinstance(value, str) else "names"
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"const": ALL}, handler(schema["choices"]["names"])]}


def _every(word: str) -> str:
    if word != ALL:
        name = word if len(word) < 60 else "NAME"
        raise ValueError(f"{quoted(word)} is not a list: write [{name}], or {ALL} for all devices")
    return word


_Window = Annotated[
    tuple[Seconds, WindowEnd], BeforeValidator(_two_times), AfterValidator(_ordered)
]

TIMES: dict[str, Any] = {
    **dict.fromkeys(("at", "every", "lasts", "spread"), AnyLaw | None),
    "between": _Window | None,
    "count": Annotated[int, Field(ge=1)] | None,
    "share": Annotated[Fraction, AfterValidator(_above_zero)] | None,
}
"""Types of the keys that every entry may have, in place of those of `Scheduled`."""

NODES: dict[str, Any] = {"nodes": Annotated[tuple[str, ...] | Literal["all"], Nodes()] | None}
"""Type of the key by which a scenario's entry names its targets."""


@cache
def aimed(fault: type) -> type[Scheduled]:
    """Return the class of a scenario's entry of the kind `fault`."""
    types = TIMES | NODES | read_types(fault)
    return scheduled(Aimed, fault, types)  # type: ignore[type-abstract]


@cache
def recurring(fault: type) -> type[Scheduled]:
    """Return the class of a failure profile's entry of the kind `fault`."""
    types = TIMES | read_types(fault)
    return scheduled(Recurring, fault, types)  # type: ignore[type-abstract]
