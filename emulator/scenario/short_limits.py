"""Warnings of `emulate check`: limits of links that drop packets before the rate is reached."""

import math
from collections.abc import Iterator

from ..units import Rate
from ..world.link import ETHERNET, Link, Side
from .demand import Shortfall
from .model import Scenario


def short_limits(scenario: Scenario) -> list[Shortfall]:
    """Return a warning for each `limit` of `scenario` below the bandwidth-delay product."""
    return [
        Shortfall("warning", f"{place}.limit: {reason}")
        for place, side in _sides(scenario)
        if (reason := _why(side))
    ]


def _sides(scenario: Scenario) -> Iterator[tuple[str, Side]]:
    """Yield place and side of every direction of the scenario's links."""
    links: list[tuple[str, Link]] = [("server.link", scenario.server.link)]
    links += [(f"devices[{index}].link", each.link) for index, each in enumerate(scenario.devices)]
    for place, link in links:
        yield f"{place}.up", link.up
        yield f"{place}.down", link.down


def _why(side: Side) -> str:
    """Return the reason for which the limit of `side` is too small, or no text."""
    if side.limit is None or side.rate is None:
        return ""
    under_way = math.ceil(side.rate / 8 * side.delay / ETHERNET)
    if side.limit >= under_way:
        return ""
    most = Rate(round(side.limit * ETHERNET * 8 / side.delay))
    return (
        f"{side.limit} packets are fewer than the {under_way} under way at {side.rate} and "
        f"{side.delay}, so at most {most} passes: give {under_way} or more, or leave it out for "
        "a queue of 250ms"
    )
