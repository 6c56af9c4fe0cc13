"""Users' plugins before a run: each is tried once."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ..errors import PythonFileError, ScenarioError
from ..node.durable.object_tree import freeze
from ..plugins.raised_errors import calling
from ..runs.plugin_sources import own_plugins
from ..scenario import Scenario
from ..scenario.demand import Shortfall
from ..scenario.durability import NONE
from .laws.codec_laws import BrokenLaw
from .laws.plugin_trials import TRIALS, patience_doubt

_MEMBERS = 100
"""Devices in the trial of a synchronization."""


def unfit_plugins(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield an error for each plugin of a user that raises one, or returns what no run can use.

    Where the server's work outlives its process, a state that no file can hold is an error too.
    """
    members = [node.name for node in scenario.nodes[:_MEMBERS]]
    for key, plugin in own_plugins(scenario):
        problem = ""
        try:
            with calling(type(plugin)):
                try:
                    state = TRIALS[key](plugin, scenario.training.layout, members)
                    if state is not None and scenario.server.durability != NONE:
                        problem = _unkept(plugin, state)
                except BrokenLaw as broken:
                    problem = f"{plugin.kind}: {broken}"
        except PythonFileError as error:
            problem = str(error)
        if problem:
            yield ScenarioError(f"training.{key}: {problem}")


def doubtful_plugins(scenario: Scenario) -> list[Shortfall]:
    """Return a warning for a user's synchronization that waits for a device without an end, or
    that counts no steps without the device."""
    members, doubts = [node.name for node in scenario.nodes[:_MEMBERS]], []
    for key, plugin in own_plugins(scenario):
        if key == "synchronization":
            with suppress(PythonFileError), calling(type(plugin)):  # refused by `unfit_plugins`
                if doubt := patience_doubt(plugin, members):
                    doubts.append(Shortfall("warning", f"{key}: {plugin.kind}: {doubt}"))
    return doubts


def _unkept(plugin: Any, state: Any) -> str:
    """Return why the `state` of `plugin` cannot be saved; empty if it can."""
    try:
        freeze(state)
    except TypeError as error:
        return (
            f"{plugin.kind}: {error}: with server.durability a plugin keeps numbers, text, arrays, "
            "containers, objects of its own classes, and random generators"
        )
    return ""
