"""Times of the passes through a cut model in virtual time: at devices, and at the server.

A pass through a whole model takes the time that `virtual.step` gives. The layers share it: those
before the cut are computed by a device, those behind it by the server, unless `virtual.dense` gives
the server a law of its own. A law holds for a whole mini-batch of `training.batch_size` examples; a
device with a smaller one takes its share of the time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from ... import chance
from ...core.plan import Cut
from ...core.wire.messages import ActivationGradient, Logits, Reply
from ...scenario import Scenario
from ...world.laws import Law


@dataclass(frozen=True)
class PassShares:
    """Parts of the law's time that the two halves of a pass take."""

    forward: float
    backward: float

    def scaled(self, factor: float) -> "PassShares":
        """Return the shares times `factor`."""
        return PassShares(factor * self.forward, factor * self.backward)


@dataclass(frozen=True)
class CutShares:
    """Parts of a step's time that the layers before and behind a cut take."""

    device: PassShares
    server: PassShares


def cut_shares(forward: tuple[float, ...], backward: tuple[float, ...], layer: int) -> CutShares:
    """Return the shares of both parts of a model cut behind `layer`.

    `forward` and `backward` are the layers' parts of a step, which together are 1.
    """
    return CutShares(
        device=PassShares(sum(forward[:layer]), sum(backward[:layer])),
        server=PassShares(sum(forward[layer:]), sum(backward[layer:])),
    )


def server_passes(scenario: Scenario, cut: Cut, batch_of: Callable[[str], int]) -> "ServerPasses":
    """Return the times of passes through the server's part of the model of `scenario`.

    `scenario.virtual.step` and `.layers` must be known. `batch_of` returns the number of examples
    in a mini-batch of a device.
    """
    virtual = scenario.virtual
    if virtual.layers is None or virtual.step is None:
        raise TypeError("virtual.step and virtual.layers must be known")
    batches = {
        device.name: batch_of(device.name) / scenario.training.batch_size
        for device in scenario.nodes
    }
    law, shares = virtual.step, cut_shares(*virtual.layers.parts, cut.layer).server
    if virtual.dense is not None:  # both parts of a pass are parts of a law for the server
        whole = shares.forward + shares.backward
        law, shares = virtual.dense, shares.scaled(1 / whole) if whole else PassShares(0.5, 0.5)
    return ServerPasses(law, shares, batches, scenario.seed)


class ServerPasses:
    """Draws the time of each pass through the server's part of a model."""

    def __init__(
        self, law: Law, shares: PassShares, batches: Mapping[str, float], seed: int
    ) -> None:
        """Give `shares` of a draw from `law` to the halves of a pass over a whole mini-batch.

        `batches` holds each device's share of the mini-batch.
        """
        self._law, self._shares, self._batches = law, shares, batches
        self._dice = Random(chance.server_passes(seed))
        self._drawn: dict[str, float] = {}  # by device whose logits have left, the draw

    def seconds(self, device: str, reply: Reply) -> float:
        """Return the seconds that the server computed for `reply` to `device`.

        The two halves of a pass are parts of one draw, also where `Logits` travel between them.
        """
        match reply:
            case Logits():
                drawn = self._drawn[device] = self._draw(device)
                return self._shares.forward * drawn
            case ActivationGradient(gradient=gradient) if not len(gradient):
                return 0.0  # the device was given up: nothing was computed
            case ActivationGradient() if device in self._drawn:
                return self._shares.backward * self._drawn.pop(device)
            case ActivationGradient():
                return (self._shares.forward + self._shares.backward) * self._draw(device)
        return 0.0

    def _draw(self, device: str) -> float:
        return self._law.draw(self._dice) * self._batches[device]
