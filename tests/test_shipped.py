"""The package ships no code that only tests use."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import emulator
from emulator.world.faults import FAULTS
from emulator.world.verbs import VERBS
from tests.layers import FILES, ROOT, imports, module_name, tree

SHIPPED = [*FILES, *sorted((ROOT / "analysis").rglob("*.py"))]
TEMPLATES = sorted((ROOT / "analysis").rglob("*.html"))
NOT_IMPORTED = {
    "emulator.node.link.box_life": "started by a container",
    "emulator.node.forking.fork_server": "started by a container",
    "emulator.node.engine_probe": "started in a container by the probe of an engine",
    "emulator.node.link.foreign_end": "started by a sidecar of a foreign container",
    "emulator.node.part.held_memory": "started by a presser",
    "emulator.node.part.role": "started by the supervisor",
    "emulator.node.supervisor": "started by a container",
    "emulator.sweeps.container_process": "started by a study, for a run in containers",
    "emulator.shaping.probe": "started by a container",
    "emulator.costs.calibration.layer_meter": "started by the calibration of layers",
    "emulator.learning.datasets.own.call_function": "started by the reader of functions",
    "emulator.learning.learners.tensorflow.keras_export": "started by the export of own models",
    "analysis.pages.agreement": "imported by `emulator.cli.read.analysis_package`",
    "analysis.pictures.fault_gantt": "imported by `emulator.cli.read.analysis_package`",
    "analysis.pictures.link_trace": "imported by `emulator.cli.read.analysis_package`",
    "analysis.pictures.predicted_rates": "imported by `emulator.cli.read.analysis_package`",
    "analysis.pictures.split_picture": "imported by `emulator.cli.read.analysis_package`",
    "analysis.pages.report": "imported by `emulator.cli.read.analysis_package`",
    "analysis.pictures.tunings": "imported by `emulator.cli.read.analysis_package`",
}
"""Modules without an import in the package, each with its use."""

FOUND_BY_FAMILY = ("emulator.world.faults.", "analysis.figures.", "analysis.papers.")
"""Each package imports all of its modules, whatever their names."""

READ_BY_OTHERS = {
    "model_config": "read by pydantic",
    "create_module": "called by the import system",
    "list_commands": "called by click",
    "source_template": "read by click",
    "get_completion_args": "called by click",
    "format_completion": "called by click",
    "ignore_aliases": "called by yaml",
    "yaml_implicit_resolvers": "read by yaml",
    "run_colours": "called by figures of users, as docs/add-a-figure.md says",
    "publish_measured": "called by the measurements of make targets, in `tests/benchmarks`",
    "no_feedback": "read by `codecs.refusal`, by its name",
    "no_segments": "read by `codecs.uncuttable`, by its name",
}
"""Names without a use in the code of the package, each with its reader."""


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    """Yield each public function, class, method and constant that `body` defines."""
    for node in body:
        names: list[str] = []
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names = [node.name]
            case ast.ClassDef():
                names = [node.name, *_defined(node.body)]
            case ast.Assign():
                names = [name.id for name in node.targets if isinstance(name, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
        yield from (name for name in names if not name.startswith("_"))


@cache
def _used() -> frozenset[str]:
    """Return each name that the shipped code reads; an import or `__all__` is no use."""
    used = set()
    for path in SHIPPED:
        for node in ast.walk(tree(path)):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                    used.add(name)
                case ast.keyword(arg=str(name)):
                    used.add(name)
    return frozenset(used)


def test_every_public_name_is_used_by_the_package() -> None:
    used = {*_used()}
    used |= {word for page in TEMPLATES for word in re.findall(r"\w+", page.read_text())}
    used |= {*emulator.__all__, *READ_BY_OTHERS}
    used |= {fault.__name__ for fault in FAULTS.values()}  # found by its module
    used |= {name for verb in VERBS for name in (verb.name, verb.undone_by)}  # called by its name
    unused = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in SHIPPED
        for name in _defined(tree(path).body)
        if name not in used
    }
    assert unused == set()


def test_every_exception_to_that_is_one() -> None:
    defined = {name for path in SHIPPED for name in _defined(tree(path).body)}
    assert READ_BY_OTHERS.keys() <= defined - _used()


def test_every_module_is_imported_by_another() -> None:
    imported = {name for path in SHIPPED for name in imports(path)}
    unused = {
        name
        for name in (module_name(path) for path in SHIPPED if path.name != "__init__.py")
        if name not in imported | NOT_IMPORTED.keys() and not name.endswith(".__main__")
        if not name.startswith(FOUND_BY_FAMILY)
    }
    assert unused == set()
