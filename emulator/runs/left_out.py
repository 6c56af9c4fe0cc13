"""The parts of a scenario that a prediction of hardware efficiency leaves out."""

from collections.abc import Iterator

from ..pulls import WholeModel
from ..scenario import Scenario
from ..schedules import Sequential


def left_out(scenario: Scenario, on: str) -> list[str]:
    """Return a clause for every part of `scenario` that the prediction for runtime `on` ignores."""
    return list(_clauses(scenario, on))


def _clauses(scenario: Scenario, on: str) -> Iterator[str]:
    training, groups = scenario.training, scenario.devices
    links = [scenario.server.link, *(group.link for group in groups)]
    sides = [side for link in links for side in (link.up, link.down)]
    if training.cutting != Sequential():
        yield f"{training.cutting.kind}: models and updates count as whole, without overlap"
    if not isinstance(training.pull, WholeModel):
        yield f"pull {training.pull.kind}: pulls count as whole models"
    delayed = any(side.delay for side in sides) and any(side.rate for side in sides)
    if delayed and (on == "docker" or scenario.virtual.tcp):
        yield "TCP's slow start on links with a rate and a delay: transfers take longer"
    if any(side.jitter or side.lossy for side in sides):
        yield "jitter and loss of links"
    if scenario.bottlenecks:
        yield "bottlenecks: no device waits for another in front of the server's link"
    if scenario.faults or any(group.failures for group in groups):
        yield "faults: every device is up all the time"
    if on == "docker":
        yield "the wait of containers for cores of this host"
