"""Costs from JSON files, read exactly: the times of layers, and those of compute groups.

Numbers are read as decimals, texts as fractions, and all mistakes are listed with file and key.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...costs.machine_repair import GroupCycle, conv_time
from ...errors import ScenarioError, suggestion
from ...plugins.plain_files import read_plain
from ...scenario.reading.wording import quoted
from ...scenario.sections.devices import MOST_DEVICES
from ...schedules import LayerCosts
from ...units import MAX_SECONDS

LISTS = ("pull", "forward", "backward", "push")
"""Keys with a time for each layer."""
KEYS = ("setup", *LISTS)
GROUP_KEYS = ("devices", "t_conv", "t_fc", "t_cc", "t_cn", "combination")
COMBINATIONS = ("max", "sum")

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?|[0-9]+/[0-9]+", re.ASCII)
_LONGEST = 400
"""Characters of a number: as many as the digits of the largest 64-bit float, and some."""


@dataclass(frozen=True)
class GroupCosts:
    """The costs in a file."""

    devices: int
    cycle_of: Callable[[int], GroupCycle]
    """Returns the cycle of a group when there are so many groups."""


class _Number(str):
    """JSON number as text, with all digits."""


class _Mistakes:
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


def read_costs(file: Path) -> LayerCosts:
    """Return the costs in `file` in exact fractions of a second.

    Raises ScenarioError with a line for each mistake, which names the file and the key.
    """
    return parse_costs(_text(file), str(file))


def parse_costs(text: str, name: str) -> LayerCosts:
    """Return the costs in `text`, as `read_costs` does; `name` names the text in mistakes."""
    data, mistakes = _mapping(text, name, KEYS)
    setups = _setups(data, mistakes)
    times = {key: _times(data, key, mistakes) for key in LISTS}
    lists = {key: value for key in LISTS if isinstance(value := data.get(key), list)}
    _same_lengths(lists, mistakes)
    if mistakes:
        raise mistakes.error()
    return LayerCosts(**times, pull_setup=setups["pull"], push_setup=setups["push"])


def _setups(data: dict[str, Any], mistakes: _Mistakes) -> dict[str, Fraction]:
    """Return the set-up times of both directions."""
    setup = data.get("setup")
    if "setup" not in data:
        mistakes.add("setup", "is missing: seconds of each message before its layers")
    if not isinstance(setup, dict):
        both = mistakes.seconds(setup, "setup") if "setup" in data else Fraction(0)
        return {"pull": both, "push": both}
    if setup.keys() != {"pull", "push"}:
        wanted = 'write one number, or {"pull": …, "push": …}'
        written = ", ".join(map(_key_text, setup)) or "none"
        mistakes.add("setup", f"has the keys {written}: {wanted}")
    return {
        way: mistakes.seconds(setup[way], f"setup.{way}") if way in setup else Fraction(0)
        for way in ("pull", "push")
    }


def _times(data: dict[str, Any], key: str, mistakes: _Mistakes) -> tuple[Fraction, ...]:
    match data.get(key):
        case list(items):
            if not items:
                mistakes.add(key, "is empty: give a time for each layer")
            return tuple(
                mistakes.seconds(item, f"{key}[{index}]") for index, item in enumerate(items)
            )
        case _ if key not in data:
            mistakes.add(key, "is missing: a list with a time for each layer")
        case other:
            mistakes.add(key, f"{_found_text(other)} is not a list of times")
    return ()


def _same_lengths(lists: dict[str, list[Any]], mistakes: _Mistakes) -> None:
    """Note a mistake if non-empty lists differ in length."""
    lengths = {key: len(items) for key, items in lists.items() if items}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{key} {length}" for key, length in lengths.items())
        mistakes.add(
            ", ".join(lengths), f"differ in length ({counts}): give each layer one time in each"
        )


# -- compute groups --------------------------------------------------------------------------------


def read_group_costs(file: Path) -> GroupCosts:
    """Return the costs in `file`.

    Raises ScenarioError with a line for each mistake, which names the file and the key.
    """
    return parse_group_costs(_text(file), str(file))


def parse_group_costs(text: str, name: str) -> GroupCosts:
    """Return the costs in `text`, as `read_group_costs` does; `name` names the text in mistakes."""
    data, mistakes = _mapping(text, name, GROUP_KEYS)
    devices = _devices(data, mistakes)
    times = {key: _group_time(data, key, mistakes) for key in ("t_conv", "t_cc", "t_cn", "t_fc")}
    combination = data.get("combination", "max")
    if combination not in COMBINATIONS or isinstance(combination, _Number):
        mistakes.add("combination", f"{_found_text(combination)} is not max or sum")
    if "t_conv" in data:
        for key in ("t_cc", "t_cn", "combination"):
            if key in data:
                mistakes.add(key, "stands beside t_conv: give t_conv, or t_cc and t_cn")
    elif "t_cc" not in data:
        mistakes.add("t_conv", "is missing: seconds of a group update without the server's part")
    if "t_fc" not in data:
        mistakes.add("t_fc", "is missing: seconds for which a group update occupies the server")
    if not mistakes and not any(times.values()):
        mistakes.add("t_conv, t_fc", "are both 0: an update takes some time")
    if mistakes:
        raise mistakes.error()

    def cycle_of(groups: int) -> GroupCycle:
        conv = times["t_conv"]
        if "t_conv" not in data:
            members = max(1.0, devices / groups)
            conv = conv_time(times["t_cc"], times["t_cn"], members, combination)
        return GroupCycle(conv, (times["t_fc"],))

    return GroupCosts(devices, cycle_of)


def _group_time(data: dict[str, Any], key: str, mistakes: _Mistakes) -> float:
    return float(mistakes.seconds(data[key], key)) if key in data else 0.0


def _devices(data: dict[str, Any], mistakes: _Mistakes) -> int:
    wanted = f"write a whole number from 1 to {MOST_DEVICES:,}"
    if "devices" not in data:
        mistakes.add("devices", f"is missing: {wanted}")
        return 1
    value = data["devices"]
    if not isinstance(value, _Number) or not value.isascii() or not value.isdigit():
        mistakes.add("devices", f"{_found_text(value)} is not a number of devices: {wanted}")
    elif len(value) > len(str(MOST_DEVICES)) or not 1 <= int(value) <= MOST_DEVICES:
        mistakes.add("devices", f"{_found_text(value)} is out of range: {wanted}")
    else:
        return int(value)
    return 1


# -- exact JSON ------------------------------------------------------------------------------------


def _text(file: Path) -> str:
    """Return the text in `file`. Raises ScenarioError if it cannot be read."""
    try:
        return read_plain(file).decode()
    except OSError as error:
        raise ScenarioError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{file}: is not UTF-8 text (byte {error.start})") from error


def _mapping(text: str, name: str, keys: Collection[str]) -> tuple[dict[str, Any], "_Mistakes"]:
    """Return the mapping in `text` and the mistakes in its keys, which should be among `keys`.

    `name` names the text in mistakes. Raises ScenarioError if the text holds no mapping.
    """
    repeated: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        written = [key for key, _ in pairs]
        repeated.extend(dict.fromkeys(key for key in written if written.count(key) > 1))
        return dict(pairs)

    try:
        data = json.loads(
            text,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_Number,
            object_pairs_hook=once,
        )
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{name}:{error.lineno}: this is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ScenarioError(f"{name}: is nested too deeply") from error
    if not isinstance(data, dict):
        raise ScenarioError(f"{name}: costs are a mapping with the keys {', '.join(keys)}")
    mistakes = _Mistakes(name)
    for key in repeated:
        mistakes.add(_key_text(key), "is written twice")
    for key in data.keys() - set(keys):
        hint = suggestion(key, keys) or f": there are {', '.join(keys)}"
        mistakes.add(_key_text(key), f"no such key{hint}")
    mistakes.sort()
    return data, mistakes


def _time_mistakes(value: Any) -> Iterator[str]:
    """Yield the first mistake in `value`, which should be a number of seconds."""
    wanted = 'write seconds from 0 up, as 2, 2.5 or "7/3"'
    if not isinstance(value, str):
        yield f"{_found_text(value)} is not a number: {wanted}"
    elif len(value) > _LONGEST:
        yield (
            f"{_found_text(value)} has {len(value)} characters: {_LONGEST} are enough for any time"
        )
    elif _NUMBER.fullmatch(value.removeprefix("-")) is None:
        yield f"{_found_text(value)} is not a number of seconds: {wanted}"
    elif re.search(r"/0+$", value):
        yield f"{_found_text(value)} divides by zero: {wanted}"
    elif Fraction(value) < 0:
        yield f"{_found_text(value)} is below zero: {wanted}"
    elif Fraction(value) > MAX_SECONDS:
        yield f"{_found_text(value)} is above {MAX_SECONDS:g} seconds"


def _key_text(text: str) -> str:
    """Return the key `text` without line breaks."""
    return text if text.isidentifier() else quoted(text)


def _found_text(value: Any) -> str:
    """Return `value` in the spelling of the file, without line breaks."""
    if value is None:
        return "null"
    return str(value)[:60] if isinstance(value, _Number) else quoted(value)
