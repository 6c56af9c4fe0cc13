"""Types of the keys of a fault's schedule, as a scenario file writes them."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import core_schema

from ..faults.occurrences import WindowEnd
from ..faults.schedule import ALL
from ..units import Fraction, Seconds
from .fields import AnyLaw
from .reading.wording import quoted


def _ordered(window: tuple[Seconds, WindowEnd]) -> tuple[Seconds, WindowEnd]:
    begin, end = window
    if not begin < end:
        raise ValueError(f"the window from {begin} to {end} is empty: write the earlier time first")
    return window


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


_Window = Annotated[tuple[Seconds, WindowEnd], AfterValidator(_ordered)]

TIMES: dict[str, Any] = {
    **dict.fromkeys(("at", "every", "lasts", "spread"), AnyLaw | None),
    "between": _Window | None,
    "count": Annotated[int, Field(ge=1)] | None,
    "share": Annotated[Fraction, AfterValidator(_above_zero)] | None,
}
"""Types of the keys that every entry may have, in place of those of `Scheduled`."""

NODES: dict[str, Any] = {"nodes": Annotated[tuple[str, ...] | Literal["all"], Nodes()] | None}
"""Type of the key by which a scenario's entry names its targets."""
