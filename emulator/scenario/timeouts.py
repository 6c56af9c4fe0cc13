"""How long things may take on the links of a scenario before something must be wrong."""

from collections.abc import Iterable

from ..world.link import Link
from .model import Scenario

LEAST_PATIENCE = 30.0
"""Seconds that any answer may take, however fast the links."""


def patience(scenario: Scenario, link: Link, model: int) -> float:
    """Long enough for a model of so many bytes to come when everyone wants one; then the
    question is lost."""
    return max(LEAST_PATIENCE, 4 * exchange(scenario, link, model))


def slowest(scenario: Scenario, model: int) -> float:
    """The longest exchange of any device, in seconds."""
    return max(exchange(scenario, link, model) for link in _links(scenario))


def exchange(scenario: Scenario, link: Link, model: int) -> float:
    """Seconds for a dense update up and a model down, all devices sharing the server's link."""
    server, everyone = scenario.server.link, len(scenario.nodes) * model
    own = link.up.transfer(model) + link.down.transfer(model)
    return own + server.up.transfer(everyone) + server.down.transfer(everyone)


def _links(scenario: Scenario) -> Iterable[Link]:
    return (group.link for group in scenario.devices)
