"""Time-outs of exchanges between server and devices, from the rates of a scenario's links."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from ..core.cut.activation_values import CrossingBytes, crossing_bytes
from ..schedules import Sequential
from ..units import Rate
from ..world.links.link import WAYS, Link, Side
from ..world.links.link_course import slowest
from ..world.links.offered_traffic import peak, rate_left
from ..world.links.reshaping import reshaped
from .model import Scenario
from .sections.devices import Bottleneck
from .sections.network_section import NetworkLink
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
    members = {name: len(devices) for name, devices in scenario.behind_queues.items()}
    changes, times = changed_network_links(scenario), list[float]()
    for each in scenario.shared_queues:
        own = Link(Side(each.up.rate, each.up.delay), Side(each.down.rate, each.down.delay))
        for link in (own, *(reshaped(own, setting) for setting in changes.get(each.name, ()))):
            for way in WAYS:
                left = _beside_background(scenario, each, getattr(link, way), way)
                times.append(left.transfer(size * members[each.name]))
    delays = [side.delay for route in routes for side in (route.shared.up, route.shared.down)]
    return 2 * (max(times, default=0.0) + max(delays, default=0.0))


def _beside_background(
    scenario: Scenario, queue: Bottleneck | NetworkLink, side: Side, way: str
) -> Side:
    """Return the direction `way` of a shared `queue`, now `side`, as background traffic leaves it
    to the devices behind."""
    if side.rate is None:
        return side
    behind = scenario.behind_queues[queue.name]
    beside = [background for name in behind if (background := scenario.background_of.get(name))]
    beside += [queue.background] if queue.background else []
    streams = [(each.kind, stream) for each in beside if (stream := getattr(each, way))]
    heedless = sum(peak(stream) for kind, stream in streams if kind == "udp")
    fair = sum(kind == "tcp" for kind, _ in streams)
    left = rate_left(side.rate, heedless, fair, max(1, len(behind)))
    return replace(side, rate=Rate(left))


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
