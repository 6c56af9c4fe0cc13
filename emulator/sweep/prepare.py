"""What is done once, before the first point is played: look for trouble, and measure.

A step is measured on an otherwise idle core, so points that are played side by side must find it
measured: else each would see the others in its own times.
"""

from collections.abc import Callable, Sequence

from ..deal import deal
from ..errors import ScenarioError
from ..runlog import Record
from ..scenario import Scenario
from .point import Point


def prepare(points: Sequence[Point], tell: Callable[[str], None]) -> list[Scenario]:
    """Their scenarios as virtual time will play them, in their order.

    Raises a ScenarioError that has every mistake that takes more than a scenario to see, and
    whose it is.
    """
    refusals: dict[str, list[str]] = {}
    resolved = []
    dealt: set[object] = {None}
    for point in points:
        try:
            resolved.append(_resolved(point.scenario, tell))
            if (hand := _hand(point.scenario)) not in dealt:
                dealt.add(hand)
                deal(point.scenario)
        except ScenarioError as error:
            refusals.setdefault(str(error), []).append(point.label)
    if refusals:
        raise ScenarioError("\n".join(f"{_who(of)}: {why}" for why, of in refusals.items()))
    return resolved


def _resolved(scenario: Scenario, tell: Callable[[str], None]) -> Scenario:
    from ..runtimes.virtual.session import resolve

    return resolve(scenario, _Steps(tell))


def _hand(scenario: Scenario) -> object:
    """What it takes to be dealt the same; None for those who are dealt nothing."""
    training, names = scenario.training, tuple(device.name for device in scenario.nodes)
    if scenario.virtual.learner == "none":
        return None
    return training.dataset, training.split, training.batch_size, names, scenario.seed


def _who(labels: Sequence[str]) -> str:
    return labels[0] + (f" and {len(labels) - 1} more" if len(labels) > 1 else "")


class _Steps:
    """Looks at a run only as long as it is on its way up."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.progress = tell

    def record(self, record: Record) -> None:
        pass

    def beat(self, now: float) -> None:
        pass
