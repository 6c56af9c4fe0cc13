"""What is done once, before the first point is played: look for trouble, and measure.

A step is measured on an otherwise idle core, so points that are played side by side must find it
measured: else each would see the others in its own times.
"""

from collections.abc import Callable, Sequence

from ..errors import EmulatorError, ScenarioError
from ..log.writing import Record
from ..runs.data_split import split_data
from ..runs.preflight import preflight
from ..scenario import Scenario, Timed
from .point import Point


def prepare(points: Sequence[Point], tell: Callable[[str], None]) -> list[Scenario]:
    """Their scenarios as virtual time will play them, in their order.

    Raises an error that has every refusal of every point, and whose it is, before anything is
    calibrated.
    """
    refusals: dict[str, list[str]] = {}
    kinds: set[type[EmulatorError]] = set()
    split = _Splits()
    for point in points:
        for error in preflight(point.scenario, "virtual", split_by=split).refusals:
            refusals.setdefault(str(error), []).append(point.label)
            kinds.add(type(error))
    if refusals:
        kind = ScenarioError if ScenarioError in kinds else kinds.pop()
        raise kind("\n".join(f"{_who(of)}: {why}" for why, of in refusals.items()))
    return [_resolved(point.scenario, tell) for point in points]


class _Splits:
    """Splits the data of scenarios, once for those that are split alike; keeps no split."""

    def __init__(self) -> None:
        self._known: dict[object, EmulatorError | None] = {}

    def __call__(self, scenario: Scenario) -> None:
        training, names = scenario.training, tuple(device.name for device in scenario.nodes)
        key = training.dataset, training.split, training.batch_size, names, scenario.seed
        if key not in self._known:
            self._known[key] = _refused(scenario)
        if error := self._known[key]:
            raise error


def _refused(scenario: Scenario) -> EmulatorError | None:
    try:
        split_data(scenario)
    except EmulatorError as error:
        return error
    return None


def _resolved(scenario: Scenario, tell: Callable[[str], None]) -> Scenario:
    from ..runtimes.virtual.play_virtual import resolve

    return resolve(scenario, _Steps(tell))


def _who(labels: Sequence[str]) -> str:
    return labels[0] + (f" and {len(labels) - 1} more" if len(labels) > 1 else "")


class _Steps:
    """Looks at a run only as long as it is on its way up."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.progress = tell

    def take_timeline(self, timeline: Sequence[Timed]) -> None:
        pass

    def record(self, record: Record) -> None:
        pass

    def beat(self, now: float) -> None:
        pass
