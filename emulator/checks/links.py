"""Warnings of `emulate check`: limits of links that drop packets before the rate is reached."""

import math

from ..scenario.demand import Shortfall
from ..scenario.link_moments import link_moments
from ..scenario.model import Scenario
from ..units import Rate
from ..world.links.link import ETHERNET, Side


def short_limits(scenario: Scenario) -> list[Shortfall]:
    """Return a warning for each `limit` of `scenario` that is too small at some moment."""
    reasons: dict[str, str] = {}
    for moment in link_moments(scenario):
        if reason := short_limit(moment.side):
            reasons.setdefault(moment.place, reason)
    return [Shortfall("warning", f"{place}.limit: {why}") for place, why in reasons.items()]


def short_limit(side: Side) -> str:
    """Return why the limit of `side` is below the bandwidth-delay product; empty if it is not."""
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
