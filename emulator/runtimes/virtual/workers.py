"""The workers of devices in virtual time: a coroutine, a learner and passes for each boot."""

from collections.abc import Callable
from typing import Any, Protocol

from ...core.assembly import WorkerAssembly
from ...core.cut.cut_worker import ActivationCoder, cut_worker
from ...core.plan import WorkerPlan
from ...core.scheduling.scheduler import Scheduler
from ...core.worker.layered_worker import layered_worker
from ...core.worker.sharded_worker import sharded_worker
from ...core.worker.worker import worker
from ...costs.exchange import update_sizes
from ...costs.layer_costs import device_costs
from ...layout import Layout
from ...log.lines import RunLog
from ...log.records import CompressionRecord
from ...scenario import Scenario
from .cut_times import cut_shares
from .device.passes import LayerTimes, Passes, SlopesDecoder
from .device.virtual_device import VirtualDevice
from .learning.compression import MeteredHandleEncoder
from .learning.gradient_handle import (
    FleetLearning,
    HandleEncoder,
    LieNow,
    PrefetchedReply,
    PrefetchedSegment,
    SegmentHandleEncoder,
)


class CutCoder(ActivationCoder[Any], SlopesDecoder, Protocol):
    """Codes the messages of a device at its end of the cut."""


class Workers:
    """Begins the workers of devices: on whole models, in segments of layers, or before a cut."""

    def __init__(
        self,
        scenario: Scenario,
        plan: WorkerPlan,
        learning: FleetLearning,
        coder: CutCoder | None,
        log: RunLog,
        now: Callable[[], float],
    ) -> None:
        """`scenario.virtual.layers` must be known unless the devices compute whole models.

        `coder` belongs to a model that is cut. `log` takes the records of schedulers, and those of
        devices whose compression is measured at the second `now` of the run.
        """
        self.learning, self._coder, self._log, self._now = learning, coder, log, now
        self._measures = scenario.measure is not None and scenario.measure.compression is not None
        self._layout: Layout = scenario.training.layout
        self._assembly, self._encoder = WorkerAssembly(plan, self._layout), HandleEncoder()
        self.shards = self._assembly.shards
        """The shards of the server; None: it has none."""
        if self._assembly.segmented:
            push = update_sizes(scenario.training.codec, self._layout)
            self._priors = device_costs(scenario, self._layout, push)
        if self._assembly.segmented or plan.cut is not None:
            if scenario.virtual.layers is None:
                raise TypeError("virtual.layers must be known")
            self._times = LayerTimes(*scenario.virtual.layers.parts)
        if plan.cut is not None:  # both parts of a step are one piece of work
            share = cut_shares(*self._times, plan.cut.layer).device
            self._times = LayerTimes((share.forward,), (share.backward,))

    def begin(self, device: VirtualDevice, size: int, lie: LieNow | None) -> None:
        """Begin the worker of the present incarnation of `device`.

        The device holds `size` parameters; `lie` as `FleetLearning` takes it.
        """
        name, incarnation, timeout = device.name, device.incarnation, device.timeout
        device.learner = self.learning.learner(name, incarnation, lie, device.keeper)
        if self._coder is not None:
            device.passes = Passes(self._times, decoder=self._coder)
            given = self._coder, self._encoder, size, timeout, PrefetchedReply
            device.begin(cut_worker(name, incarnation, *given))
        elif (scheduler := self._scheduler(name)) is not None:
            device.passes = Passes(self._times, scheduler)
            pieces = SegmentHandleEncoder(), self._layout, timeout, PrefetchedSegment
            device.begin(layered_worker(name, incarnation, scheduler, *pieces))
        elif self.shards is not None:
            model = self.shards, self._layout, timeout, PrefetchedSegment, device.joined
            device.begin(sharded_worker(name, incarnation, SegmentHandleEncoder(), *model))
        else:
            encoder = self._metered(name) if self._measures else self._encoder
            device.begin(worker(name, incarnation, encoder, size, timeout, PrefetchedReply))

    def _metered(self, name: str) -> MeteredHandleEncoder:
        """Return an encoder that logs the measures of the updates of the device `name`."""

        def report(record: CompressionRecord) -> None:
            record.at, record.node = self._now(), name
            self._log.write(record)

        return MeteredHandleEncoder(report)

    def _scheduler(self, device: str) -> Scheduler | None:
        """Make a scheduler; None if model and update travel whole.

        A crash forgets measurements, so the first plan of each incarnation is made from the prior.
        """
        if not self._assembly.segmented:
            return None
        return self._assembly.scheduler(device, self._priors[device], self._log.write)
