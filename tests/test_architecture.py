"""Layers, cycles, names, and libraries that stay in their place.

Each part of `emulator/` stands in one layer (`LAYERS` in tests/layers.py) and imports only parts of
its own layer and of the layers below it. `make layers` draws every import in docs/layers.svg.

    commands          cli
    grids of runs     sweep
    runtimes          docker and virtual, which never see each other; swarm, which stands on docker
    a run's life      checks runs
    costs             costs
    a container       node
    a run's means     scenario shaping transport
    protocol          core: no sockets, no clock, no dice
    plugin families   learning codecs modulation optimizers pulls schedules synchronization
                      aggregation
    world             world log machine
    leaves            errors units layout vectors plugins chance

`analysis` stands beside these layers: it reads the folders of runs, and imports none of them.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.layers import (
    FILES,
    PACKAGE,
    RANK,
    ROOT,
    imports,
    module_name,
    part,
    part_imports,
    tree,
)

ONLY_IN: dict[str, set[str]] = {  # module: parts, folders or files that may import it
    "zmq": {"transport"},
    "docker": {"runtimes/docker", "runtimes/swarm"},
    "requests": {"runtimes/docker", "runtimes/swarm"},
    "tensorflow": {
        "learning/learners/tensorflow",
    },
    "ctypes": {"learning/learners", "node/forking", "transport"},
    "pydantic": {"scenario"},
    "pydantic_core": {"scenario", "units.py"},  # a quantity says how it is read, when asked
    "yaml": {"scenario"},
    "rich": {"cli"},
    "click": {"cli"},
    "analysis": {"cli"},
    "pandas": {"cli/read/played.py", "learning/datasets/own/table_file.py"},
    "matplotlib": set(),
    "jinja2": set(),
    "msgspec": {
        *{"core", "node", "log", "transport"},
        *{"plugins/stateful.py", "modulation/history.py"},  # values that wait in a state
    },
    "socket": {
        *{"node/fidelity", "runtimes", "shaping/box", "transport/watch.py"},
        "node/link/gateway_life.py",  # netlink, in place of /proc/sys
        *{"transport/wake_up.py", "transport/tunnel"},
    },
    "threading": {
        *{
            "machine/host.py",
            "runs/cancel.py",
            "runtimes/virtual/learning/job_pool.py",
            "sweeps/point_process.py",
        },
        *{"transport/node_driver.py", "transport/watch.py"},
        *{"transport/tunnel/conductor_end.py", "runtimes/swarm/remote_host.py"},
    },
    "subprocess": {"costs/calibration", "learning", "node", "runtimes", "shaping", "sweeps"},
    "time": {
        *{
            "costs/calibration",
            "cli",
            "learning/learners/device.py",
            "learning/learners/staged_learner.py",
            "sweeps",
        },
        "world/emulated_clock.py",  # which the nodes of a run use
        *{"node/durable/journal.py", "node/reports.py", "transport/watch.py"},
        "transport/shard_link.py",
        *{"machine/host.py", "node/fidelity/echo_wire.py"},
        *{f"runtimes/docker/engine/{name}.py" for name in ("cleanup", "exits")},
        *{f"runtimes/swarm/{name}.py" for name in ("engine_remains", "local_engines")},
        *{f"runtimes/swarm/{name}.py" for name in ("agent", "agents", "remote_host")},
        *{"runtimes/swarm/socket_folders.py", "transport/tunnel"},
        "runtimes/virtual/virtual_runtime.py",
        "shaping/box",
    },
    "datetime": {"costs/calibration", "cli/read/export_run.py", "runs"},
    "random": {
        "chance.py",
        *{"world/faults", "world/laws.py", "world/links"},
        *{"runtimes/virtual", "scenario", "shaping", "transport"},
    },
    "secrets": {"transport"},
    "pickle": set(),
    "marshal": set(),
    "shelve": set(),
}


RUNTIMES = "emulator.runtimes"

# -- layers --------------------------------------------------------------------------------------


def test_every_part_has_a_layer() -> None:
    assert {part(path) for path in FILES} - {"__init__", "__main__"} == RANK.keys()


def test_no_part_imports_a_layer_above_its_own() -> None:
    upwards = {
        f"{importer} imports {imported}"
        for importer, imported in part_imports()
        if importer not in ("__init__", "__main__") and RANK[imported] > RANK[importer]
    }
    assert upwards == set()


def test_no_cycle_of_modules() -> None:
    """Imports within functions count, too."""
    graph = {module_name(path): imports(path) - {module_name(path)} for path in FILES}
    tuple(TopologicalSorter(graph).static_order())


def test_no_cycle_of_parts() -> None:
    graph: dict[str, set[str]] = {}
    for importer, imported in part_imports():
        graph.setdefault(importer, set()).add(imported)
    tuple(TopologicalSorter(graph).static_order())


BELOW = {"swarm": {"docker"}}
"""Runtimes that a runtime stands on; the others never see each other."""


def test_runtimes_see_only_those_that_they_stand_on() -> None:
    for path in (PACKAGE / "runtimes").rglob("*/*.py"):
        own = path.relative_to(PACKAGE / "runtimes").parts[0]
        seen = {name.split(".")[2] for name in imports(path) if name.startswith(f"{RUNTIMES}.")}
        assert seen <= {own} | BELOW.get(own, set()), path


def test_the_analysis_imports_nothing_of_the_emulator() -> None:
    for path in (ROOT / "analysis").rglob("*.py"):
        assert not any(name.split(".")[0] == "emulator" for name in imports(path)), path


def test_the_analysis_imports_itself_by_relative_names_only() -> None:
    """A wheel carries the package as `emulator.analysis`: there, `analysis` is no module."""
    absolute = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "analysis").rglob("*.py")
        for node in ast.walk(tree(path))
        for name in _absolute(node)
        if name.split(".")[0] == "analysis"
    }
    assert absolute == set()


def test_the_facts_of_a_run_are_read_below_what_shows_them() -> None:
    """A figure, a table and a page take the same fact, which is in none of them."""
    shows = {f"analysis.{folder}" for folder in ("figures", "tables", "pages", "papers")}
    upwards = {
        f"{module_name(path)} imports {name}"
        for folder in ("reading", "facts")
        for path in (ROOT / "analysis" / folder).glob("*.py")
        for name in imports(path)
        if ".".join(name.split(".")[:2]) in shows
    }
    assert upwards == set()


def _absolute(node: ast.AST) -> list[str]:
    """Return the modules that `node` imports by their absolute names."""
    match node:
        case ast.Import(names=names):
            return [name.name for name in names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module]
    return []


def test_libraries_stay_in_their_place() -> None:
    astray = {
        f"{place} imports {library}"
        for path in FILES
        for library in {module.split(".")[0] for module in imports(path)} & ONLY_IN.keys()
        if not _is_in(place := path.relative_to(PACKAGE).as_posix(), ONLY_IN[library])
    }
    assert astray == set()


def _is_in(place: str, rooms: set[str]) -> bool:
    return any(place == room or place.startswith(f"{room}/") for room in rooms)


# -- names ---------------------------------------------------------------------------------------


FAMILIES = {
    *("aggregation", "codecs", "modulation", "optimizers", "pulls", "schedules"),
    *("synchronization", "world/faults"),
}
"""Folders of plugins, one file each: there may be any number of these."""
MARKERS = {"__pycache__", "__init__.py", "__main__.py", "py.typed"}


def test_the_root_has_at_most_24_entries_beside_the_families_of_plugins() -> None:
    assert len(_entries(PACKAGE) - FAMILIES) <= 24


def test_the_tests_have_at_most_24_entries_beside_the_folders_of_the_packages() -> None:
    assert len(_entries(ROOT / "tests") - _entries(PACKAGE)) <= 24


def _entries(root: Path) -> set[str]:
    """Return the entries of `root` that are modules or hold some; no folder of caches alone."""
    return {path.relative_to(root).parts[0] for path in root.rglob("*.py")} - MARKERS


def test_every_folder_has_at_most_20_entries() -> None:
    """So a reader sees all rooms of a floor at once, and finds the right one by its name."""
    full = {}
    for root in (PACKAGE, ROOT / "analysis", ROOT / "tests"):
        for folder in root.rglob("*/"):
            entries = {path.name for path in folder.iterdir()} - MARKERS
            named = folder.relative_to(root if root == PACKAGE else ROOT).as_posix()
            if len(entries) > 20 and named not in FAMILIES and "__pycache__" not in folder.parts:
                full[named] = len(entries)
    assert full == {}


def test_no_function_takes_over_8_parameters() -> None:
    """Values that travel together are a dataclass, such as `Plan` or `RunFacts`."""
    wide = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in (*FILES, *(ROOT / "analysis").rglob("*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if len(_parameters(node)) > 8
    }
    assert wide == set()


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    arguments = function.args
    names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [name.arg for name in names if name.arg not in ("self", "cls")]


def test_no_two_modules_share_a_name() -> None:
    names = Counter(path.name for path in FILES)
    for several in ("__init__.py", "__main__.py", "base.py"):
        names.pop(several, None)
    assert {name for name, times in names.items() if times > 1} == set()


def test_no_two_public_classes_share_a_name() -> None:
    homes: dict[str, list[Path]] = {}
    for path in FILES:
        for node in _top_level(tree(path).body):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path)
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_no_module_binds_a_name_twice() -> None:
    """A second constant of a name would take the place of the first, also in code above it."""
    twice = {}
    for path in FILES:
        names = Counter(name for node in tree(path).body for name in _bound(node))
        if several := {name for name, times in names.items() if times > 1}:
            twice[module_name(path)] = several
    assert twice == {}


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds, imports aside."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = (each for target in targets for each in ast.walk(target))
        yield from (each.id for each in names if isinstance(each, ast.Name) and each.id != "_")


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, with those in an `if`, but not within `else`."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _top_level(node.body)


@pytest.mark.slow
def test_no_test_imports_another_test() -> None:
    """What tests share is a module with a subject of its own, beside its users or in tests/fakes.

    A test that imports another fails with it, and names of one subject are found in another.
    """
    borrowed = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "tests").rglob("*.py")
        for name in _imported(tree(path), path)
        if any(part.startswith("test_") for part in name.split("."))
    }
    assert borrowed == set()


@pytest.mark.parametrize(
    "code",
    [
        "from tests.codecs.LAWS import TABLE",
        "from .LAWS import TABLE",
        "from . import LAWS",
        "from tests.codecs import LAWS",
        "import tests.codecs.LAWS as laws",
        "def late():\n    from ..codecs.LAWS import TABLE",
        "CHILD = 'from tests.codecs.LAWS import TABLE'",
    ],
)
def test_that_an_import_of_a_test_is_seen(code: str) -> None:
    place = ROOT / "tests" / "codecs" / "test_details.py"
    names = _imported(ast.parse(code.replace("LAWS", "test_laws")), place)
    assert any(name.startswith("tests.codecs.test_laws") for name in names)


def _imported(module: ast.Module, path: Path) -> Iterator[str]:
    """Yield the absolute names that `module`, read from `path`, imports, and its programs do.

    A program is a text with imports, which a test gives to a process of its own.
    """
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=name, names=names, level=level):
                above = package[: len(package) - level + 1] if level else ()
                origin = [*above, *([name] if name else [])]
                yield from (".".join([*origin, each.name]) for each in names)
            case ast.Constant(value=str(text)) if "import " in text:
                with suppress(SyntaxError):
                    yield from _imported(ast.parse(text), path)


# -- habits --------------------------------------------------------------------------------------


def test_every_random_generator_has_a_seed() -> None:
    """A run cannot be repeated with an unseeded generator, nor with a library's global one.

    Every seed is a name from `emulator.chance`, by a call or through a variable.
    """
    # a fork server gives the global generator of NumPy to each fork as a new process would have it
    apart = "node/forking/fork_server.py"
    files = [path for path in FILES if part(path) != "chance" and not path.match(apart)]
    assert [place for path in files for place in _strange_generators(tree(path), path)] == []


@pytest.mark.parametrize(
    "code",
    [
        "Random()",
        "random.Random(f'{seed}/x')",
        "stream(f'{seed}/x')",
        "chance.stream(name=f'{seed}/x')",
        "chance.stream(str(seed) + '/x')",
        "chance.stream('{}/x'.format(seed))",
        "name = f'{seed}/x'; Random(name)",
        "np.random.default_rng(7)",
        "from numpy.random import default_rng",
        "from random import shuffle",
        "import random",
    ],
)
def test_that_a_generator_without_a_name_of_ours_is_seen(code: str) -> None:
    assert list(_strange_generators(ast.parse(code), Path("made-up.py")))


def _strange_generators(module: ast.Module, path: Path) -> Iterator[str]:
    """Yield the places in `module`, read from `path`, with a generator that is not ours."""
    spelt = {
        target.id
        for node in ast.walk(module)
        if isinstance(node, ast.Assign)
        if isinstance(node.value, ast.JoinedStr | ast.BinOp | ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        place = f"{path}:{getattr(node, 'lineno', 0)}"
        match node:
            case ast.Attribute(attr=name) if ast.unparse(node.value) == "np.random":
                if name != "Generator":
                    yield f"{place}: np.random.{name}"
            case ast.Import(names=names) if {"random", "numpy.random"} & {n.name for n in names}:
                yield f"{place}: a whole library of generators"
            case ast.ImportFrom(module="random" | "numpy.random", names=names):
                if {name.name for name in names} - {"Random", "Generator"}:
                    yield f"{place}: a global generator"
            case ast.Call(args=args, keywords=words) if _makes_a_generator(node):
                seeds = [*args, *(word.value for word in words)]
                if not seeds or not all(_may_be_ours(seed, spelt) for seed in seeds):
                    yield f"{place}: a name that is not from emulator.chance"


def _makes_a_generator(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("Random", "random.Random", "stream", "chance.stream")


def _may_be_ours(seed: ast.expr, spelt: set[str]) -> bool:
    """Return whether `seed` is from `emulator.chance`, or a variable that is not in `spelt`."""
    match seed:
        case ast.Call(func=ast.Attribute(value=ast.Name("chance"))):
            return True
        case ast.Name(name):
            return name not in spelt
    return isinstance(seed, ast.Attribute)


def test_consoles_print_names_and_values_as_they_are() -> None:
    """`output.console` makes the only console, which reads no markup in them."""
    for path in (PACKAGE / "cli").rglob("*.py"):
        assert path.name == "output.py" or not re.search(r"\bConsole\(", path.read_text()), path


# -- files in any locale -------------------------------------------------------------------------

_TEXT = {"read_text", "write_text"}
_OPENED = {"open", "fdopen", "NamedTemporaryFile", "TemporaryFile", "TextIOWrapper"}


def _is_text(call: ast.Call) -> bool:
    """Return whether `call` reads or writes text: from a file, or from a process."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if name in _TEXT:
        return isinstance(call.func, ast.Attribute)
    if name in ("run", "Popen", "check_output") and {"text", "universal_newlines"} & set(keywords):
        return True
    if name not in _OPENED or ast.unparse(call.func) in ("os.open", "tarfile.open", "Image.open"):
        return False
    texts = [*call.args, *keywords.values()]
    modes = [each.value for each in texts if isinstance(each, ast.Constant)]
    modes = [mode for mode in modes if isinstance(mode, str) and re.fullmatch("[rwxabt+]+", mode)]
    builtin = isinstance(call.func, ast.Name) or name == "fdopen"
    return any("b" not in mode for mode in modes) or (builtin and name == "open" and not modes)


def test_text_is_utf_8_in_every_locale() -> None:
    """A file written under one locale is read under another, on another machine."""
    unnamed = {
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in (*FILES, *(ROOT / "analysis").rglob("*.py"))
        for call in ast.walk(tree(path))
        if isinstance(call, ast.Call) and _is_text(call)
        if not any(keyword.arg == "encoding" for keyword in call.keywords)
    }
    assert unnamed == set()


@pytest.mark.slow
def test_no_package_imports_a_module_that_is_a_program_of_its_own() -> None:
    """Such a module would be there twice, and Python warns of it in each process."""
    programs = {
        found
        for path in FILES
        for text in [path.read_text(encoding="utf-8")]
        for found in re.findall(r'"-m",\s*"(emulator[\w.]*)"', text)
        if not (ROOT / found.replace(".", "/") / "__main__.py").is_file()
    }
    assert len(programs) > 5
    for program in sorted(programs):
        package = program.rpartition(".")[0]
        code = f"import sys, {package}; sys.exit({program!r} in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0, program
