"""Check that no fault strikes a device more often than a timeline may hold."""

from collections.abc import Iterator

from ...world.faults import Scheduled
from ..model import Scenario
from ..timeline.compiled import EpisodeDraws, horizon
from .document import Address, Document


def check_numbers(document: Document, scenario: Scenario) -> None:
    """Add a mistake to `document` for each entry of `scenario` that strikes a device too often.

    Draws the times of one device for each entry. Another device of the same entry may draw a few
    more: if these are too many, the compilation of the timeline says so.
    """
    draws = EpisodeDraws(scenario.seed, horizon(scenario))
    for address, fault, node, profile, index in _entries(scenario):
        try:
            for _ in draws.of(fault, node, profile, index):
                pass
        except ValueError as error:
            message = f"{node}: {error}: write longer times, or an earlier stop.time"
            document.complain(address, message)


def _entries(scenario: Scenario) -> Iterator[tuple[Address, Scheduled, str, str, int]]:
    """Yield place, fault, a device, profile and index of each entry that strikes a device."""
    targets = scenario.targets_of_faults
    for index, fault in enumerate(scenario.faults):
        if aimed := targets.aimed(index):
            yield ("faults", index), fault, aimed[0], "", index
    for number, group in enumerate(scenario.devices):
        for nth, profile in enumerate(group.failures):
            for index, entry in enumerate(profile.faults):
                struck = (name for name in group.names if targets.strikes(name, profile, index))
                if node := next(struck, None):
                    place = ("devices", number, "failures", nth, "faults", index)
                    yield place, entry, node, profile.name, index
