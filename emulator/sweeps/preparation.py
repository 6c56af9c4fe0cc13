"""Preparation of a sweep, before the first point: pre-flight checks and measurements.

A training step is measured on an otherwise idle core, so it must be measured before points are
played side by side: else each process would measure the others' load, too.
"""

from collections.abc import Callable, Sequence

from ..checks.preflight import preflight, refuse, warnings
from ..costs.compute_groups import dealt_batches
from ..errors import EmulatorError, ScenarioError, first_of
from ..runs.conductor import ProgressView
from ..runs.data_split import split_data
from ..scenario import Scenario
from .point import Point


def prepare(points: Sequence[Point], tell: Callable[[str], None]) -> list[Scenario]:
    """Return the scenarios of `points` as their runtimes will play them, in their order.

    Raises an error with the refusals of all points before anything is measured. `tell` takes
    progress messages.
    """
    require(points)
    return [
        point.scenario if point.in_containers else _resolved(point.scenario, tell)
        for point in points
    ]


def require(points: Sequence[Point]) -> None:
    """Raise an error with the refusals of all `points` and their labels, if there are any."""
    refusals: dict[str, EmulatorError] = {}
    labels: dict[str, list[str]] = {}
    split = _Splits()
    for point in points:
        for error in preflight(point.scenario, point.on, split_by=split).refusals:
            refusals.setdefault(str(error), error)
            labels.setdefault(str(error), []).append(point.label)
    told = (_labelled(error, first_of(labels[text], 1)) for text, error in refusals.items())
    refuse(told, heading="")


def _labelled(error: EmulatorError, label: str) -> EmulatorError:
    """Return `error` with `label` before its text, and before each of its mistakes."""
    text = f"{label}: {error}"
    if not isinstance(error, ScenarioError):
        return type(error)(text)
    told = [{**each, "message": f"{label}: {each['message']}"} for each in error.mistakes]
    return ScenarioError(text, told)


def warned(points: Sequence[Point]) -> list[str]:
    """Return each warning for runs of `points` once, with their labels unless it is of all."""
    labels: dict[str, list[str]] = {}
    for point in points:
        for text in warnings(point.scenario, point.on):
            labels.setdefault(text, []).append(point.label)
    return [
        text if len(those) == len(points) else f"{first_of(those, 1)}: {text}"
        for text, those in labels.items()
    ]


class _Splits:
    """Checker of data splits that checks scenarios with equal splits once."""

    def __init__(self) -> None:
        self._known: dict[object, EmulatorError | None] = {}

    def __call__(self, scenario: Scenario) -> None:
        training, names = scenario.training, tuple(device.name for device in scenario.nodes)
        sizes = training.batch_size, frozenset(dealt_batches(scenario).items())
        key = training.dataset, training.split, sizes, names, scenario.seed
        if key not in self._known:
            self._known[key] = _refused(scenario)
        if error := self._known[key]:
            raise error


def _refused(scenario: Scenario) -> EmulatorError | None:
    """Return the error of splitting the scenario's data, or None."""
    try:
        split_data(scenario)
    except EmulatorError as error:
        return error
    return None


def _resolved(scenario: Scenario, tell: Callable[[str], None]) -> Scenario:
    """Return `scenario` with measured durations filled in."""
    from ..runtimes.virtual.play_virtual import resolve

    return resolve(scenario, ProgressView(tell))
