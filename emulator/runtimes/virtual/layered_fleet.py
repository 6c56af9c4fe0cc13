"""The parts of workers that compute layer by layer: made anew for each boot of a device."""

from ...core.assembly import WorkerAssembly
from ...layout import Layout
from ...log.writing import RunLog
from ...runs.device_costs import device_costs
from ...runs.expected_costs import update_sizes
from ...scenario import Scenario
from .device.layered_work import LayeredWork, LayerTimes
from .learning.gradient_handle import FleetLearning
from .learning.lies import LieNow


class LayeredFleet:
    """Makes the LayeredWork of devices, for a scenario with a schedule that cuts the model."""

    def __init__(
        self,
        scenario: Scenario,
        layout: Layout,
        assembly: WorkerAssembly,
        learning: FleetLearning,
        log: RunLog,
    ) -> None:
        """`scenario.virtual.step` and `.layers` must be known.

        `log` takes the records of plans and iterations.
        """
        if scenario.virtual.layers is None:
            raise TypeError("virtual.layers must be known")
        self.layout = layout
        self._assembly, self._learning, self._log = assembly, learning, log
        self._times = LayerTimes(*scenario.virtual.layers.parts)
        push = update_sizes(scenario.training.codec, layout)
        self._priors = device_costs(scenario, layout, push)

    def work(self, device: str, incarnation: int, lie: LieNow | None = None) -> LayeredWork:
        """Make the parts of an incarnation of `device`; `lie` as `FleetLearning` takes it."""
        # a crash forgets measurements, so the first plan of each incarnation is made from the prior
        scheduler = self._assembly.scheduler(device, self._priors[device], self._log.write)
        if scheduler is None:
            raise TypeError("a sequential schedule computes whole models")
        learner = self._learning.segmented(device, incarnation, lie)
        return LayeredWork(learner, scheduler, self._times)
