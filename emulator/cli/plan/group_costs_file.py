"""Costs of compute groups from a JSON file: the number of devices, and the times of an update."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...costs.machine_repair import GroupCycle, conv_time
from ...scenario.devices import MOST_DEVICES
from .exact_json import ExactNumber, MistakeList, found_text, read_mapping, read_text

KEYS = ("devices", "t_conv", "t_fc", "t_cc", "t_cn", "combination")
COMBINATIONS = ("max", "sum")


@dataclass(frozen=True)
class GroupCosts:
    """The costs in a file."""

    devices: int
    cycle_of: Callable[[int], GroupCycle]
    """Returns the cycle of a group when there are so many groups."""


def read_group_costs(file: Path) -> GroupCosts:
    """Return the costs in `file`.

    Raises ScenarioError with a line for each mistake, which names the file and the key.
    """
    return parse_group_costs(read_text(file), str(file))


def parse_group_costs(text: str, name: str) -> GroupCosts:
    """Return the costs in `text`, as `read_group_costs` does; `name` names the text in mistakes."""
    data, mistakes = read_mapping(text, name, KEYS)
    devices = _devices(data, mistakes)
    times = {key: _time(data, key, mistakes) for key in ("t_conv", "t_cc", "t_cn", "t_fc")}
    combination = data.get("combination", "max")
    if combination not in COMBINATIONS or isinstance(combination, ExactNumber):
        mistakes.add("combination", f"{found_text(combination)} is not max or sum")
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


def _time(data: dict[str, Any], key: str, mistakes: MistakeList) -> float:
    return float(mistakes.seconds(data[key], key)) if key in data else 0.0


def _devices(data: dict[str, Any], mistakes: MistakeList) -> int:
    wanted = f"write a whole number from 1 to {MOST_DEVICES:,}"
    if "devices" not in data:
        mistakes.add("devices", f"is missing: {wanted}")
        return 1
    value = data["devices"]
    if not isinstance(value, ExactNumber) or not value.isascii() or not value.isdigit():
        mistakes.add("devices", f"{found_text(value)} is not a number of devices: {wanted}")
    elif len(value) > len(str(MOST_DEVICES)) or not 1 <= int(value) <= MOST_DEVICES:
        mistakes.add("devices", f"{found_text(value)} is out of range: {wanted}")
    else:
        return int(value)
    return 1
