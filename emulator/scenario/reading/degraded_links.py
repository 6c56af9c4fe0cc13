"""Check of faults that add loss to a link: the loss model of the link must allow more loss."""

from collections.abc import Iterator

from ...faults import Scheduled
from ...world.reshaping import reshaped
from ..devices import Group
from ..model import Scenario
from .document import Address, Document


def check_degraded(document: Document, scenario: Scenario) -> None:
    """Add a mistake to `document` for each fault of `scenario` that no link model can express."""
    for address, fault, group in _changes(scenario):
        setting = fault.begin("").setting or {}
        try:
            reshaped(group.link, setting)
        except ValueError as error:
            message = f"of {group.name}: {error}: give the fault a `link` in place of `loss`"
            document.complain((*address, "loss"), message)


def _changes(scenario: Scenario) -> Iterator[tuple[Address, Scheduled, Group]]:
    """Yield place, fault and group for each fault that adds loss to a link with a loss model."""
    modelled = [(number, each) for number, each in enumerate(scenario.devices) if _modelled(each)]
    for index, fault in enumerate(scenario.faults):
        if modelled and getattr(fault, "loss", None):
            aimed = frozenset(scenario.targets_of_faults.aimed(index))
            groups = (group for _, group in modelled if not aimed.isdisjoint(group.names))
            if group := next(groups, None):
                yield ("faults", index), fault, group
    for number, group in modelled:
        for nth, profile in enumerate(group.failures):
            for index, entry in enumerate(profile.faults):
                if getattr(entry, "loss", None):
                    address = ("devices", number, "failures", nth, "faults", index)
                    yield address, entry, group


def _modelled(group: Group) -> bool:
    """Return whether a direction of the group's link has a loss model of four states."""
    models = (group.link.up.loss_model, group.link.down.loss_model)
    return any(model is not None and model.state is not None for model in models)
