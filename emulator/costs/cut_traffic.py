"""The traffic of an update of a cut model, beside that of a model which devices hold whole.

All sizes are products that a reader can repeat by hand: numbers of parameters, activations and
examples, times bytes. Heads and framing of the messages are left out.
"""

from dataclasses import asdict, dataclass
from typing import Any

from ..core.cut.activation_values import ActivationCoding, CrossingBytes, crossing_bytes
from ..scenario import Scenario
from ..scenario.sections.cut_section import layer_names
from .compute_groups import dealt_sizes
from .exchange import pulled, pushed


@dataclass(frozen=True)
class PartTraffic:
    """Bytes of an update and of a pull of some layers."""

    parameters: int
    push: int
    """Bytes of an encoded gradient, as expected for gradients of normal numbers."""
    pull: int
    """Bytes of all parameters; a pull of changes takes up to as many."""


@dataclass(frozen=True)
class SmallerUpdate:
    """Bytes of an update of a device whose mini-batch is not the largest."""

    rows: int
    """Examples in the mini-batch."""
    up: int
    down: int


@dataclass(frozen=True)
class CutTraffic:
    """The cut of a scenario's model, and the bytes of an update of one device."""

    layer: int
    """Last layer of the devices' part, counted from 1."""
    name: str
    """Name of that layer."""
    layers: int
    """Number of layers of the model."""
    rows: int
    """Examples in a device's mini-batch; the largest, if mini-batches differ."""
    crossing: int
    """Activations of one example that cross the cut."""
    width: int
    """Bytes of an activation."""
    server_parameters: int
    sizes: CrossingBytes
    device: PartTraffic
    whole: PartTraffic
    """The model without a cut."""
    smaller: tuple[SmallerUpdate, ...] = ()
    """Updates with the smaller mini-batches, where mini-batches differ; the largest first."""

    @property
    def up(self) -> int:
        """Bytes of an update from the device to the server."""
        return self.sizes.up + self.device.push

    @property
    def down(self) -> int:
        """Bytes of an update from the server to the device."""
        return self.sizes.down + self.device.pull

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON types, with the sums `up` and `down`."""
        plain = {**asdict(self), "up": self.up, "down": self.down}
        if not self.smaller:
            del plain["smaller"]
        return plain


def cut_traffic(scenario: Scenario) -> CutTraffic | None:
    """Return the traffic of the cut model of `scenario`; None for a model without a cut."""
    if scenario.workload:
        return None
    training = scenario.training
    cut = training.cut
    if cut is None:
        return None
    model, (rows, *fewer) = training.network, dealt_sizes(scenario)
    device, whole = (
        PartTraffic(part.size, pushed(training.codec, part), pulled(training, part))
        for part in (training.device_layout, training.layout)
    )
    return CutTraffic(
        layer=cut.layer,
        name=layer_names(training.layout)[cut.layer - 1],
        layers=len(training.layout.layers),
        rows=rows,
        crossing=model.crossing(cut.layer),
        width=ActivationCoding(cut.values).item,
        server_parameters=whole.parameters - device.parameters,
        sizes=crossing_bytes(model, cut, rows),
        device=device,
        whole=whole,
        smaller=tuple(
            SmallerUpdate(size, crossed.up + device.push, crossed.down + device.pull)
            for size in fewer
            for crossed in [crossing_bytes(model, cut, size)]
        ),
    )
