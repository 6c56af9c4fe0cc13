"""The links that faults, steps and traces may give devices, beside the devices' own links."""

from collections.abc import Sequence

from ...world.faults import Scheduled
from ...world.links.link import Link
from ...world.links.link_course import slowest
from ...world.links.reshaping import VERB, reshaped
from ...world.verbs import Setting
from ..model import Scenario


def reshaped_links(scenario: Scenario) -> dict[str, tuple[Link, ...]]:
    """Return, by name of the device, the links that faults and the link's own changes may give.

    Devices whose links never change have no entry. Of a link with steps or a trace the slowest
    link counts, as `link_course.slowest` says.
    """
    aimed = [
        (setting, frozenset(scenario.targets_of_faults.aimed(index)))
        for index, fault in enumerate(scenario.faults)
        if (setting := _setting(fault)) is not None
    ]
    links: dict[str, tuple[Link, ...]] = {}
    for group in scenario.devices:
        entries = [entry for profile in group.failures for entry in profile.faults]
        own = [setting for entry in entries if (setting := _setting(entry)) is not None]
        if not (own or aimed or group.link.changes):
            continue
        link = slowest(group.link)
        common = (*([link] if group.link.changes else []), *_links(link, own))
        others = [(reshaped(link, setting), names) for setting, names in aimed]
        for name in group.names:
            found = common + tuple(link for link, names in others if name in names)
            if found:
                links[name] = found
    return links


def _setting(fault: Scheduled) -> Setting | None:
    """Return the setting with which `fault` changes a link, or None if links stay as they are."""
    begin = fault.begin("")
    return begin.setting if begin.verb == VERB else None


def _links(link: Link, settings: Sequence[Setting]) -> tuple[Link, ...]:
    return tuple(reshaped(link, setting) for setting in settings)
