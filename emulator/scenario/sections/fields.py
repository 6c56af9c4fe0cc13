"""Annotations for a scenario's fields, from which pydantic makes the reader and the JSON schema.

For example `codec: Annotated[AnyCodec, Kinds()]` reads `{kind: topk, keep: 1%}` into a `TopK`, and
puts both spellings of a kind, the word and the mapping, into the JSON schema.
"""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import core_schema

from ...plugins import Family
from ...plugins.python_file import PATTERN, is_reference
from ...units import Fraction, Seconds
from ...world.faults import Aimed, Recurring, Scheduled, scheduled
from ...world.faults.occurrences import WindowEnd
from ...world.faults.schedule import ALL
from ...world.laws import LAWS, Fixed, Law
from ...world.links.link import Link
from ..own_plugins import read_own, schemas_of_own
from ..reading.wording import neither_name_nor_reference, not_among, quoted

_OWN_MODEL = (
    "Function in a Python file: a path from the scenario's folder, or in an option from the "
    "working directory; a colon; the function's name."
)
_BARE = "a word"
"""Tag of the union's member that reads a value without a `kind` or a law's name."""
_OWN = "./file.py:Class"
"""Tag of the union's member that reads plugins of users."""


def _as_it_is(cls: type) -> type:
    return cls


class Kinds:
    """Reads one of several dataclasses, chosen by `kind`; a bare word means `{kind: word}`.

    Without `classes` the members of the annotated union are taken, or no class if the `family` has
    none. With `bare` False a word alone is an error. With `family`, a kind may also be a user's
    class of that family, which `made` turns into the class to read.
    """

    def __init__(
        self,
        classes: Iterable[type] = (),
        *,
        bare: bool = True,
        family: Family | None = None,
        made: Callable[[type], type] = _as_it_is,
    ) -> None:
        self._classes = tuple(classes)
        self._bare, self._family, self._made = bare, family, made

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        members: tuple[Any, ...] = self._classes or get_args(source) or (source,)
        if self._family is not None and not self._family.classes:
            members = ()
        classes = {cls.kind: cls for cls in members}
        choices = {kind: handler.generate_schema(cls) for kind, cls in classes.items()}
        self._words = [kind for kind, cls in classes.items() if not _needs(cls)]
        if self._bare:
            named = core_schema.no_info_plain_validator_function(
                lambda word: _named(word, classes, self._family)
            )
            choices[_BARE] = named
        if self._family is not None:
            choices[_OWN] = core_schema.no_info_plain_validator_function(self._read_own)
        return core_schema.tagged_union_schema(choices, self._tag)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        choices = schema["choices"].items()
        members = [handler(member) for kind, member in choices if kind not in (_BARE, _OWN)]
        words: list[dict[str, Any]] = [{"enum": self._words}]
        if self._family is not None:
            own = schemas_of_own(self._family, self._made, handler)
            members += own.members
            known = [*self._words, *own.words]
            words = [*([{"enum": known}] if known else []), own.file]
        spelled_out = {"oneOf": members}
        return {"anyOf": [*words, spelled_out]} if self._bare else spelled_out

    def _tag(self, value: Any) -> Any:
        word = value if isinstance(value, str) else None
        if isinstance(value, dict):
            word = value.get("kind")
        if self._family is not None and self._is_own(word, value):
            return _OWN if self._bare or not isinstance(value, str) else None
        if isinstance(value, str) and self._bare:
            return _BARE
        return value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)

    def _is_own(self, word: Any, value: Any) -> bool:
        """Return whether `value`, with the kind `word`, is or describes a plugin of users."""
        assert self._family is not None
        if not isinstance(word, str):
            return hasattr(type(value), "plugin_source")
        return word not in self._family.classes and self._family.is_own(word)

    def _read_own(self, value: Any) -> Any:
        assert self._family is not None
        return read_own(value, self._family, self._made)


def _named(word: str, classes: dict[str, Any], family: Family | None) -> Any:
    if word not in classes:
        known = [*classes, *(family.installed() if family else ())]
        wrong = neither_name_nor_reference if family else not_among
        raise ValueError(wrong(word, known or [_OWN]))
    if needs := _needs(classes[word]):
        parts = ", ".join([f"kind: {word}", *(f"{name}: …" for name in needs)])
        raise ValueError(f"{word!r} needs more than its name: write {{{parts}}}")
    return classes[word]()


def _needs(cls: Any) -> list[str]:
    """Return the names of the fields of `cls` without a default."""
    return [
        field.name for field in fields(cls) if field.default is field.default_factory is MISSING
    ]


class Laws:
    """Reads a law of durations, chosen by its name; a time alone means the fixed law."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        choices = {name: handler.generate_schema(law) for name, law in LAWS.items()}
        choices[_BARE] = core_schema.no_info_plain_validator_function(
            lambda time: Fixed(Seconds.parse(time))
        )
        return core_schema.tagged_union_schema(choices, _law)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        laws = [handler(law) for name, law in schema["choices"].items() if name != _BARE]
        return {"anyOf": [Seconds.__get_pydantic_json_schema__(None, None), *laws]}


def _law(value: Any) -> Any:
    if isinstance(value, dict):
        return " and ".join(map(str, value))  # several keys are the name of no law
    return next((name for name, law in LAWS.items() if isinstance(value, law)), _BARE)


class Name:
    """Reads one of the names in `known`, a table of names and their descriptions."""

    def __init__(self, known: dict[str, str], remedy: str = "") -> None:
        """Take a `remedy` that ends the message for a word unlike all names."""
        self._known, self._remedy = known, remedy

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "oneOf": [{"const": name, "description": about} for name, about in self._known.items()]
        }

    def check(self, name: str) -> str:
        """Return `name`. Raises ValueError unless it is known."""
        if name not in self._known:
            message = not_among(name, self._known)
            raise ValueError(message if "(did you mean" in message else f"{message}{self._remedy}")
        return name

    def check_or_reference(self, name: str) -> str:
        """Return `name`. Raises ValueError unless it is known, or a reference to a file."""
        if name not in self._known and not is_reference(name):
            message = neither_name_nor_reference(name, self._known)
            hint = (
                "; or write ./file.py:function for your own" if "(did you mean" in message else ""
            )
            raise ValueError(message + hint)
        return name


class NameOrReference:
    """Reads one of the names in `known`, or a reference as `./file.py:function`, which the reader
    of the file resolves; `about` describes the function."""

    def __init__(self, known: dict[str, str], about: str) -> None:
        self._name, self._about = Name(known), about

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        names = self._name.__get_pydantic_json_schema__(None, None)
        own = {"type": "string", "pattern": PATTERN, "description": self._about}
        return {"anyOf": [names, own]}

    def _check(self, name: str) -> str:
        return self._name.check_or_reference(name)


class NamedOr:
    """Reads one of the names in `known`, or a mapping as the annotated union's dataclass.

    A name may also be a reference as `./file.py:function`, which the reader of the file resolves. A
    string under the key `file_key` of the mapping is the name or the path of a file, as with
    `Profiled`; `described` is the kind of file in words.
    """

    def __init__(self, known: dict[str, str], file_key: str, described: str) -> None:
        self._name = Name(known)
        self._file_key, self._described = file_key, described

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        (mapping,) = (member for member in get_args(source) if member is not str)
        check = core_schema.no_info_after_validator_function(self._check, handler(str))
        choices = {_BARE: check, self._described: handler.generate_schema(mapping)}
        return core_schema.tagged_union_schema(choices, self._tag)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        names = self._name.__get_pydantic_json_schema__(None, None)
        about = f"Name of a {self._described}, or the path of its file."
        filed = {
            "title": self._described,
            "type": "object",
            "properties": {self._file_key: {"type": "string", "description": about}},
            "required": [self._file_key],
            "additionalProperties": False,
        }
        own = {"type": "string", "pattern": PATTERN, "description": _OWN_MODEL}
        return {"anyOf": [names, own, filed, handler(schema["choices"][self._described])]}

    def _check(self, name: str) -> str:
        return self._name.check_or_reference(name)

    def _tag(self, value: Any) -> str:
        # a value that is neither is told that it is not text
        return self._described if isinstance(value, dict) or is_dataclass(value) else _BARE


class NotEmpty:
    """Refuses an empty list; `remedy` is the second half of the message."""

    def __init__(self, remedy: str) -> None:
        self._remedy = remedy

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "minItems": 1}

    def _check(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if not value:
            raise ValueError(f"is empty: {self._remedy}")
        return value


class Profiled:
    """Allows a profile's name or path in the JSON schema, in place of the mapping itself.

    `profile` is the kind of profile in words. `reading/profiles.py` puts the file's contents into
    the document before pydantic sees the data, so the reader needs no change.
    """

    def __init__(self, profile: str) -> None:
        self._profile = profile

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        about = f"Name of a {self._profile}, or the path of its file."
        named = {"type": "string", "description": about}
        return {"anyOf": [named, handler(schema)]}


def _positive(time: Seconds) -> Seconds:
    if not time > 0:
        raise ValueError(f"{time} is not above zero")
    return time


Duration = Annotated[Seconds, AfterValidator(_positive)]
"""A time above zero."""

AnyLaw = Annotated[Law, Laws()]


def read_types(cls: type) -> dict[str, Any]:
    """Return the types for reading those fields of the dataclass `cls` that need another type.

    These are laws, and links, which may be given by a preset's name.
    """
    link = Annotated[Link, Profiled("link preset")]
    read = {Law: AnyLaw, Law | None: AnyLaw | None, Link | None: link | None}
    return {field.name: read[field.type] for field in fields(cls) if field.type in read}


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
