"""Checks of links: bounds of the kernel, limits that drop packets, a clock that stands still."""

import math
from collections.abc import Iterator

from ..scenario import Scenario
from ..scenario.timeline.link_changes import link_moments
from ..shaping.playable_link import SLOWEST, out_of_bounds
from ..units import Rate
from ..world.laws import Fixed, Law, Uniform
from ..world.links.bottleneck import SharedLink
from ..world.links.link import ETHERNET, WAYS, Side
from ..world.links.link_course import side_course
from .finding import Finding, refusal, warning


def link_bounds(scenario: Scenario) -> Iterator[Finding]:
    """Refuse links that are beyond the bounds of the kernel or the box at some moment.

    A trace's rate may be as low as it likes: the kernel plays the lowest that it can.
    """
    for number, bottleneck in enumerate(scenario.bottlenecks):
        for way in WAYS:
            shared = getattr(bottleneck.shared, way)
            side = Side(shared.rate, shared.delay)
            for sentence in out_of_bounds(side, scenario.dilation):
                yield _out_of_bounds(f"bottlenecks[{number}].{way}", sentence)
    for moment in link_moments(scenario):
        lowest = 0.0 if moment.traced else SLOWEST
        for sentence in out_of_bounds(moment.side, scenario.dilation, lowest=lowest):
            yield _out_of_bounds(f"{moment.place}{moment.part}", sentence)


def _out_of_bounds(place: str, sentence: str) -> Finding:
    """Return the error of the key that `sentence` begins with, at `place`."""
    key, _, why = sentence.partition(": ")
    return refusal(f"{place}.{key}", why)


def standing_clock(scenario: Scenario) -> Iterator[Finding]:
    """Refuse a scenario in which the virtual clock would stand still for ever.

    It does if no step, no update at the server and no link of some device takes time, and
    `stop.updates` sets no end: the device pushes again and again at one moment.
    """
    virtual, server = scenario.virtual, scenario.server.link
    work = (virtual.step, virtual.serve)
    if scenario.stop.updates is not None or virtual.step is None or not all(map(_no_time, work)):
        return
    for number, group in enumerate(scenario.devices):
        sides = (group.link.up, group.link.down, server.up, server.down)
        shared = all(_shares_time(scenario.shared_of.get(name)) for name in group.names)
        if not (shared or any(map(_always_takes_time, sides))):
            yield refusal(
                "virtual.step",
                f"is always 0s, and devices[{number}] has no link that takes time: "
                "the clock would stand still: give a step, a rate, a delay or stop.updates",
            )
            return


def _shares_time(shared: SharedLink | None) -> bool:
    """Return whether a message takes time on links that the device shares with others."""
    return shared is not None and any(
        side.rate is not None or side.delay for side in (shared.up, shared.down)
    )


def _always_takes_time(side: Side) -> bool:
    """Return whether a message on `side` takes time at each moment."""
    return all(each.rate or each.delay or each.setup for each in side_course(side).sides)


def _no_time(law: Law | None) -> bool:
    """Return whether every draw from `law` is 0 s; None stands for 0 s."""
    match law:
        case Fixed(time):
            return not time
        case Uniform((_, high)):
            return not high
    return law is None


def short_limits(scenario: Scenario) -> list[Finding]:
    """Return a warning for each `limit` of `scenario` that is too small at some moment."""
    reasons: dict[str, str] = {}
    for moment in link_moments(scenario):
        if reason := short_limit(moment.side):
            reasons.setdefault(moment.place, reason)
    return [warning(f"{place}.limit", why) for place, why in reasons.items()]


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
