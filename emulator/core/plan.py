"""The plan of a run: plain data, in base units, that decides how its server and workers are made.

`core/assembly.py` makes them, alike in containers and in virtual time. A container reads its part
of the plan from a JSON file, without pydantic or NumPy; a plugin is described as `plugins.plain`
describes it.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from ..layout import Layout, Segment
from ..learning.learners.local_training import LocalTraining
from ..world.stop_conditions import Stop
from .server.refusal_counts import QuarantineRule
from .zmtp import PLAIN, Form

Plain = dict[str, Any]


class Cut(msgspec.Struct, frozen=True):
    """A model in two parts: devices hold layers 1 to `layer`, the server holds the later ones."""

    layer: int
    """Last layer of the devices' part."""
    labels: str = "sent"
    """`sent`: with the activations; `local`: they stay on the device, which computes the loss."""
    values: str = "f32"
    """Coding of activations and of their gradients: `f32` or `f16`."""

    @property
    def devices(self) -> Segment:
        """Layers of the devices' part."""
        return 1, self.layer

    def server(self, layout: Layout) -> Segment:
        """Return the layers of the server's part of the model of `layout`."""
        return self.layer + 1, len(layout.layers)


def device_layers(cut: Cut | None, layout: Layout) -> Segment:
    """Return the layers of the model of `layout` that devices hold: all, or those up to `cut`."""
    return cut.devices if cut else (1, len(layout.layers))


class Durability(msgspec.Struct, frozen=True):
    """Durability: the part of the server's state that outlives the server's process."""

    every: float | None = None
    """Seconds between two saved states; None: every input is kept, so no update is ever lost."""


class WorkerPlan(msgspec.Struct, frozen=True):
    """The part of a plan that every worker is made from, and that no worker needs a name for."""

    seed: int
    batch_size: int
    codec: Plain
    error_feedback: bool = False
    fleet: int = 1
    """Number of devices in the run."""
    local: LocalTraining = LocalTraining(rate=1.0)
    """Training on the device between a model and its update."""
    pull: Plain = msgspec.field(default_factory=lambda: {"kind": "dense"})
    schedule: Plain = msgspec.field(default_factory=lambda: {"kind": "sequential"})
    batch_sizes: dict[str, int] = {}
    """Mini-batch of each device that has another one than `batch_size`."""
    cut: Cut | None = None
    """Where the model is cut between devices and server; None: devices hold the whole model."""
    noisy: bool = False
    """Whether layers of the model draw random numbers, as Dropout does."""
    form: Form = PLAIN
    shards: int = 1
    """Number of servers over which the layers of the model are cut."""

    def batch_of(self, device: str) -> int:
        """Return the number of examples in a mini-batch of `device`."""
        return self.batch_sizes.get(device, self.batch_size)

    def of(self, device: str) -> "WorkerPlan":
        """Return the plan of `device` alone, which names no device."""
        size = self.batch_of(device)
        return msgspec.structs.replace(self, batch_size=size, batch_sizes={})


class Plan(msgspec.Struct, frozen=True):
    """The whole plan, from which the server is made."""

    worker: WorkerPlan
    model: str
    learning_rate: float
    workers: tuple[str, ...]
    modulation: Plain = msgspec.field(default_factory=lambda: {"kind": "constant"})
    synchronization: Plain = msgspec.field(default_factory=lambda: {"kind": "asynchronous"})
    optimizer: Plain = msgspec.field(default_factory=lambda: {"kind": "sgd"})
    aggregation: Plain = msgspec.field(default_factory=lambda: {"kind": "mean"})
    groups: tuple[tuple[str, ...], ...] = ()
    """Compute groups, each with the names of its workers; empty: the workers form none."""
    evaluator: str | None = None
    """Name of the node that measures the model on the test set; None: the run has no such node."""
    every: int = 1
    """Updates between two versions that the evaluator measures."""
    kept: bool = False
    """Whether the versions that are due are kept in files, and measured after the run; the run has
    no evaluator then."""
    stop: Stop = Stop()
    examples: dict[str, int] = {}
    """Number of training examples of each worker; empty if nothing is trained."""
    quarantine: QuarantineRule | None = None
    """When a device whose messages are refused goes into quarantine; None: never."""
    checkpoint: float | None = None
    """Seconds between two checkpoints of the model; None: no checkpoint is written."""
    conducted: bool = False
    """Whether the run begins only when its conductor has said hello, too: after all members, when
    the CPU quotas of the devices hold."""
    by_name: bool = False
    """Whether the updates of one step are summed in the order of the workers' names."""
    durability: Durability | None = None
    """Durability of the server; None: the run ends with the server's process."""

    def by_hand(self) -> "Plan":
        """Return the plan of a run without a conductor."""
        return msgspec.structs.replace(self, conducted=False)

    def moved(self, places: Mapping[str, str]) -> "Plan":
        """Return the plan with users' plugins from other files, as `places` says by their kinds."""

        def place(part: Plain) -> Plain:
            return {**part, "kind": places.get(part["kind"], part["kind"])}

        replace, worker = msgspec.structs.replace, self.worker
        return replace(
            self,
            worker=replace(worker, codec=place(worker.codec), schedule=place(worker.schedule)),
            modulation=place(self.modulation),
            synchronization=place(self.synchronization),
            optimizer=place(self.optimizer),
            aggregation=place(self.aggregation),
        )
