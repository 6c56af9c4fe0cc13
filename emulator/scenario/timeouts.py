"""Time-outs of exchanges between server and devices, from the rates of a scenario's links."""

from ..schedules import Sequential
from ..world.link import Link
from .model import Scenario

LEAST_TIMEOUT = 30.0
"""Smallest time-out of an answer in seconds, however fast the links are."""


def answer_timeout(scenario: Scenario, link: Link, model: int) -> float:
    """Return the seconds after which a device on `link` gives up waiting for an answer.

    The time is four times that of an exchange in which all devices ask for a model of `model`
    bytes at once: a later answer must have been lost.
    """
    return max(LEAST_TIMEOUT, 4 * exchange_time(scenario, link, model))


def slowest_exchange(scenario: Scenario, model: int) -> float:
    """Return the longest `exchange_time` of any device, in seconds; `model` is in bytes."""
    return max(exchange_time(scenario, group.link, model) for group in scenario.devices)


def exchange_time(scenario: Scenario, link: Link, model: int) -> float:
    """Return the seconds for a dense update up `link`, a pull, and a model down, while all devices
    share the server's link.

    Model and update have `model` bytes each. With a schedule that cuts them, each layer counts as a
    message of its own.
    """
    training = scenario.training
    pieces = 1 if training.cutting == Sequential() else len(training.layout.layers)
    server, everyone = scenario.server.link, len(scenario.nodes) * model
    own = link.up.transfer(model) + link.down.transfer(model)
    shared = server.up.transfer(everyone) + server.down.transfer(everyone)
    # `transfer` has counted the set-up of one message in each direction: the pull goes up, too
    up, down = link.up.setup + server.down.setup, link.down.setup + server.up.setup
    return own + shared + pieces * up + (pieces - 1) * down
