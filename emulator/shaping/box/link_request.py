"""Requests to the box: one JSON object a packet, from a container that may be hostile."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, cast, get_args

from ...errors import shortened
from ...units import Fraction
from ...world.links import reshaping
from ...world.links.delay_draws import QUANTILES
from ...world.links.link import Link, Side
from ..playable_link import dilation_of, out_of_bounds, slowed

LARGEST_REQUEST = 32_768
"""Most bytes of a request."""
LONGEST_NAME = 128
MOST_DILATION = 1000.0
"""Largest dilation of a link's queues."""

Verb = Literal["attach", "change", "report", "detach"]
_KEYS = {
    "attach": {"do", "name", "link", "rates", "dilation"},
    "change": {"do", "name", "link", "dilation"},
    "report": {"do", "name"},
    "detach": {"do", "name"},
}


class RefusedRequestError(ValueError):
    """A request that the box refuses; the message is the answer."""


@dataclass(frozen=True)
class LinkRequest:
    """A well-formed request."""

    do: Verb
    name: str
    link: Link = Link()
    rates: bool = False
    """Whether the box shapes the link's rates."""


def encode(do: Verb, name: str, link: Link | None = None, *, rates: bool = False) -> bytes:
    """Return the bytes of a request. The sides of `link` are in real time."""
    request: dict[str, Any] = {"do": do, "name": name}
    if link is not None:
        request["link"] = reshaping.plain(link)
        if (dilation := dilation_of(link)) != 1:
            request["dilation"] = dilation
    if rates:
        request["rates"] = True
    return json.dumps(request).encode()


def decode(packet: bytes) -> LinkRequest:
    """Read a request. Raises RefusedRequestError."""
    try:
        plain = json.loads(packet)
    except (ValueError, RecursionError):
        raise RefusedRequestError("the request is not JSON") from None
    if not isinstance(plain, dict):
        raise RefusedRequestError("the request is not a JSON object")
    do = plain.get("do")
    if do not in get_args(Verb):
        raise RefusedRequestError(f"do: {shortened(do)} is not {' or '.join(get_args(Verb))}")
    verb = cast(Verb, do)
    if unknown := plain.keys() - _KEYS[verb]:
        raise RefusedRequestError(f"{verb} has no key {shortened(min(unknown))}")
    rates = plain.get("rates", False)
    if not isinstance(rates, bool):
        raise RefusedRequestError(f"rates: {shortened(rates)} is not true or false")
    link = _link(plain.get("link")) if "link" in _KEYS[verb] else Link()
    dilation = _dilation(plain.get("dilation", 1.0))
    link = Link(slowed(link.up, dilation), slowed(link.down, dilation))
    return LinkRequest(verb, _name(plain.get("name")), link, rates)


def _dilation(dilation: object) -> float:
    if isinstance(dilation, bool) or not isinstance(dilation, int | float):
        raise RefusedRequestError(f"dilation: {shortened(dilation)} is not a number")
    if not 1 <= dilation <= MOST_DILATION:
        raise RefusedRequestError(f"dilation: {dilation} is not from 1 to {MOST_DILATION:.0f}")
    return float(dilation)


def _name(name: object) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise RefusedRequestError(
            f"name: {shortened(name)} is not 1 to {LONGEST_NAME} printable characters"
        )
    return name


def _link(plain: object) -> Link:
    if not isinstance(plain, Mapping) or plain.keys() != {"up", "down"}:
        raise RefusedRequestError("link: expected an object with the keys up and down")
    sides = {way: _side(way, plain[way]) for way in ("up", "down")}
    return Link(**sides)


def _side(way: str, plain: object) -> Side:
    if not isinstance(plain, Mapping):
        raise RefusedRequestError(f"link.{way}: expected an object")
    try:
        side = reshaping.read_side(plain)
        _check(side)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise RefusedRequestError(f"link.{way}: {shortened(error)}") from None
    return side


def _check(side: Side) -> None:
    """Check the values of a side, which a scenario's reader has not seen. Raises ValueError."""
    if side.changes:
        raise ValueError("steps and traces are not played by the box: ask for each change")
    for field in fields(side):
        value = getattr(side, field.name)
        if isinstance(value, bool | int | float):
            _check_number(field.name, value)
    if side.distribution not in QUANTILES:
        raise ValueError(f"distribution {side.distribution} is unknown")
    if side.loss_model is not None:
        for values in side.loss_model.plain().values():
            for name, value in values.items():
                _check_number(name, Fraction(value))
    for sentence in out_of_bounds(side):
        raise ValueError(sentence)


def _check_number(name: str, value: float) -> None:
    most = 1.0 if isinstance(value, Fraction) else math.inf
    if not (math.isfinite(value) and 0 <= value <= most):
        raise ValueError(f"{name} {value} is out of range")
