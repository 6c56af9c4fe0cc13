"""The key `server.durability`: what of the server's work outlives the server's process."""

from typing import Annotated, Any, TypeAlias

from pydantic_core import core_schema

from ...core.plan import Durability
from ..reading.wording import not_among
from .devices import Section
from .fields import Duration, Name

NONE, UPDATE = "none", "update"
_EVERY = "every: TIME"
_WORDS = {
    NONE: "No durability: the run ends with the server's process.",
    UPDATE: "Every update is in a log on the disk before anybody learns of it: none is lost.",
}


class SavedEvery(Section):
    """States of the server on its disk, saved again and again: updates since the last are lost."""

    every: Duration
    """Time between two saved states, for example `30s`."""


class Durable:
    """Reads a durability: the word `none` or `update`, or a mapping as `SavedEvery`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        word = core_schema.no_info_plain_validator_function(_word)
        choices = {UPDATE: word, _EVERY: handler.generate_schema(SavedEvery)}
        return core_schema.tagged_union_schema(choices, self._tag)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        words = Name(_WORDS).__get_pydantic_json_schema__(None, None)
        return {"anyOf": [words, handler(schema["choices"][_EVERY])]}

    def _tag(self, value: Any) -> str:
        return _EVERY if isinstance(value, dict | SavedEvery) else UPDATE


def _word(durability: Any) -> str:
    if isinstance(durability, str) and durability in _WORDS:
        return str(durability)
    raise ValueError(not_among(durability, [*_WORDS, f"{{{_EVERY}}}"]))


AnyDurability: TypeAlias = Annotated[str | SavedEvery, Durable()]


def planned(durability: str | SavedEvery) -> Durability | None:
    """Return the plan of `durability`, or None without durability."""
    if isinstance(durability, SavedEvery):
        return Durability(float(durability.every))
    return Durability() if durability == UPDATE else None
