"""Links that a fault has changed: link and setting of the verb `reshape` give another link.

A setting makes the link worse, `{"rate": 0.25, "delay": 0.1, "loss": 0.05}` with any of the three
keys, or puts another link in its place, `{"link": {"up": …, "down": …}}` as `plain` writes it.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ..units import Fraction, Rate, Seconds
from .link import Link, Side
from .verbs import Setting

VERB = "reshape"
"""The verb whose setting changes a link."""

_TYPES = {"rate": Rate, "delay": Seconds, "jitter": Seconds, "loss": Fraction, "setup": Seconds}


def reshaped(link: Link, setting: Setting | None) -> Link:
    """Return `link` as the verb `reshape` with `setting` changes it; `setting` None changes
    nothing."""
    if setting is None:
        return link
    if "link" in setting:
        return read(setting["link"])
    return Link(up=_worse(link.up, setting), down=_worse(link.down, setting))


def _worse(side: Side, setting: Setting) -> Side:
    """Return `side` with its rate times a factor, more delay and more loss.

    A packet has to survive both losses, which are independent.
    """
    rate = None if side.rate is None else Rate(side.rate * setting.get("rate", 1.0))
    loss = side.loss + (1 - side.loss) * setting.get("loss", 0.0)
    delay = side.delay + setting.get("delay", 0.0)
    return replace(side, rate=rate, delay=Seconds(delay), loss=Fraction(loss))


def plain(link: Link) -> dict[str, dict[str, float]]:
    """Return `link` for JSON, in base units, without default values. `read` is the inverse."""
    return {way: plain_side(getattr(link, way)) for way in ("up", "down")}


def plain_side(side: Side) -> dict[str, float]:
    """Return `side` for JSON, as `plain` does."""
    values = {field.name: getattr(side, field.name) for field in fields(side)}
    return {name: float(value) for name, value in values.items() if value}


def read(plain: Mapping[str, Mapping[str, Any]]) -> Link:
    """Return the link of a description by `plain`."""
    return Link(up=read_side(plain["up"]), down=read_side(plain["down"]))


def read_side(plain: Mapping[str, Any]) -> Side:
    """Return the side of a description by `plain_side`."""
    values: dict[str, Any] = {name: _TYPES[name](value) for name, value in plain.items()}
    return Side(**values)
