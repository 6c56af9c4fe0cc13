"""The checks of a scenario against this host, before anything is created or calibrated.

Every command uses the same list of refusals: `emulate check` prints the list; `run`, `sweep` and
`compare --runtimes` raise an error with it. The Docker engine is not asked here: `emulate doctor`
asks the engine.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..costs.computing_times import times_known
from ..costs.host_dilation import with_dilation
from ..costs.layer_calibration import layers_known
from ..errors import DataError, EmulatorError, HostError, ScenarioError
from ..learning.learners.export import tensorflow_version
from ..learning.learners.numpy import refusal
from ..learning.models import OwnModel
from ..machine import congestion
from ..machine.host import Host, lacks_containers
from ..runs.certain_crashes import certain_crash
from ..runs.data_split import DataSplit, split_data
from ..scenario import Scenario, demand, shortfalls
from ..scenario.demand import HostCapacity as Capacity
from ..scenario.demand import small_devices
from ..scenario.initial_model import initial_model
from ..scenario.link_moments import WAYS, link_moments
from ..schedules import Sequential
from ..shaping.bounds import SLOWEST, out_of_bounds
from ..units import Share
from ..world.laws import Fixed, Law, Uniform
from ..world.links.link import Side
from ..world.stop_conditions import CONDITIONS
from .own_parts import missing_imports
from .pressure_fit import unavailable
from .tried_plugins import unfit_plugins


@dataclass(frozen=True)
class Preflight:
    """The result of the checks of a scenario for a runtime."""

    refusals: tuple[EmulatorError, ...]
    """Errors; any of them would stop the run."""
    split: DataSplit | None
    """The split of the data; None if the run needs no data, or if the split was refused."""

    def require(self) -> DataSplit | None:
        """Return `split`. Raise a single error with the texts of `refusals`, if any."""
        if not self.refusals:
            return self.split
        kinds = {type(error) for error in self.refusals}
        kind = ScenarioError if ScenarioError in kinds else type(self.refusals[0])
        if len(self.refusals) == 1:
            raise kind(str(self.refusals[0]))
        raise kind("this cannot be played here:\n" + "\n".join(map(str, self.refusals)))


def preflight(
    scenario: Scenario,
    on: str,
    host: Host | None = None,
    split_by: Callable[[Scenario], DataSplit | None] = split_data,
) -> Preflight:
    """Check whether the runtime `on` can play `scenario` on `host`, by default this host.

    `split_by` makes the data split, if the runtime needs one.
    """
    if (untrainable := _untrainable(scenario, on)) is not None:
        return Preflight((untrainable,), None)
    split: DataSplit | None = None
    refusals: list[EmulatorError] = []
    if (endless := _never_ends(scenario)) is not None:
        refusals.append(endless)
    refusals += unavailable(scenario)
    refusals += unfit_plugins(scenario)
    if on == "docker" or scenario.virtual.learner != "none":
        try:
            split = split_by(scenario)
        except (DataError, ScenarioError) as error:
            refusals.append(error)
        try:
            initial_model(scenario.training)
        except ScenarioError as error:
            refusals.append(error)
    if on == "docker":
        here = host or Host.here()
        refusals += _in_containers(with_dilation(scenario, here.cores), here)
    else:
        refusals += _in_virtual(scenario)
    return Preflight(tuple(refusals), split)


def _untrainable(scenario: Scenario, on: str) -> ScenarioError | None:
    """Return the error of a scenario that would train a layer table."""
    if on == "docker" or scenario.virtual.learner != "none":
        try:
            _ = scenario.training.trainable
        except ScenarioError as error:
            return error
    return None


def _never_ends(scenario: Scenario) -> ScenarioError | None:
    """Return the error of a scenario that makes no update and meets no stop condition, or None.

    A device that draws a crash in each iteration sends no update. The run of such devices only goes
    on while they boot again: after a crash for good it fails by itself.
    """
    if scenario.stop.time is not None:
        return None
    boots = False
    for device in scenario.nodes:
        crash = certain_crash(device.hazards)
        if crash is None:
            return None
        boots = boots or crash["lasts"] is not None
    if not boots:
        return None
    return ScenarioError(
        "devices: every device crashes in each iteration (per_iteration: 100%), so no update ever "
        "arrives, and the run would never end: give stop.time, or a smaller chance"
    )


# -- containers ----------------------------------------------------------------------------------


def _in_containers(scenario: Scenario, host: Host) -> Iterator[EmulatorError]:
    if why := lacks_containers():
        yield HostError(why)
        return
    if scenario.measure is not None and scenario.measure.momentum is not None:
        yield ScenarioError(
            "measure.momentum: containers keep no trajectory: leave it out, or play the scenario "
            "with --on virtual"
        )
    yield from missing_imports(scenario)
    yield from _quotas(scenario)
    yield from _bounds(scenario)
    if scenario.tcp is not None and (why := congestion.refusal(scenario.tcp.congestion)):
        yield HostError(f"tcp.congestion: {why}")
    short = shortfalls(demand(scenario), Capacity(host.cores, host.available))
    short += small_devices(scenario)
    yield from (HostError(str(shortfall)) for shortfall in short if shortfall.fatal)
    yield from _tensorflow()


def _quotas(scenario: Scenario) -> Iterator[HostError]:
    # cores of the machine, not those that this process may use: the engine compares with them
    cores = os.cpu_count() or 1
    for number, group in enumerate(scenario.devices):
        cpu = group.profile.cpu if group.profile else None
        if cpu is not None and cpu > cores:
            yield HostError(
                f"devices[{number}].profile.cpu: {cpu} is more than the {Share(cores)} that this "
                "host has, and Docker refuses such a quota: write less, or leave it out"
            )


def _bounds(scenario: Scenario) -> Iterator[ScenarioError]:
    """Refuse links that are beyond the bounds of the kernel or the box at some moment.

    A trace's rate may be as low as it likes: the kernel plays the lowest that it can.
    """
    for number, bottleneck in enumerate(scenario.bottlenecks):
        for way in WAYS:
            shared = getattr(bottleneck.shared, way)
            side = Side(shared.rate, shared.delay)
            for sentence in out_of_bounds(side, scenario.dilation):
                yield ScenarioError(f"bottlenecks[{number}].{way}.{sentence}")
    for moment in link_moments(scenario):
        lowest = 0.0 if moment.traced else SLOWEST
        for sentence in out_of_bounds(moment.side, scenario.dilation, lowest=lowest):
            yield ScenarioError(f"{moment.place}{moment.part}.{sentence}")


def _tensorflow() -> Iterator[HostError]:
    try:
        tensorflow_version()
    except HostError as error:
        yield error


# -- virtual time --------------------------------------------------------------------------------


def _in_virtual(scenario: Scenario) -> Iterator[EmulatorError]:
    learner, layout = scenario.virtual.learner, scenario.training.layout
    for key in scenario.stop.limits if learner == "none" else ():
        if why := CONDITIONS[key].unlearnt:
            yield ScenarioError(f"stop.{key}: {why}")
    if learner == "numpy" and isinstance(scenario.training.network, OwnModel):
        yield ScenarioError(
            "virtual.learner: numpy knows no Keras models: take tensorflow, or leave learner out"
        )
    elif learner == "numpy" and (why := refusal(layout)):
        yield ScenarioError(f"virtual.learner: {why}")
    if learner == "tensorflow":
        yield from _tensorflow()
    elif not (times_known(scenario) and layers_known(scenario)):
        given = "virtual.step and virtual.boot"
        if scenario.training.cutting != Sequential():
            given = "virtual.step, virtual.boot and virtual.layers"
        for error in _tensorflow():
            yield HostError(f"{error}; with {given} nothing is measured")
    yield from _timeless(scenario)


def _timeless(scenario: Scenario) -> Iterator[ScenarioError]:
    """Refuse a scenario in which the virtual clock would stand still for ever.

    It does if no step, no update at the server and no link of some device takes time, and
    `stop.updates` sets no end: the device pushes again and again at one moment.
    """
    virtual, server = scenario.virtual, scenario.server.link
    work = (virtual.step, virtual.serve)
    if scenario.stop.updates is not None or virtual.step is None or not all(map(_no_time, work)):
        return
    for number, group in enumerate(scenario.devices):
        sides = (group.link.up, group.link.down, server.up, server.down)
        shared = all(name in scenario.bottleneck_of for name in group.names)
        if not (shared or any(side.rate or side.delay or side.setup for side in sides)):
            yield ScenarioError(
                f"virtual.step: is always 0s, and devices[{number}] has no link that takes time: "
                "the clock would stand still: give a step, a rate, a delay or stop.updates"
            )
            return


def _no_time(law: Law | None) -> bool:
    """Return whether every draw from `law` is 0 s; None stands for 0 s."""
    match law:
        case Fixed(time):
            return not time
        case Uniform((_, high)):
            return not high
    return law is None
