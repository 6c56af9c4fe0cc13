"""Links that a fault has changed: link and setting of the verb `reshape` give another link.

A setting makes the link worse, `{"rate": 0.25, "delay": 0.1, "loss": 0.05}` with any of the three
keys, or puts another link in its place, `{"link": {"up": …, "down": …}}` as `plain` writes it.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from ...units import Fraction, Quantity, Rate, Seconds
from ..verbs import Setting
from .link import Link, Side
from .link_steps import LinkStep, PlayedTrace
from .loss_models import LossModel

VERB = "reshape"
"""The verb whose setting changes a link."""

_TYPES: dict[str, Callable[[Any], Any]] = {
    "rate": Rate,
    "delay": Seconds,
    "jitter": Seconds,
    "distribution": str,
    "correlation": Fraction,
    "loss": Fraction,
    "loss_model": LossModel.read,
    "duplicate": Fraction,
    "corrupt": Fraction,
    "reorder": Fraction,
    "gap": int,
    "limit": int,
    "overhead": int,
    "setup": Seconds,
    "steps": lambda steps: tuple(map(LinkStep.read, steps)),
    "trace": PlayedTrace.read,
}


def reshaped(link: Link, setting: Setting | None) -> Link:
    """Return `link` as the verb `reshape` with `setting` changes it; `setting` None changes
    nothing."""
    if setting is None:
        return link
    if "link" in setting:
        return read(setting["link"])
    return Link(up=_worse(link.up, setting), down=_worse(link.down, setting))


def _worse(side: Side, setting: Setting) -> Side:
    """Return `side` with its rate times a factor, more delay and more loss; other keys stay.

    A packet has to survive both losses, which are independent.
    """
    rate = None if side.rate is None else Rate(side.rate * setting.get("rate", 1.0))
    delay = Seconds(side.delay + setting.get("delay", 0.0))
    added = Fraction(setting.get("loss", 0.0))
    if side.loss_model is not None:
        return replace(side, rate=rate, delay=delay, loss_model=side.loss_model.with_loss(added))
    loss = Fraction(side.loss + (1 - side.loss) * added)
    return replace(side, rate=rate, delay=delay, loss=loss)


def plain(link: Link) -> dict[str, dict[str, Any]]:
    """Return `link` for JSON, in base units, without default values. `read` is the inverse."""
    return {way: plain_side(getattr(link, way)) for way in ("up", "down")}


def plain_side(side: Side) -> dict[str, Any]:
    """Return the keys of `Side` for JSON, as `plain` does."""
    values = {each.name: getattr(side, each.name) for each in fields(Side)}
    defaults = {each.name: each.default for each in fields(Side)}
    return {key: _plain(value) for key, value in values.items() if value != defaults[key]}


def _plain(value: Any) -> Any:
    """Return the value of a side's key as a JSON type; a quantity in its base unit."""
    if isinstance(value, LossModel | LinkStep | PlayedTrace):
        return value.plain()
    if isinstance(value, tuple):
        return [each.plain() for each in value]
    return float(value) if isinstance(value, Quantity) else value


def read(plain: Mapping[str, Mapping[str, Any]]) -> Link:
    """Return the link of a description by `plain`."""
    return Link(up=read_side(plain["up"]), down=read_side(plain["down"]))


def read_side(plain: Mapping[str, Any]) -> Side:
    """Return the side of a description by `plain_side`."""
    values: dict[str, Any] = {name: _TYPES[name](value) for name, value in plain.items()}
    return Side(**values)
