"""Devices whose links carry nothing for good, from some second of a run on."""

import math
from collections import defaultdict
from collections.abc import Iterable

from ...world.links.link import Link
from ...world.links.link_course import silent_from
from ...world.links.reshaping import VERB
from ...world.verbs import Setting, row
from ..model import Scenario
from .compiled import Timed
from .link_changes import start_draw


def silent_links(scenario: Scenario, schedule: Iterable[Timed]) -> dict[str, float]:
    """Return, by device, the second of the run from which its link carries nothing for good.

    `schedule` are the actions of the run's faults in order, some of which change links.
    """
    changes: dict[str, list[tuple[float, Setting | None]]] = defaultdict(list)
    for timed in schedule:
        if row(timed.action.verb).name == VERB:
            changes[timed.action.node].append((timed.at, timed.action.setting))
    silent = {}
    for group in scenario.devices:
        if not (group.link.changes or changes):
            continue
        for name in group.names:
            if (own := changes.get(name)) or group.link.changes:
                draw = start_draw(scenario.seed, name)
                at = _silent_from(group.link, [(0.0, None), *(own or [])], draw)
                if at < math.inf:
                    silent[name] = at
    return silent


def _silent_from(link: Link, settings: list[tuple[float, Setting | None]], draw: float) -> float:
    """Return the second from which `link` carries nothing for good.

    `settings` are those of the verb `reshape`, each with its time, in order.
    """
    until, silent = math.inf, math.inf
    for begin, setting in reversed(settings):
        at = max(begin, silent_from(link, setting, draw))
        if at >= until:
            break
        silent = at
        if at > begin:
            break
        until = begin
    return silent
