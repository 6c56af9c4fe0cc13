"""Users' plugins before and in a run: each is tried once, and blamed for the errors it raises."""

from collections.abc import Iterator
from typing import Any

from ..core.codec_laws import BrokenLaw
from ..core.plugin_trials import TRIALS
from ..errors import PythonFileError, ScenarioError
from ..plugins.raised_errors import calling, raised_by
from ..scenario import Scenario

_MEMBERS = 100
"""Devices in the trial of a synchronization."""


def unfit_plugins(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield an error for each plugin of a user that raises one, or returns what no run can use."""
    members = [node.name for node in scenario.nodes[:_MEMBERS]]
    for key, plugin in _own(scenario):
        problem = ""
        try:
            with calling(type(plugin)):
                try:
                    TRIALS[key](plugin, scenario.training.layout, members)
                except BrokenLaw as broken:
                    problem = f"{plugin.kind}: {broken}"
        except PythonFileError as error:
            problem = str(error)
        if problem:
            yield ScenarioError(f"training.{key}: {problem}")


def blamed(scenario: Scenario, error: Exception) -> Exception:
    """Return `error`; with file and line if a user's plugin of `scenario` raised it."""
    for _, plugin in _own(scenario):
        if (raised := raised_by(error, type(plugin))) is not None:
            return raised
    return error


def _own(scenario: Scenario) -> Iterator[tuple[str, Any]]:
    """Yield key and plugin of each part of the training that is a user's."""
    for key in TRIALS:
        plugin = getattr(scenario.training, key)
        if hasattr(type(plugin), "plugin_source"):
            yield key, plugin
