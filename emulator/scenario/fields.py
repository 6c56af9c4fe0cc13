"""How the fields of a scenario may be written, told to pydantic once for reading and schema.

Each is an annotation: `codec: Annotated[AnyCodec, Kinds()]` reads `{kind: topk, keep: 1%}`
into a `TopK`, and puts both spellings of a kind into the JSON schema.
"""

from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_args

from pydantic import AfterValidator
from pydantic_core import core_schema

from ..units import Seconds
from ..world.laws import LAWS, Fixed, Law
from .reading.wording import choice

_BARE = "a word"


class Kinds:
    """One of several dataclasses, told apart by `kind`; a bare word is `{kind: word}`."""

    def __init__(self, classes: Iterable[type] = (), *, bare: bool = True) -> None:
        self._classes = tuple(classes)
        self._bare = bare

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        members: tuple[Any, ...] = self._classes or get_args(source) or (source,)
        classes = {cls.kind: cls for cls in members}
        choices = {kind: handler.generate_schema(cls) for kind, cls in classes.items()}
        self._words = [kind for kind, cls in classes.items() if not _needs(cls)]
        if self._bare:
            named = core_schema.no_info_plain_validator_function(lambda word: _named(word, classes))
            choices[_BARE] = named
        return core_schema.tagged_union_schema(choices, self._tag)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        choices = {kind: one for kind, one in schema["choices"].items() if kind != _BARE}
        spelled_out = {"oneOf": [handler(choice) for choice in choices.values()]}
        if not self._bare:
            return spelled_out
        return {"anyOf": [{"enum": self._words}, spelled_out]}

    def _tag(self, value: Any) -> Any:
        if isinstance(value, str) and self._bare:
            return _BARE
        return value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)


def _named(word: str, classes: dict[str, Any]) -> Any:
    if word not in classes:
        raise ValueError(choice(word, classes))
    if needs := _needs(classes[word]):
        parts = ", ".join([f"kind: {word}", *(f"{name}: …" for name in needs)])
        raise ValueError(f"{word!r} needs more than its name: write {{{parts}}}")
    return classes[word]()


def _needs(cls: Any) -> list[str]:
    """The fields without a default."""
    return [one.name for one in fields(cls) if one.default is one.default_factory is MISSING]


class Laws:
    """A law of durations, told apart by its name; a time alone is the fixed law."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        choices = {name: handler.generate_schema(law) for name, law in LAWS.items()}
        choices[_BARE] = core_schema.no_info_plain_validator_function(
            lambda time: Fixed(Seconds.parse(time))
        )
        return core_schema.tagged_union_schema(choices, _law)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        laws = [handler(one) for name, one in schema["choices"].items() if name != _BARE]
        return {"anyOf": [Seconds.__get_pydantic_json_schema__(None, None), *laws]}


def _law(value: Any) -> Any:
    if isinstance(value, dict):
        return next(iter(value), None)
    return next((name for name, law in LAWS.items() if isinstance(value, law)), _BARE)


class Name:
    """One of these names, each with a word about what it is."""

    def __init__(self, known: dict[str, str]) -> None:
        self._known = known

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"oneOf": [{"const": name, "description": a} for name, a in self._known.items()]}

    def _check(self, name: str) -> str:
        if name not in self._known:
            raise ValueError(choice(name, self._known))
        return name


class NotEmpty:
    """A list of at least one; `why` says what it is for."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "minItems": 1}

    def _check(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if not value:
            raise ValueError(f"is empty: {self._why}")
        return value


class Profiled:
    """The value itself, or the name of a profile that holds it, or the path of one.

    Names are looked up before pydantic sees the data, so this only widens the JSON schema.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        named = {"type": "string", "description": f"{self._what} by name, or the path of its file"}
        return {"anyOf": [named, handler(schema)]}


def _positive(time: Seconds) -> Seconds:
    if not time > 0:
        raise ValueError(f"{time}: it must be above zero")
    return time


Duration = Annotated[Seconds, AfterValidator(_positive)]
"""A time above zero."""

AnyLaw = Annotated[Law, Laws()]
