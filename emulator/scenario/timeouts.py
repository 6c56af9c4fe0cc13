"""Time-outs of exchanges between server and devices, from the rates of a scenario's links."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from ..core.cut.activation_values import CrossingBytes, crossing_bytes
from ..schedules import Sequential
from ..world.links.link import Link, Side
from ..world.links.link_course import slowest
from ..world.links.reshaping import reshaped
from .model import Scenario
from .timeline.link_changes import changed_network_links, reshaped_links

LEAST_TIMEOUT = 30.0
"""Smallest time-out of an answer in seconds, however fast the links are."""


def answer_timeout(
    scenario: Scenario, link: Link, model: int, others: Iterable[Link] = ()
) -> float:
    """Return the seconds after which a device on `link` gives up waiting for an answer.

    The time is four times that of an exchange in which all devices ask for a model of `model`
    bytes at once, on the slowest of `link` and the `others` that faults may give the device: a
    later answer must have been lost. With a cut model the time for which
    activations wait for those of other devices comes on top: a device that gives up loses its
    mini-batch, while one that asks for a model in vain has lost nothing.
    """
    waits = scenario.training.synchronization if scenario.training.cut else None
    patience = float(getattr(waits, "patience", 0.0))
    longest = max(exchange_time(scenario, each, model) for each in (slowest(link), *others))
    return max(LEAST_TIMEOUT, 4 * longest) + patience


def slowest_exchange(scenario: Scenario, model: int) -> float:
    """Return the longest `exchange_time` of any device, in seconds; `model` is in bytes.

    The links count that faults may give devices, too.
    """
    links = {slowest(group.link) for group in scenario.devices}
    links |= set(chain.from_iterable(set(reshaped_links(scenario).values())))
    return max(exchange_time(scenario, link, model) for link in links)


def exchange_time(scenario: Scenario, link: Link, model: int) -> float:
    """Return an upper bound on the seconds of an exchange, for time-outs: a dense update up `link`,
    a pull, and a model down, while all devices share the server's link, and those of the slowest
    bottleneck or link of the network share that, too. The expected time of a device is that of
    `costs.exchange`.

    Model and update have `model` bytes each. With a schedule that cuts them, each layer counts as a
    message of its own. With a cut model `model` is the devices' part, and the exchange at the cut
    comes on top.
    """
    training = scenario.training
    pieces = 1 if training.cutting == Sequential() else len(training.layout.layers)
    server, everyone = scenario.server.link, len(scenario.nodes) * model
    own = link.up.transfer(model) + link.down.transfer(model)
    shared = server.up.transfer(everyone) + server.down.transfer(everyone)
    # `transfer` has counted the set-up of one message in each direction: the pull goes up, too
    up, down = link.up.setup + server.down.setup, link.down.setup + server.up.setup
    shared += _at_the_bottleneck(scenario, model)
    return own + shared + pieces * up + (pieces - 1) * down + _at_the_cut(scenario, link)


def _at_the_bottleneck(scenario: Scenario, size: int) -> float:
    """Return the seconds for `size` bytes each way of all members of the slowest bottleneck, or of
    all devices behind the slowest link of the network, and the delays of the longest route."""
    routes = scenario.route_of.values()
    members = Counter(each.name for each in scenario.bottleneck_of.values())
    members += Counter(name for route in routes for name in route.names)
    times = [
        Side(way.rate, way.delay).transfer(size * members[each.name])
        for each in scenario.shared_queues
        for way in (each.up, each.down)
    ]
    edges = {each.name: each for each in scenario.network_links}
    delays = [side.delay for route in routes for side in (route.shared.up, route.shared.down)]
    for name, settings in changed_network_links(scenario).items():
        for setting in settings:
            worse = reshaped(edges[name].link, setting)
            times += [side.transfer(size * members[name]) for side in (worse.up, worse.down)]
    return 2 * (max(times, default=0.0) + max(delays, default=0.0))


def _at_the_cut(scenario: Scenario, link: Link) -> float:
    """Return the seconds for activations up `link` and their gradient down, as `exchange_time`."""
    sizes = largest_at_the_cut(scenario)
    if sizes is None:
        return 0.0
    server, devices = scenario.server.link, len(scenario.nodes)
    own = link.up.transfer(sizes.up) + link.down.transfer(sizes.down)
    shared = server.up.transfer(devices * sizes.down) + server.down.transfer(devices * sizes.up)
    shared += _at_the_bottleneck(scenario, max(sizes.up, sizes.down))
    setups = sum(side.setup for side in (link.up, link.down, server.up, server.down))
    return own + shared + (sizes.messages - 1) * setups


def largest_at_the_cut(scenario: Scenario) -> CrossingBytes | None:
    """Return the bytes that cross the cut for a whole `batch_size`, or None without a cut.

    A device of a compute group has a share of the batch.
    """
    training = scenario.training
    if training.cut is None:
        return None
    return crossing_bytes(training.network, training.cut, training.batch_size)
