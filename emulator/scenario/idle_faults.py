"""Keys of faults that change nothing where they strike, as a share of a rate without a rate."""

from collections.abc import Iterator

from ..errors import first_of
from ..world.faults import Scheduled
from ..world.links.reshaping import VERB
from .model import Scenario
from .reading.document import Address, place

_NAMED = 3
"""Largest number of devices that a message names."""


def idle_keys(scenario: Scenario, on: str) -> Iterator[tuple[str, str]]:
    """Yield place and reason for each key of a fault without an effect on the runtime `on`."""
    for address, fault, names in fault_entries(scenario):
        begin = fault.begin("")
        setting = begin.setting or {}
        if begin.verb != VERB:
            continue
        if "rate" in setting and (unlimited := _unlimited(scenario, names)):
            yield (
                place((*address, "rate")),
                f"the link of {first_of(unlimited, _NAMED)} has no rate of which a share could "
                "be left: give the link a rate, or the fault a `link` in place of `rate`",
            )
        if "loss" in setting and on == "virtual" and not scenario.virtual.tcp:
            yield (
                place((*address, "loss")),
                "with `virtual.tcp: false` nothing is lost: leave one of the two out",
            )


def fault_entries(scenario: Scenario) -> Iterator[tuple[Address, Scheduled, frozenset[str]]]:
    """Yield place, fault and devices of each entry of the scenario and of its profiles."""
    targets = scenario.targets_of_faults
    for index, fault in enumerate(scenario.faults):
        yield ("faults", index), fault, frozenset(targets.aimed(index))
    for number, group in enumerate(scenario.devices):
        for nth, profile in enumerate(group.failures):
            for index, entry in enumerate(profile.faults):
                names = (name for name in group.names if targets.strikes(name, profile, index))
                at = ("devices", number, "failures", nth, "faults", index)
                yield at, entry, frozenset(names)


def _unlimited(scenario: Scenario, names: frozenset[str]) -> list[str]:
    """Return the devices among `names` with a link without a rate in both directions."""
    groups = (g for g in scenario.devices if g.link.up.rate is None and g.link.down.rate is None)
    return [name for group in groups for name in group.names if name in names]
