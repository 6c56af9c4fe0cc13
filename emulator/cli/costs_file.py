"""Costs of an iteration from a JSON file, read exactly: numbers as decimals, texts as fractions."""

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..errors import ScenarioError, suggestion
from ..scenario.reading.wording import quoted
from ..schedules import LayerCosts
from ..units import MAX_SECONDS

LISTS = ("pull", "forward", "backward", "push")
"""Keys with a time for each layer."""
KEYS = ("setup", *LISTS)

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?|[0-9]+/[0-9]+", re.ASCII)
_LONGEST = 400
"""Characters of a number: as many as the digits of the largest 64-bit float, and some."""


class _Number(str):
    """Text of a JSON number, with all its digits."""


def read_costs(file: Path) -> LayerCosts:
    """Return the costs in `file` in exact fractions of a second.

    Raises ScenarioError with a line for each mistake, which names the file and the key.
    """
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise ScenarioError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{file}: is not UTF-8 text (byte {error.start})") from error
    return parse_costs(text, str(file))


def parse_costs(text: str, name: str) -> LayerCosts:
    """Return the costs in `text`, as `read_costs` does; `name` names the text in mistakes."""
    repeated: list[str] = []

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        repeated.extend(dict.fromkeys(key for key in keys if keys.count(key) > 1))
        return dict(pairs)

    try:
        data = json.loads(
            text,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_Number,
            object_pairs_hook=mapping,
        )
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{name}:{error.lineno}: this is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ScenarioError(f"{name}: is nested too deeply") from error
    if not isinstance(data, dict):
        raise ScenarioError(f"{name}: costs are a mapping with the keys {', '.join(KEYS)}")
    reader = _Reader(name)
    costs = reader.costs(data, repeated)
    if costs is None:
        raise ScenarioError(
            "\n".join(f"{name}: {place}: {message}" for place, message in reader.mistakes),
            [
                {"file": name, "line": None, "place": place, "message": message}
                for place, message in reader.mistakes
            ],
        )
    return costs


class _Reader:
    """Reads costs, and collects the mistakes with their places."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.mistakes: list[tuple[str, str]] = []

    def costs(self, data: dict[str, Any], repeated: list[str]) -> LayerCosts | None:
        """Return the costs in `data`; None after a mistake."""
        self.mistakes += [(_key(key), "is written twice") for key in repeated]
        for key in data.keys() - set(KEYS):
            hint = suggestion(key, KEYS) or f": there are {', '.join(KEYS)}"
            self.mistakes.append((_key(key), f"no such key{hint}"))
        self.mistakes.sort()
        setups = self._setups(data)
        times = {key: self._times(data, key) for key in LISTS}
        self._same_lengths(
            {key: value for key in LISTS if isinstance(value := data.get(key), list)}
        )
        if self.mistakes:
            return None
        return LayerCosts(**times, pull_setup=setups["pull"], push_setup=setups["push"])

    def _setups(self, data: dict[str, Any]) -> dict[str, Fraction]:
        """Return the set-up times of both directions."""
        setup = data.get("setup")
        if "setup" not in data:
            self.mistakes.append(("setup", "is missing: seconds of each message before its layers"))
        if not isinstance(setup, dict):
            both = self._seconds(setup, "setup") if "setup" in data else Fraction(0)
            return {"pull": both, "push": both}
        if setup.keys() != {"pull", "push"}:
            wanted = 'write one number, or {"pull": …, "push": …}'
            self.mistakes.append(
                ("setup", f"has the keys {', '.join(map(_key, setup)) or 'none'}: {wanted}")
            )
        return {
            way: self._seconds(setup[way], f"setup.{way}") if way in setup else Fraction(0)
            for way in ("pull", "push")
        }

    def _times(self, data: dict[str, Any], key: str) -> tuple[Fraction, ...]:
        match data.get(key):
            case list(items):
                if not items:
                    self.mistakes.append((key, "is empty: give a time for each layer"))
                return tuple(
                    self._seconds(item, f"{key}[{index}]") for index, item in enumerate(items)
                )
            case _ if key not in data:
                self.mistakes.append((key, "is missing: a list with a time for each layer"))
            case other:
                self.mistakes.append((key, f"{_found(other)} is not a list of times"))
        return ()

    def _same_lengths(self, lists: dict[str, list[Any]]) -> None:
        """Note a mistake if non-empty lists differ in length."""
        lengths = {key: len(items) for key, items in lists.items() if items}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{key} {length}" for key, length in lengths.items())
            self.mistakes.append(
                (
                    ", ".join(lengths),
                    f"differ in length ({counts}): give each layer one time in each",
                )
            )

    def _seconds(self, value: Any, place: str) -> Fraction:
        """Return `value` in seconds; note a mistake and return 0 if it is not a time."""
        for mistake in _mistakes(value):
            self.mistakes.append((place, mistake))
            return Fraction(0)
        return Fraction(value)


def _mistakes(value: Any) -> Iterator[str]:
    """Yield the first mistake in `value`, which should be a number of seconds."""
    wanted = 'write seconds from 0 up, as 2, 2.5 or "7/3"'
    if not isinstance(value, str):
        yield f"{_found(value)} is not a number: {wanted}"
    elif len(value) > _LONGEST:
        yield f"{_found(value)} has {len(value)} characters: {_LONGEST} are enough for any time"
    elif _NUMBER.fullmatch(value.removeprefix("-")) is None:
        yield f"{_found(value)} is not a number of seconds: {wanted}"
    elif re.search(r"/0+$", value):
        yield f"{_found(value)} divides by zero: {wanted}"
    elif Fraction(value) < 0:
        yield f"{_found(value)} is below zero: {wanted}"
    elif Fraction(value) > MAX_SECONDS:
        yield f"{_found(value)} is above {MAX_SECONDS:g} seconds"


def _key(text: str) -> str:
    """Return the key `text` on one line."""
    return text if text.isidentifier() else quoted(text)


def _found(value: Any) -> str:
    if value is None:
        return "null"
    return str(value)[:60] if isinstance(value, _Number) else quoted(value)
