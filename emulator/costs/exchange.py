"""An exchange: a device pulls the model, pushes an update, and asks for the next model.

Every estimate of a device's bytes and seconds is reckoned here, without other traffic than that of
the device. A message occupies its path for its set-up and its bytes at the pace of the slower link,
and arrives after the delays of both links. The request for the next model leaves right behind the
update: its delay passes while the update travels, and the server works on the update meanwhile.
`lower_bounds` are of the least sizes, on links at their fastest moments, under faults too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from ..codecs import Dense
from ..codecs.base import Codec
from ..codecs.expected_update import expected_update
from ..core import wire
from ..core.cut.activation_values import CrossingBytes, crossing_bytes
from ..core.scheduling.prior_costs import LinkEstimate, through
from ..core.wire.messages import Message, ModelReply, ModelSegment, Pull, Update
from ..core.zmtp import Form
from ..layout import Layout
from ..pulls import WholeModel, floats
from ..scenario import Scenario
from ..scenario.sections.training_section import TrainingSection
from ..scenario.timeline.link_changes import links_of_groups
from ..world.links.link import FRAME, Link, Side
from ..world.links.link_course import side_course

_TYPICAL = 1000
"""A version and a ticket, which take as many bytes as most of a run's."""
_ARRAY = np.zeros(256, np.float32)
"""An array long enough for the longer framing."""


@dataclass(frozen=True)
class ExchangeSizes:
    """Bytes on the wire of the messages of one device for an update, heads included."""

    pull: float
    """The model; whole where it is unknown how much of it a coded pull leaves out."""
    push: float
    """The update, as expected for gradients of normal numbers."""
    request: float
    """The request for the next model."""
    crossing: CrossingBytes
    """Bytes that cross the cut of the model for one example, without heads."""


@dataclass(frozen=True)
class Exchange:
    """The exchange of a device behind the link `device` with a server behind the link `server`."""

    device: Link
    server: Link
    sizes: ExchangeSizes
    down_rate: float = inf
    """Bits per second of the server's link that are left for this device; infinite: all of them."""
    up_rate: float = inf
    """The same in the other direction."""

    @cached_property
    def down(self) -> LinkEstimate:
        """The path from the server to the device."""
        return _within(through(self.device.down, self.server.up), self.down_rate)

    @cached_property
    def up(self) -> LinkEstimate:
        """The path from the device to the server."""
        return _within(through(self.device.up, self.server.down), self.up_rate)

    def before(self, examples: float = 0) -> float:
        """Return the seconds from the server's answer to the model's arrival at the device.

        With a cut they hold what the server sends for a mini-batch of `examples`.
        """
        return self.down.seconds(self.sizes.pull) + self._crossed(
            self.down, self.sizes.crossing.down * examples
        )

    def after(self, examples: float = 0) -> float:
        """Return the seconds from the end of a step to the arrival of the update.

        With a cut they hold what the device sends for a mini-batch of `examples`.
        """
        crossing = self._crossed(self.up, self.sizes.crossing.up * examples)
        return self.up.seconds(self.sizes.push) + crossing

    @property
    def request(self) -> float:
        """Seconds by which the request for the next model arrives after the update."""
        size = self.sizes.request
        return self.up.setup + size * self.up.pace if size else 0.0

    def seconds(self, examples: float = 0, serve: float = 0.0) -> float:
        """Return the seconds from an answer of the server to the next one, without the step.

        The server works for `serve` seconds on the update while the request travels. With a cut
        they hold the messages for a mini-batch of `examples`.
        """
        return self.before(examples) + self.after(examples) + max(serve, self.request)

    def _crossed(self, path: LinkEstimate, size: float) -> float:
        """Return the seconds for `size` bytes at the cut, of messages that wait for answers."""
        if not size:
            return 0.0
        return size * path.pace + self.sizes.crossing.messages * (path.setup + path.delay)


def exchanges(scenario: Scenario) -> dict[str, Exchange]:
    """Return the exchange of a device of each group of `scenario`, by the group's name."""
    sizes, server = exchange_sizes(scenario), scenario.server.link
    return {group.name: Exchange(group.link, server, sizes) for group in scenario.devices}


def lower_bounds(scenario: Scenario, *, first: bool = False) -> dict[str, Exchange]:
    """Return an exchange that no device of a group undercuts, by the group's name.

    Messages have no more than their heads where their size depends on the gradient's values (sparse
    updates, delta pulls); the `first` model is whole in every coding. There is no request, which
    the device may have sent while it waited.
    """
    training = scenario.training
    layout, heads = training.device_layout, _heads(scenario)
    whole = first or isinstance(training.pull, WholeModel)
    sizes = replace(
        heads,
        pull=heads.pull + (pulled(training, layout) if whole else 0),
        push=heads.push + (pushed(training.codec, layout) if training.codec == Dense() else 0),
        request=0.0,
    )
    server = _fastest(scenario.server.link)
    return {
        name: Exchange(_fastest(*links), server, sizes)
        for name, links in links_of_groups(scenario).items()
    }


def exchange_sizes(scenario: Scenario) -> ExchangeSizes:
    """Return the bytes of an exchange of a device of `scenario`."""
    training, heads = scenario.training, _heads(scenario)
    layout = training.device_layout
    return replace(
        heads,
        pull=heads.pull + pulled(training, layout),
        push=heads.push + pushed(training.codec, layout),
    )


def _heads(scenario: Scenario) -> ExchangeSizes:
    """Return the sizes of an exchange without parameters and gradients."""
    training, name = scenario.training, scenario.devices[0].names[0]
    cut = training.cut  # None also for a layer table, of which no network is made
    form = Form(scenario.server.encrypt)
    return ExchangeSizes(
        pull=_head(ModelReply(_TYPICAL, _TYPICAL, _ARRAY), form),
        push=_head(Update(name, _TYPICAL, 1.0, 1.0, (_ARRAY.view(np.uint8).data,)), form),
        request=float(wire.size(Pull(name, _TYPICAL), form)),
        crossing=crossing_bytes(training.network, cut, 1) if cut else CrossingBytes(0, 0, 0),
    )


def pulled(training: TrainingSection, layout: Layout) -> int:
    """Return the bytes of all parameters of `layout` in a pull, without its head."""
    return floats.width(training.pull.values) * layout.size


def pushed(codec: Codec, layout: Layout) -> int:
    """Return the expected bytes of a gradient for `layout` after encoding, without its head."""
    if codec == Dense():
        return 4 * layout.size
    return sum(map(len, expected_update(codec, layout)))


def update_sizes(codec: Codec, layout: Layout) -> tuple[float, ...]:
    """Return the expected bytes of the layers' gradients, each encoded by `codec` alone."""
    known: dict[tuple[tuple[str, tuple[int, ...]], ...], float] = {}
    sizes = []
    for layer in range(1, len(layout.layers) + 1):
        part = layout.part((layer, layer))
        # deep networks repeat their layers, and a codec sees only kinds and shapes of variables
        alike = tuple((variable.kind, variable.shape) for variable in part.variables)
        if alike not in known:
            known[alike] = float(sum(map(len, expected_update(codec, part))))
        sizes.append(known[alike])
    return tuple(sizes)


def segment_head(scenario: Scenario) -> float:
    """Return the bytes on the wire of a segment of the model beside its parameters."""
    form = Form(scenario.server.encrypt)
    return _head(ModelSegment(_TYPICAL, _TYPICAL, (1, 1), _ARRAY), form)


def _head(message: Message, form: Form) -> float:
    return float(wire.size(message, form) - _ARRAY.nbytes)


def contended(server: Side, devices: Sequence[tuple[Side, int]]) -> float:
    """Return the rate of `server` if all `devices` together exceed the rate; infinite otherwise."""
    together = sum(side.net_rate * count for side, count in devices)
    return inf if together <= server.net_rate else server.net_rate


def _within(path: LinkEstimate, rate: float) -> LinkEstimate:
    """Return `path`, no faster than `rate`, in bits per second of Ethernet frames."""
    pace = max(path.pace, 8 * FRAME / rate)
    return LinkEstimate(path.setup, pace, path.delay)


def _fastest(*links: Link) -> Link:
    """Return a link that no moment of any of `links` outruns."""
    ups, downs = ([getattr(link, way) for link in links] for way in ("up", "down"))
    return Link(up=_fastest_side(ups), down=_fastest_side(downs))


def _fastest_side(given: Sequence[Side]) -> Side:
    """Return a plain side with the largest rate and the least delay of the courses of `given`.

    Jitter, losses and overtaking packets are left out: they may not fit to that rate and delay.
    """
    if len(given) == 1 and not given[0].changes:
        return given[0]
    sides = [each for side in given for each in side_course(side).sides]
    rates = [each.rate for each in sides if each.rate is not None]
    fastest = max(rates) if len(rates) == len(sides) else None
    least = min(each.delay for each in sides)
    overhead = min(side.overhead for side in given) if fastest is not None else 0
    setup = min(side.setup for side in given)
    return Side(rate=fastest, delay=least, setup=setup, overhead=overhead)
