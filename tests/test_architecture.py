"""Who may import whom, and what a device's memory and image may hold. The tables are the rule."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "emulator"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "units", "layout", "vectors", "plugins", "chance", "did_you_mean"),
    ("world", "faults", "log", "machine"),
    (
        *("models", "datasets", "learners", "codecs", "modulation", "optimizers", "pulls"),
        "synchronization",
    ),
    ("core",),
    ("scenario", "shaping", "transport"),
    ("node", "calibration", "runs"),
    ("runtimes",),
    ("sweep",),
    ("cli",),
)
"""A part imports parts of its own layer, in no cycle, and of the layers before it."""
ONLY_IN: dict[str, set[str]] = {  # module: parts, folders or files that may import it
    "zmq": {"transport"},
    "docker": {"runtimes/docker"},
    "requests": {"runtimes/docker"},
    "tensorflow": {"learners/tensorflow.py"},
    "ctypes": {"learners", "transport"},
    "pydantic": {"scenario"},
    "pydantic_core": {"scenario", "units.py"},  # a quantity says how it is read, when asked
    "yaml": {"scenario"},
    "rich": {"cli"},
    "click": {"cli", "datasets/__main__.py", "runtimes/docker/compose_file.py"},
    "analysis": {"cli"},
    "pandas": set(),
    "matplotlib": set(),
    "jinja2": set(),
    "msgspec": {"core", "node", "log", "transport"},
    "socket": {"runtimes", "transport/connection.py"},
    "threading": {
        *{"machine/host.py", "runtimes/virtual/learning/job_pool.py", "sweep/play_point.py"},
        "transport/watch.py",
    },
    "subprocess": {"calibration", "datasets", "learners", "node", "runtimes", "shaping", "sweep"},
    "time": {"calibration", "cli", "node", "runtimes", "sweep", "transport"},
    "datetime": {"calibration", "runs"},
    "random": {"faults", "world/laws.py", "runtimes/virtual", "scenario", "shaping", "transport"},
    "secrets": {"runs/folder.py", "transport"},
    "pickle": set(),
    "marshal": set(),
    "shelve": set(),
}
DEVICE_IMAGE = {"emulator", "numpy", "zmq", "msgspec"}
"""Packages that the image has beside the standard library."""

FILES = sorted(PACKAGE.rglob("*.py"))
BY_PATH = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that the file imports anywhere in it, ours and others', by its full name."""
    package = ["emulator", *path.relative_to(PACKAGE).parts[:-1]]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level]
            name = ".".join([*base, *filter(None, [node.module])])
            inner = {f"{name}.{alias.name}" for alias in node.names}
            modules = {one for one in inner if _file(one)}
            found |= modules or {name}
            if modules != inner and _file(name):
                found.add(name)
    return frozenset(found)


def _file(module: str) -> Path | None:
    """The file of one of our modules, if there is such a module."""
    place = ROOT.joinpath(*module.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


# -- who may import whom -------------------------------------------------------------------------


RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}


@BY_PATH
def test_imports_point_one_way(path: Path) -> None:
    ours = (name.split(".") for name in imports(path))
    parts = {names[1] for names in ours if names[0] == "emulator" and len(names) > 1}
    if part(path) not in ("__init__", "__main__"):
        assert {other for other in parts if RANK[other] > RANK[part(path)]} == set()


def test_every_part_has_a_layer() -> None:
    assert {part(path) for path in FILES} - {"__init__"} == RANK.keys()


def test_no_part_and_no_module_imports_itself_by_way_of_others() -> None:
    """Imports within functions count, too."""
    modules: dict[str, set[str]] = {}
    parts: dict[str, set[str]] = {}
    for path in FILES:
        name = ".".join(["emulator", *path.relative_to(PACKAGE).with_suffix("").parts])
        name = name.removesuffix(".__init__")
        ours = {found for found in imports(path) if found.startswith("emulator.")}
        modules[name] = ours - {name}
        others = {found.split(".")[1] for found in ours} - {part(path)}
        parts.setdefault(part(path), set()).update(others)
    for graph in (modules, parts):
        tuple(TopologicalSorter(graph).static_order())


def test_the_root_is_small_enough_to_read() -> None:
    entries = {path.name for path in PACKAGE.iterdir()} - {"__pycache__"}
    assert len(entries) <= 30


def test_a_module_is_found_by_its_name() -> None:
    """Two modules of one name are told apart by nobody who searches for one."""
    names = Counter(path.name for path in FILES)
    for several in ("__init__.py", "__main__.py", "base.py"):
        names.pop(several, None)
    assert {name for name, times in names.items() if times > 1} == set()


@BY_PATH
def test_what_has_a_place_stays_in_it(path: Path) -> None:
    place = path.relative_to(PACKAGE).as_posix()
    astray = {
        name
        for name in {module.split(".")[0] for module in imports(path)} & ONLY_IN.keys()
        if not any(place == only or place.startswith(f"{only}/") for only in ONLY_IN[name])
    }
    assert astray == set()


def test_a_class_is_found_by_its_name() -> None:
    homes: dict[str, list[Path]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path)
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_runtimes_never_see_each_other() -> None:
    for path in (PACKAGE / "runtimes").rglob("*/*.py"):
        own = f"emulator.runtimes.{path.relative_to(PACKAGE / 'runtimes').parts[0]}"
        others = {name for name in imports(path) if name.startswith("emulator.runtimes.")}
        assert all(name == own or name.startswith(f"{own}.") for name in others), path


@BY_PATH
def test_randomness_has_a_name(path: Path) -> None:
    """With a generator of no seed, or numpy's global one, nobody can repeat a run."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "andom" in text else ():
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np.random":
            assert node.attr == "Generator" or part(path) == "chance", f"line {node.lineno}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Random", "random.Random"):
            assert node.args, f"line {node.lineno}: unseeded"


@BY_PATH
def test_what_people_wrote_is_printed_as_it_is(path: Path) -> None:
    """`tables.console` makes the only console: it reads no markup in names and values."""
    if part(path) == "cli" and path.name != "tables.py":
        assert not re.search(r"\bConsole\(", path.read_text())


def test_the_analysis_knows_runs_and_nothing_of_us() -> None:
    for path in (ROOT / "analysis").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            assert not any(name.split(".")[0] == "emulator" for name in names), path


# -- what a container holds ----------------------------------------------------------------------


def _reached(*starts: str) -> Iterator[str]:
    """All our modules that these import, at once or later."""
    pending, seen = list(starts), set()
    while pending:
        module = pending.pop()
        if module in seen or (file := _file(module)) is None:
            continue
        seen.add(module)
        pending += [name for name in imports(file) if name.startswith("emulator")]
        yield module


def _python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


_BARE = """
import importlib, json, sys
allowed = set(json.loads(sys.argv[1])) | sys.stdlib_module_names

class NotInTheImage:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in allowed:
            raise ModuleNotFoundError(f"{name} is not in the device's image", name=name)

sys.meta_path.insert(0, NotInTheImage())
for module in sys.argv[2:]:
    importlib.import_module(module)
"""


def test_the_image_has_all_that_its_roles_import() -> None:
    starts = ("emulator.node.supervisor", "emulator.node.role", "emulator.shaping.probe")
    modules = sorted(_reached(*starts))
    assert {"emulator.node.server_role", "emulator.learners.graph", "emulator.core.worker"} <= {
        *modules
    }
    _python(_BARE, json.dumps(sorted(DEVICE_IMAGE)), *modules)


def test_the_image_installs_exactly_that() -> None:
    lines = (ROOT / "images" / "node" / "requirements.txt").read_text().splitlines()
    named = {line.split("==")[0] for line in lines if line and not line.startswith("#")}
    assert {name.replace("pyzmq", "zmq") for name in named} | {"emulator"} == DEVICE_IMAGE


_LOADED = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


def test_the_supervisor_is_light() -> None:
    """It stays in the memory of every device beside its worker."""
    loaded = json.loads(_python(_LOADED, "emulator.node.supervisor"))
    assert {"numpy", "zmq", "asyncio", "ssl"} & set(loaded) == set()


def test_a_command_is_quick_to_answer() -> None:
    """Nobody waits for pandas to be told of a typing error."""
    loaded = json.loads(_python(_LOADED, "emulator.cli"))
    assert {"pandas", "matplotlib", "tensorflow", "docker", "pydantic"} & set(loaded) == set()
