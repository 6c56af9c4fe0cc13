"""Check of faults that add loss to a link: the loss model of the link must allow more loss."""

from ...world.links.reshaping import reshaped
from ..model import Scenario
from ..sections.devices import Group
from ..timeline.link_moments import link_faults
from .document import Document


def check_degraded(document: Document, scenario: Scenario) -> None:
    """Add a mistake to `document` for each fault of `scenario` that no link model can express."""
    if not any(map(_modelled, scenario.devices)):
        return
    for address, fault, group in link_faults(scenario):
        try:
            reshaped(group.link, fault.begin("").setting)
        except ValueError as error:
            named = (*address, "loss")
            if not document.has_mistake(named):
                message = f"of {group.name}: {error}: give the fault a `link` in place of `loss`"
                document.complain(named, message)


def _modelled(group: Group) -> bool:
    """Return whether a direction of the group's link has a loss model of four states."""
    models = (group.link.up.loss_model, group.link.down.loss_model)
    return any(model is not None and model.state is not None for model in models)
