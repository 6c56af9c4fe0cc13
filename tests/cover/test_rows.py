"""Every plugin has a row in the tests of the family; a plugin without a row would go untested."""

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_args

import pytest

import analysis
from emulator import aggregation, codecs, modulation, optimizers, pulls, schedules, synchronization
from emulator.codecs import indices, values
from emulator.learning import models
from emulator.learning.datasets import DATASETS
from emulator.world import faults
from tests.aggregation.aggregation_table import TABLE as AGGREGATIONS
from tests.codecs.rounded_values import EXACT
from tests.fakes.codecs.codec_table import ROWS
from tests.fakes.codecs.stateless_codecs import TABLE as STATELESS
from tests.learning.datasets.first_labels import FIRST
from tests.learning.models.model_sizes import KINDS, SIZES
from tests.modulation.modulation_table import TABLE as MODULATIONS
from tests.optimizers.optimizer_table import WITH_SIGN
from tests.pulls.pull_table import KINDS as PULLS
from tests.schedules.schedule_table import TABLE as SCHEDULES
from tests.synchronization.synchronization_table import TABLE as SYNCHRONIZATIONS
from tests.world.faults.verbs_of_kinds import VERBS_OF_KINDS


def _plugins(rows: Iterable[Any]) -> list[Any]:
    """Return the plugin that each of `rows` begins with."""
    return [row.values[0] for row in rows]


FAMILIES = {  # name: package, its plugin classes, the plugins in its tests' tables, the tables
    "codecs": (
        codecs,
        get_args(codecs.AnyCodec),
        [*_plugins(STATELESS), *(row.codec for row in ROWS.values())],
        "TABLE in tests/fakes/codecs/stateless_codecs.py or ROWS in codec_table.py beside it",
    ),
    "modulation": (
        modulation,
        get_args(modulation.AnyModulation),
        _plugins(MODULATIONS),
        "TABLE in tests/modulation/modulation_table.py",
    ),
    "optimizers": (
        optimizers,
        get_args(optimizers.AnyOptimizer),
        _plugins(WITH_SIGN),
        "WITH_SIGN in tests/optimizers/optimizer_table.py",
    ),
    "pulls": (pulls, get_args(pulls.AnyPull), PULLS, "KINDS in tests/pulls/pull_table.py"),
    "schedules": (
        schedules,
        get_args(schedules.AnySchedule),
        SCHEDULES,
        "TABLE in tests/schedules/schedule_table.py",
    ),
    "synchronization": (
        synchronization,
        get_args(synchronization.AnySynchronization),
        _plugins(SYNCHRONIZATIONS),
        "TABLE in tests/synchronization/synchronization_table.py",
    ),
    "aggregation": (
        aggregation,
        get_args(aggregation.AnyAggregation),
        _plugins(AGGREGATIONS),
        "TABLE in tests/aggregation/aggregation_table.py",
    ),
    "faults": (
        faults,
        tuple(faults.FAULTS.values()),
        [fault for fault, *_ in VERBS_OF_KINDS],
        "VERBS_OF_KINDS in tests/world/faults/verbs_of_kinds.py",
    ),
}
FAMILY = pytest.mark.parametrize("package, classes, rows, table", FAMILIES.values(), ids=FAMILIES)


@FAMILY
def test_every_plugin_has_a_row(
    package: Any, classes: tuple[type, ...], rows: list[Any], table: str
) -> None:
    kinds = {cls.kind for cls in classes}  # type: ignore[attr-defined]
    missing = kinds - {plugin.kind for plugin in rows}
    assert not missing, f"add a row for {', '.join(sorted(missing))} to {table}"
    assert {plugin.kind for plugin in rows} == kinds


@FAMILY
def test_every_plugin_is_listed(
    package: Any, classes: tuple[type, ...], rows: list[Any], table: str
) -> None:
    """A class with a `kind` that no union names would be tested, and never reached by a file."""
    defined = {
        value
        for module in iter_modules(package.__path__, f"{package.__name__}.")
        for value in vars(import_module(module.name)).values()
        if isinstance(value, type) and value.__module__ == module.name
        if isinstance(getattr(value, "kind", None), str)
    }
    assert defined == set(classes)


def test_every_value_coding_has_its_law() -> None:
    rounded = {"int8"}  # tests/codecs: within half a step of a byte
    table = "EXACT in tests/codecs/rounded_values.py"
    assert EXACT.keys() | rounded == values.CODINGS.keys(), f"each coding has a row in {table}"
    assert values.CODINGS.keys() == {*get_args(values.ValueCoding)}


def test_every_index_coding_is_listed() -> None:
    """The laws of index codings run over `CODINGS`."""
    names = {*get_args(indices.IndexCoding)}
    assert indices.CODINGS.keys() == names, "each coding is in both CODINGS and IndexCoding"


def test_every_model_has_its_sizes() -> None:
    tables = "SIZES and KINDS in tests/learning/models/model_sizes.py"
    assert models.MODELS.keys() == SIZES.keys() == KINDS.keys(), f"each model has a row in {tables}"


def test_every_data_set_has_its_first_labels() -> None:
    # made here, by what tests/learning/datasets has in test_grammar.py and test_shapes.py
    generated = {"sentences", "shapes"}
    table = "FIRST in tests/learning/datasets/first_labels.py"
    assert DATASETS.keys() == FIRST.keys() | generated, f"each data set has a row in {table}"


def test_every_figure_is_listed() -> None:
    """The tests of figures run over `FIGURES`."""
    names = {figure.name for figure in iter_modules(import_module("analysis.figures").__path__)}
    # a module is a figure; an object that is one has the module in which it is made
    modules = [getattr(figure, "__module__", figure.__name__) for figure in analysis.FIGURES]
    listed = {module.rpartition(".")[2] for module in modules}
    assert names == listed, "each figure is named in FIGURES in analysis/__init__.py"
