"""The parts of workers that hold the layers before a cut: made anew for each boot of a device."""

from collections.abc import Callable
from typing import Any, Protocol

from ...core.cut_worker import ActivationCoder
from ...core.plan import Cut
from ...scenario import Scenario
from .cut_times import CutShares, PassShares, ServerPasses, cut_shares
from .device.cut_passes import CutPasses, SlopesDecoder
from .learning.gradient_handle import FleetLearning
from .learning.lies import LieNow


class CutCoder(ActivationCoder[Any], SlopesDecoder, Protocol):
    """Codes the messages of a device at its end of the cut."""


class CutFleet:
    """Makes the CutPasses of devices, and times the server's passes, for a scenario with a cut."""

    def __init__(
        self,
        scenario: Scenario,
        cut: Cut,
        learning: FleetLearning,
        coder: CutCoder,
        batch_of: Callable[[str], int],
    ) -> None:
        """`scenario.virtual.step` and `.layers` must be known.

        `batch_of` returns the number of examples in a mini-batch of a device.
        """
        if scenario.virtual.layers is None or scenario.virtual.step is None:
            raise TypeError("virtual.step and virtual.layers must be known")
        self.coder = coder
        self._scenario, self._learning = scenario, learning
        self._shares = cut_shares(*scenario.virtual.layers.parts, cut.layer)
        self._batches = {
            device.name: batch_of(device.name) / scenario.training.batch_size
            for device in scenario.nodes
        }

    def work(self, device: str, incarnation: int, lie: LieNow | None = None) -> CutPasses:
        """Make the parts of an incarnation of `device`; `lie` as `FleetLearning` takes it."""
        source = self._learning.cut(device, incarnation, lie)
        return CutPasses(source, self._shares.device, self.coder)

    def passes(self) -> ServerPasses:
        """Return the times of passes through the server's part."""
        virtual = self._scenario.virtual
        law, shares = virtual.step, self._shares.server
        if virtual.dense is not None:
            law, shares = virtual.dense, _whole(self._shares)
        assert law is not None  # checked at the start
        return ServerPasses(law, shares, self._batches, self._scenario.seed)


def _whole(shares: CutShares) -> PassShares:
    """Return the server's shares scaled to a sum of 1: both are parts of a law for the server."""
    whole = shares.server.forward + shares.server.backward
    return shares.server.scaled(1 / whole) if whole else PassShares(0.5, 0.5)
