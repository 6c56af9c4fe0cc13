"""Reads a JSON mapping of exact numbers, and lists all mistakes with file and key."""

import json
import re
from collections.abc import Collection, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import ScenarioError, suggestion
from ...plugins.plain_files import read_plain
from ...scenario.reading.wording import quoted
from ...units import MAX_SECONDS

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?|[0-9]+/[0-9]+", re.ASCII)
_LONGEST = 400
"""Characters of a number: as many as the digits of the largest 64-bit float, and some."""


class ExactNumber(str):
    """JSON number as text, with all digits."""


def read_text(file: Path) -> str:
    """Return the text in `file`. Raises ScenarioError if it cannot be read."""
    try:
        return read_plain(file).decode()
    except OSError as error:
        raise ScenarioError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{file}: is not UTF-8 text (byte {error.start})") from error


def read_mapping(
    text: str, name: str, keys: Collection[str]
) -> tuple[dict[str, Any], "MistakeList"]:
    """Return the mapping in `text` and the mistakes in its keys, which should be among `keys`.

    `name` names the text in mistakes. Raises ScenarioError if the text holds no mapping.
    """
    repeated: list[str] = []

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        written = [key for key, _ in pairs]
        repeated.extend(dict.fromkeys(key for key in written if written.count(key) > 1))
        return dict(pairs)

    try:
        data = json.loads(
            text,
            parse_int=ExactNumber,
            parse_float=ExactNumber,
            parse_constant=ExactNumber,
            object_pairs_hook=mapping,
        )
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{name}:{error.lineno}: this is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ScenarioError(f"{name}: is nested too deeply") from error
    if not isinstance(data, dict):
        raise ScenarioError(f"{name}: costs are a mapping with the keys {', '.join(keys)}")
    mistakes = MistakeList(name)
    for key in repeated:
        mistakes.add(key_text(key), "is written twice")
    for key in data.keys() - set(keys):
        hint = suggestion(key, keys) or f": there are {', '.join(keys)}"
        mistakes.add(key_text(key), f"no such key{hint}")
    mistakes.sort()
    return data, mistakes


class MistakeList:
    """Mistakes in a text with the given `name`, with the keys at their places."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[tuple[str, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, place: str, message: str) -> None:
        """Note the mistake `message` at the key `place`."""
        self._found.append((place, message))

    def sort(self) -> None:
        """Order the mistakes noted so far by their places."""
        self._found.sort()

    def error(self) -> ScenarioError:
        """Return an error with a line for each mistake."""
        return ScenarioError(
            "\n".join(f"{self._name}: {place}: {message}" for place, message in self._found),
            [
                {"file": self._name, "line": None, "place": place, "message": message}
                for place, message in self._found
            ],
        )

    def seconds(self, value: Any, place: str) -> Fraction:
        """Return `value` in seconds; note a mistake at `place` and return 0 if it is no time."""
        for mistake in _time_mistakes(value):
            self.add(place, mistake)
            return Fraction(0)
        return Fraction(value)


def _time_mistakes(value: Any) -> Iterator[str]:
    """Yield the first mistake in `value`, which should be a number of seconds."""
    wanted = 'write seconds from 0 up, as 2, 2.5 or "7/3"'
    if not isinstance(value, str):
        yield f"{found_text(value)} is not a number: {wanted}"
    elif len(value) > _LONGEST:
        yield (
            f"{found_text(value)} has {len(value)} characters: {_LONGEST} are enough for any time"
        )
    elif _NUMBER.fullmatch(value.removeprefix("-")) is None:
        yield f"{found_text(value)} is not a number of seconds: {wanted}"
    elif re.search(r"/0+$", value):
        yield f"{found_text(value)} divides by zero: {wanted}"
    elif Fraction(value) < 0:
        yield f"{found_text(value)} is below zero: {wanted}"
    elif Fraction(value) > MAX_SECONDS:
        yield f"{found_text(value)} is above {MAX_SECONDS:g} seconds"


def key_text(text: str) -> str:
    """Return the key `text` without line breaks."""
    return text if text.isidentifier() else quoted(text)


def found_text(value: Any) -> str:
    """Return `value` in the spelling of the file, without line breaks."""
    if value is None:
        return "null"
    return str(value)[:60] if isinstance(value, ExactNumber) else quoted(value)
