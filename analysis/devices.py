"""The devices of a run and the links that they asked for, from its resolved scenario."""

import re
from dataclasses import dataclass, field
from typing import Any

from .facts import fact
from .runs import Run

_RATES = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


@dataclass(frozen=True)
class Device:
    """One emulated device; a side of its link is what the scenario says, word for word."""

    name: str
    group: str
    """The entry of the scenario that it is one of."""
    profile: str = ""
    up: dict[str, Any] = field(default_factory=dict)
    down: dict[str, Any] = field(default_factory=dict)

    def rate(self, what: str) -> float | None:
        """Requested Mbit/s of `tx` (up) or `rx` (down); None where the link has no rate."""
        return mbit((self.up if what == "tx" else self.down).get("rate"))

    @property
    def link(self) -> str:
        """Both sides in a few words, as `1mbit 25ms up, 8mbit 25ms down`."""
        sides = [f"{_words(self.up)} up" if self.up else "", f"{_words(self.down)} down"]
        return ", ".join(filter(None, [sides[0], sides[1] if self.down else ""])) or "unshaped"


@fact
def devices(run: Run) -> list[Device]:
    """In the scenario's order; where no scenario is left, those that the records name."""
    entries = run.scenario.get("devices")
    listed = [device for entry in entries or [] for device in _expand(entry)]
    return listed or [Device(name, _group(name)) for name in _named(run)]


@fact
def groups(run: Run) -> dict[str, str]:
    """The group of each device, by its name."""
    return {device.name: device.group for device in devices(run)}


def mbit(rate: object) -> float | None:
    """`20mbit` as 20.0; None if it is no rate."""
    if isinstance(rate, int | float):
        return float(rate) / 1e6
    match = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?)\s*([a-z]+)", str(rate).strip().lower())
    return float(match[1]) * _RATES[match[2]] / 1e6 if match and match[2] in _RATES else None


def loss(side: dict[str, Any]) -> float:
    """Return the share of packets that a side of a link loses, as `0.1%` says."""
    match = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?)\s*%", str(side.get("loss") or "").strip())
    return float(match[1]) / 100 if match else 0.0


def _expand(entry: dict[str, Any]) -> list[Device]:
    name, count = str(entry.get("name")), entry.get("count")
    link = entry.get("link")
    sides = link if isinstance(link, dict) else {}
    told = {
        "profile": _profile(entry.get("profile") or ""),
        "up": dict(sides.get("up") or {}),
        "down": dict(sides.get("down") or {}),
    }
    if count is None:
        return [Device(name, _group(name), **told)]
    return [Device(f"{name}-{number}", name, **told) for number in range(int(count))]


def _profile(profile: dict[str, Any] | str) -> str:
    """`{name: phone, cpu: 20%, memory: 1GiB}` as `phone: 20% of a core, 1GiB`."""
    if isinstance(profile, str):
        return profile
    share = f"{profile['cpu']} of a core" if profile.get("cpu") else ""
    told = ", ".join(filter(None, [share, str(profile.get("memory") or "")]))
    return ": ".join(filter(None, [str(profile.get("name") or ""), told]))


def _group(name: str) -> str:
    return re.sub(r"-\d+$", "", name)


def _named(run: Run) -> list[str]:
    seen = {*run.records("update")["node"], *run.faults["node"]}
    return sorted(seen, key=_natural)


def _natural(name: str) -> list[tuple[int, int | str]]:
    return [
        (0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name) if part
    ]


def _words(side: dict[str, Any]) -> str:
    words = [str(side.get("rate") or "unlimited rate")]
    for key in ("delay", "jitter", "loss"):
        value = str(side.get(key) or "")
        if value and not re.match(r"0(\.0*)?\D*$", value):
            words.append({"jitter": "±", "loss": "loss "}.get(key, "") + value)
    return " ".join(words)
