"""The conductor: plays a scenario on any runtime, and the protocols of runtimes and views.

A run ends once every device is gone for good. A device that crashes and boots in each iteration
counts as gone: it never sends an update.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import merge
from typing import Any, Protocol

from ..core.survivors import Survivors
from ..errors import first_of
from ..log.records import Record
from ..scenario import Scenario, Timed
from ..scenario.timeline.compiled import ends_beyond, verbs_of_faults
from ..scenario.timeline.link_changes import silent_links
from ..world import verbs
from ..world.verbs import Action
from .cancel import Canceled


class RunView(Protocol):
    """Shows a run to a person, or passes its progress on to another process."""

    def take_timeline(self, timeline: Sequence[Timed]) -> None:
        """Take the compiled schedule of the run, once, before the first record."""

    def progress(self, text: str) -> None:
        """Show a step of the start-up, or of the end."""

    def record(self, record: Record) -> None:
        """Show a record of the run's log, as soon as it is written."""

    def beat(self, now: float) -> None:
        """Show that the run's clock has reached `now`, in emulated seconds."""


class ProgressView(RunView):
    """A view that passes the steps of starting and ending on to a function, and drops the rest."""

    def __init__(self, progress: Callable[[str], None] | None = None) -> None:
        self._progress = progress

    def take_timeline(self, timeline: Sequence[Timed]) -> None:
        pass

    def progress(self, text: str) -> None:
        if self._progress:
            self._progress(text)

    def record(self, record: Record) -> None:
        pass

    def beat(self, now: float) -> None:
        pass


class Runtime(Protocol):
    """Plays the nodes of a scenario: as containers, or on a heap of events."""

    def deploy(self, scenario: Scenario, survivors: Survivors) -> None:
        """Start every node, links shaped; return at the run's zero, when all have said hello.

        The runtime reports to `survivors` each device that is lost without the timeline.
        """

    def wait(self, until: float) -> bool:
        """Let the run's clock reach `until`; return False if the run ended before.

        `SETTLE` seconds after the last of the survivors is gone the runtime ends the run as failed.
        """

    def perform(self, action: Action, planned: float) -> None:
        """Do `action` to a node; `planned` is its time in the timeline, in emulated seconds."""

    def cancel(self, reason: str = "canceled") -> None:
        """End the run at once and keep its results. `reason` is `canceled` or `stopped`."""

    def teardown(self) -> None:
        """Remove the nodes and release files and threads, in any state of the run."""


def run(scenario: Scenario, timeline: Sequence[Timed], runtime: Runtime) -> None:
    """Deploy `scenario`, perform the actions of `timeline` at their times, and tear down.

    Returns when the scenario's stop condition holds.
    """
    try:
        survivors = _survivors(scenario, timeline)
        runtime.deploy(scenario, survivors)
        _play(timeline, runtime, survivors)
    except Canceled as asked:
        runtime.cancel(asked.reason)
        raise
    finally:
        runtime.teardown()


def _survivors(scenario: Scenario, timeline: Sequence[Timed]) -> Survivors:
    """Return the devices left by `timeline`.

    A device whose fault ends after the run's last moment is not gone.
    """

    def read(schedule: Sequence[Timed]) -> Survivors:
        actions = ((timed.at, timed.action) for timed in schedule)
        silent = silent_links(scenario, schedule)
        return Survivors(len(scenario.nodes), actions, idle, none_left(scenario, idle), silent)

    idle = idle_devices(scenario)
    survivors = read(timeline)
    if not survivors.doomed:
        return survivors
    # compiles the timeline again, which may be long
    return read([*timeline, *ends_beyond(scenario)])


def _play(timeline: Sequence[Timed], runtime: Runtime, survivors: Survivors) -> None:
    silent = sorted((at, node) for node, at in survivors.silent.items())
    planned = ((timed.at, timed.action.node, timed.action) for timed in timeline)
    begun: Iterable[tuple[float, str, Action | None]] = ((at, node, None) for at, node in silent)
    # at equal times the action comes first, by which the link carries nothing
    for at, node, action in merge(planned, begun, key=lambda entry: entry[0]):
        if not runtime.wait(until=at):
            return
        if action is not None:
            runtime.perform(action, at)
        survivors.performed(node, at)
    runtime.wait(until=math.inf)


_NAMED = 5
"""Largest number of devices that a reason names."""


def idle_devices(scenario: Scenario) -> list[str]:
    """Return the names of the devices that crash in each iteration, and boot again for ever.

    With a `stop.time` the run ends anyway, and the list is empty.
    """
    if scenario.stop.time is not None:
        return []
    crashes = ((device.name, certain_crash(device.hazards)) for device in scenario.nodes)
    return [name for name, crash in crashes if crash is not None and crash["lasts"] is not None]


def none_left(scenario: Scenario, idle: Sequence[str]) -> str:
    """Return why a run of `scenario` ends that has no device left, in words.

    `idle` has the names of the devices that crash in each iteration.
    """
    ways = "down, cut off or paused" if "pause" in verbs_of_faults(scenario) else "down or cut off"
    reason = f"every device is {ways} for good"
    if not idle:
        return reason
    return f"{reason}, or crashes in each iteration: {first_of(idle, _NAMED)}"


def certain_crash(hazards: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the first of `hazards` that strikes for sure before an iteration is finished.

    The first fault that strikes counts, so a pause before it may save an iteration.
    """
    for hazard in hazards:
        if not verbs.row(hazard["begin"]).ends_process:
            if hazard["per_iteration"] > 0:
                return None
        elif hazard["per_iteration"] >= 1:
            return hazard
    return None
