"""Play a scenario on a runtime: the conductor."""

import math
from collections.abc import Sequence
from typing import Protocol

from ..core.survivors import Survivors
from ..log.writing import Record
from ..scenario import Scenario, Timed
from ..world.verbs import Action
from .cancel import Canceled


class RunView(Protocol):
    """Whoever looks on."""

    def progress(self, text: str) -> None:
        """A step on the way up, or on the way out."""

    def record(self, record: Record) -> None:
        """A line of the run's log, as it comes."""

    def beat(self, now: float) -> None:
        """Time has gone on: `now` emulated seconds."""


class Runtime(Protocol):
    """Somewhere a scenario comes true: containers, or a heap of events."""

    def deploy(self, scenario: Scenario, survivors: Survivors) -> None:
        """Bring every node up, links shaped; returns at the run's zero, all having said hello.

        The runtime tells `survivors` of devices that are lost beside the timeline.
        """

    def wait(self, until: float) -> bool:
        """Let the run's clock reach `until`; False if the run came to its end before.

        `SETTLE` seconds after the last of the survivors is gone the runtime ends the run as failed.
        """

    def perform(self, action: Action, planned: float) -> None:
        """Do one thing to the running world; `planned` is when the timeline wanted it."""

    def cancel(self, reason: str = "canceled") -> None:
        """End the run now, keeping what there is. `reason` is `canceled` or `stopped`."""

    def teardown(self) -> None:
        """Leave nothing behind, whatever state the run is in."""


def run(scenario: Scenario, timeline: Sequence[Timed], runtime: Runtime) -> None:
    """Deploy, do each action in its time until the stop condition holds, and always clean up."""
    try:
        schedule = ((timed.at, timed.action) for timed in timeline)
        survivors = Survivors(len(scenario.nodes), schedule)
        runtime.deploy(scenario, survivors)
        _play(timeline, runtime, survivors)
    except Canceled as asked:
        runtime.cancel(asked.reason)
        raise
    finally:
        runtime.teardown()


def _play(timeline: Sequence[Timed], runtime: Runtime, survivors: Survivors) -> None:
    for timed in timeline:
        if not runtime.wait(until=timed.at):
            return
        runtime.perform(timed.action, timed.at)
        survivors.performed(timed.action.node, timed.at)
    runtime.wait(until=math.inf)
