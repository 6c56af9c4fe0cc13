"""The devices of a run and their requested links, from the run's resolved scenario."""

import re
from dataclasses import dataclass, field
from typing import Any

from ..reading.runs import Run, fact

_RATES = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


@dataclass(frozen=True)
class Device:
    """An emulated device; the sides of its link are the scenario's mappings, unchanged."""

    name: str
    group: str
    """Name of the scenario's entry for the device."""
    profile: str = ""
    up: dict[str, Any] = field(default_factory=dict)
    down: dict[str, Any] = field(default_factory=dict)

    def rate(self, direction: str) -> float | None:
        """Return the requested Mbit/s of `tx` (up) or `rx` (down).

        None without a rate, and for a direction whose rate changes over time.
        """
        side = self.up if direction == "tx" else self.down
        return None if side.get("steps") or side.get("trace") else mbit(side.get("rate"))

    @property
    def link(self) -> str:
        """Both sides in words, for example `1mbit 25ms up, 8mbit 25ms down`."""
        sides = [f"{_words(self.up)} up" if self.up else "", f"{_words(self.down)} down"]
        return ", ".join(filter(None, [sides[0], sides[1] if self.down else ""])) or "unshaped"


@fact
def devices(run: Run) -> list[Device]:
    """Return the devices of `run` in the scenario's order.

    Without a scenario the devices are taken from the records.
    """
    entries = run.scenario.get("devices")
    listed = [device for entry in entries or [] for device in _expand(entry)]
    return listed or [Device(name, _group(name)) for name in _named(run)]


@fact
def groups(run: Run) -> dict[str, str]:
    """Return the group of each device of `run`, by the device's name."""
    return {device.name: device.group for device in devices(run)}


def mbit(rate: object) -> float | None:
    """Return `rate`, for example `20mbit`, in Mbit/s; None for a value that is no rate."""
    if isinstance(rate, int | float):
        return float(rate) / 1e6
    match = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?)\s*([a-z]+)", str(rate).strip().lower())
    return float(match[1]) * _RATES[match[2]] / 1e6 if match and match[2] in _RATES else None


def loss(side: dict[str, Any]) -> float:
    """Return the share of packets, from 0 to 1, that the `side` of a link loses or doubles."""
    shares = [_share(side.get(key)) for key in ("loss", "corrupt", "duplicate")]
    model = side.get("loss_model") or {}
    return min(1.0, sum(shares) + _gemodel(**model) + _four_states(**model))


def _gemodel(gemodel: dict[str, Any] | None = None, **other: Any) -> float:
    """Return the mean loss of a Gilbert-Elliott model, or 0 without a model."""
    if gemodel is None:
        return 0.0
    p, r, bad, good = (_share(gemodel.get(key)) for key in ("p", "r", "1-h", "1-k"))
    return (p * bad + r * good) / (p + r) if p + r else good


def _four_states(state: dict[str, Any] | None = None, **other: Any) -> float:
    """Return the mean loss of a model of four states, or 0 without a model.

    A model without an end of its bursts, or of the packets received in a burst, counts as loss.
    """
    if state is None:
        return 0.0
    p13, p31, p32, p23, p14 = (
        _share(state.get(key)) for key in ("p13", "p31", "p32", "p23", "p14")
    )
    if p13 and not (p31 and p23):
        return 1.0
    burst = p13 / p31 if p13 else 0.0
    received = burst * p32 / p23 if burst else 0.0
    return (burst + p14) / (1 + p14 + burst + received)


def _share(written: object) -> float:
    match = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?)\s*%", str(written or "").strip())
    return float(match[1]) / 100 if match else 0.0


def _expand(entry: dict[str, Any]) -> list[Device]:
    name, count = str(entry.get("name")), entry.get("count")
    link = entry.get("link")
    sides = link if isinstance(link, dict) else {}
    common: dict[str, Any] = {
        "profile": _profile(entry.get("profile") or ""),
        "up": dict(sides.get("up") or {}),
        "down": dict(sides.get("down") or {}),
    }
    if count is None:
        return [Device(name, _group(name), **common)]
    return [Device(f"{name}-{number}", name, **common) for number in range(int(count))]


def _profile(profile: dict[str, Any] | str) -> str:
    """Return `profile` in words, for example `phone: 20% of a core, 1GiB`."""
    if isinstance(profile, str):
        return profile
    share = f"{profile['cpu']} of a core" if profile.get("cpu") else ""
    limits = ", ".join(filter(None, [share, str(profile.get("memory") or "")]))
    return ": ".join(filter(None, [str(profile.get("name") or ""), limits]))


def _group(name: str) -> str:
    return re.sub(r"-\d+$", "", name)


def _named(run: Run) -> list[str]:
    seen = {*run.records("update")["node"], *run.faults["node"]}
    return sorted(seen, key=_natural)


def _natural(name: str) -> list[tuple[int, int | str]]:
    """Return a key that sorts `home-2` before `home-10`."""
    return [
        (0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name) if part
    ]


_MORE = (
    *("distribution", "correlation", "duplicate", "corrupt", "reorder", "gap", "limit"),
    "overhead",
)
"""Keys of a link that a resolved scenario has only where they are set."""


def _words(side: dict[str, Any]) -> str:
    words = [str(side.get("rate") or "unlimited rate")]
    for key in ("delay", "jitter", "loss"):
        value = str(side.get(key) or "")
        if value and not re.match(r"0(\.0*)?\D*$", value):
            words.append({"jitter": "±", "loss": "loss "}.get(key, "") + value)
    words += [f"{key} {side[key]}" for key in _MORE if key in side]
    for kind, shares in side.get("loss_model", {}).items():
        words.append(f"loss {kind} " + " ".join(f"{key} {share}" for key, share in shares.items()))
    words += _changes(side)
    return " ".join(words)


def _changes(side: dict[str, Any]) -> list[str]:
    """Return in words how `side` changes by itself."""
    words = []
    if steps := side.get("steps"):
        names = [" ".join(f"{k} {v}" for k, v in step.items() if k != "at") for step in steps]
        listed = [f"from {step['at']} {new}" for step, new in zip(steps, names, strict=True)][:3]
        more = [f"{len(steps) - 3} more until {steps[-1]['at']}"] if len(steps) > 3 else []
        words.append(f"({'; '.join(listed + more)})")
    if trace := side.get("trace"):
        words.append(f"trace {trace.get('file') or 'in samples'}")
        words += [f"scale {trace['scale']}"] if trace.get("scale", 1.0) != 1.0 else []
        words += [f"start {trace['start']}"] if trace.get("start", "0s") != "0s" else []
        words += ["looped"] if trace.get("loop", True) else []
    return words
