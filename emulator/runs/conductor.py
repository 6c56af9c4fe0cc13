"""The conductor: plays a scenario on any runtime, and the protocols of runtimes and views."""

import math
from collections.abc import Callable, Iterable, Sequence
from heapq import merge
from typing import Protocol

from ..core.survivors import Survivors
from ..log.records import Record
from ..scenario import Scenario, Timed
from ..scenario.timeline.compiled import ends_beyond
from ..scenario.timeline.link_changes import silent_links
from ..world.verbs import Action
from .cancel import Canceled
from .certain_crashes import idle_devices, none_left


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
