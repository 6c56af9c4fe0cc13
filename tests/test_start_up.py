"""A container's image holds all that its roles import; commands and supervisors load little."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.layers import ROOT, imports, module_file

DEVICE_IMAGE = {"emulator", "numpy", "zmq", "msgspec"}
"""Packages that the image has beside the standard library."""


def _reached(*starts: str) -> Iterator[str]:
    """Yield every module of ours that the modules `starts` import, at once or later."""
    pending, seen = list(starts), set()
    while pending:
        module = pending.pop()
        if module in seen or (file := module_file(module)) is None:
            continue
        seen.add(module)
        pending += [name for name in imports(file) if name.startswith("emulator")]
        yield module


def _python(code: str, *arguments: str) -> str:
    """Run `code` in another interpreter; return its output."""
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


@pytest.mark.slow
def test_the_image_has_all_that_its_roles_import() -> None:
    starts = ("emulator.node.supervisor", "emulator.node.part.role", "emulator.shaping.probe")
    modules = sorted(_reached(*starts))
    assert {
        "emulator.node.part.server_role",
        "emulator.learning.learners.graph",
        "emulator.core.worker.worker",
    } <= {*modules}
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


@pytest.mark.slow
def test_the_supervisor_is_light() -> None:
    """It stays in the memory of every device beside its worker."""
    loaded = json.loads(_python(_LOADED, "emulator.node.supervisor"))
    assert {"numpy", "zmq", "asyncio", "ssl"} & set(loaded) == set()


def test_a_command_is_quick_to_answer() -> None:
    """A typing error is answered before pandas could be loaded."""
    loaded = json.loads(_python(_LOADED, "emulator.cli"))
    assert {"numpy", "pandas", "matplotlib", "tensorflow", "docker", "pydantic"} & set(
        loaded
    ) == set()


_MODULES = """
import json, sys
exec(sys.argv[1])
print(json.dumps(sorted(sys.modules)))
"""


def _loaded_by(code: str) -> set[str]:
    """Return the names of the modules that an interpreter has loaded after it ran `code`."""
    return set(json.loads(_python(_MODULES, code)))


def test_the_list_of_commands_needs_no_part_that_plays_or_reads_runs() -> None:
    """`emulate --help` answers in a tenth of a second, and shell completion as soon."""
    loaded = _loaded_by("import emulator.cli.entry")
    own = {name.split(".")[1] for name in loaded if name.startswith("emulator.")}
    assert own <= {"cli", "errors", "machine", "runs", "shaping"}
    assert {"emulator.runs.results", "emulator.shaping.backend"} & loaded == set()
    libraries = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names
    assert libraries & {"msgspec", "rich", "yaml", "zmq"} == set()
    slow = {"importlib.metadata", "secrets", "hashlib", "tempfile", "subprocess", "asyncio"}
    assert slow & loaded == set()


def test_the_names_of_studies_are_completed_without_reading_the_studies() -> None:
    code = "from emulator.cli.prepare.completed_words import study_names as names; {}"
    loaded = _loaded_by(code.format("assert 'pulls' in [w.value for w in names(None, None, '')]"))
    assert not any(name.startswith(("emulator.sweeps", "emulator.scenario")) for name in loaded)
