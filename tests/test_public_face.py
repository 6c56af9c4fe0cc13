"""The names that `import emulator` offers, and what a wheel puts into site-packages."""

import json
import os
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import emulator
from emulator.cli.read.analysis_package import analysis
from emulator.errors import EmulatorError
from emulator.machine.shipped_files import study_files
from emulator.runtimes.docker.images import node_image
from emulator.sweeps.studies import STUDIES
from tests.fakes.virtual_world import SCENARIO, digits
from tests.layers import ROOT


def test_the_public_names_are_there() -> None:
    assert emulator.__all__ == sorted(emulator.__all__)
    functions = {"load", "read_run", "run", "sweep"}
    assert set(emulator.__all__) == functions | {"Run", "Scenario", "Sweep", "analysis"}
    assert all(callable(getattr(emulator, name)) for name in functions)
    assert emulator.analysis.load
    with pytest.raises(AttributeError, match="has no attribute 'rnu'"):
        emulator.rnu  # noqa: B018


_LOADED = "import json, sys, emulator; print(json.dumps(sorted(sys.modules)))"


def test_importing_the_package_imports_no_library() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, cwd=ROOT)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert {"numpy", "pydantic", "click", "pandas", "msgspec"} & loaded == set()


def test_type_checkers_read_the_annotations() -> None:
    """They skip a package without this marker (PEP 561)."""
    assert (ROOT / "emulator" / "py.typed").is_file()


def test_a_scenario_is_loaded_played_and_read(tmp_path: Path) -> None:
    file = tmp_path / "world.yaml"
    file.write_text(SCENARIO)
    scenario = emulator.load(file, ["stop.updates=20"])
    assert isinstance(scenario, emulator.Scenario)
    steps: list[str] = []
    with digits():
        folder = emulator.run(scenario, on="virtual", runs=tmp_path / "runs", progress=steps.append)
    run = emulator.read_run(folder)
    assert run.summary["outcome"] == "success"
    assert len(run.records("update")) == 20
    assert steps[0] == "data"


@pytest.fixture
def scenario(tmp_path: Path) -> emulator.Scenario:
    file = tmp_path / "world.yaml"
    file.write_text(SCENARIO)
    return emulator.load(file)


def test_a_runtime_without_a_name_of_ours_is_refused(scenario: emulator.Scenario) -> None:
    with pytest.raises(ValueError, match="on='vitrual' is not 'docker' or 'virtual'"):
        emulator.run(scenario, on="vitrual")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shaping='netem' is for containers"):
        emulator.run(scenario, on="virtual", shaping="netem")
    with pytest.raises(ValueError, match="'packet' is not 'netem' or 'packets' or 'receiver'"):
        emulator.run(scenario, shaping="packet")  # type: ignore[arg-type]


def test_overrides_are_a_list() -> None:
    """A text is a sequence of texts too, one for each of its characters."""
    with pytest.raises(TypeError, match=r"write \['seed=2'\]"):
        emulator.load("world.yaml", "seed=2")


def test_an_interruption_before_the_run_has_a_folder_is_an_ordinary_one(
    scenario: emulator.Scenario, tmp_path: Path
) -> None:
    def interrupt(step: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with digits(), pytest.raises(KeyboardInterrupt):
        emulator.run(scenario, on="virtual", runs=tmp_path / "runs", progress=interrupt)
    assert not (tmp_path / "runs").exists()


def test_a_folder_without_a_run_is_refused_by_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(EmulatorError, match="not a run's folder"):
        emulator.read_run(tmp_path)


def foreign_analysis(tmp_path: Path) -> Path:
    """Write another package called `analysis`, which cannot be imported; return its folder."""
    package = tmp_path / "foreign" / "analysis"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('another package was imported')")
    return package.parent


@pytest.fixture
def without_analysis(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has not imported the analysis yet; what it imports is forgotten."""
    names = ("analysis", "emulator.analysis")
    for name in [name for name in sys.modules if name.startswith((*names, "analysis."))]:
        monkeypatch.delitem(sys.modules, name)
    yield
    for name in [name for name in sys.modules if name.startswith(names)]:
        del sys.modules[name]
    vars(emulator).pop("analysis", None)


@pytest.mark.usefixtures("without_analysis")
@pytest.mark.parametrize("imported", [False, True])
def test_the_analysis_is_ours_where_the_name_is_another_packages(
    imported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(foreign_analysis(tmp_path))
    if imported:
        monkeypatch.setitem(sys.modules, "analysis", ModuleType("analysis"))
    for name, file in (("", "__init__.py"), ("", "__init__.py"), ("errors", "errors.py")):
        assert analysis(name).__file__ == str(ROOT / "analysis" / file)
    assert analysis().RunError is analysis("errors").RunError


def _scenarios() -> set[str]:
    """Return the files of all studies, and of the scenarios on which they are based."""
    bases = {entry.scenario.resolve() for study in STUDIES.values() for entry in study.entries}
    files = {*bases, *study_files().values()}
    return {str(file.relative_to(ROOT / "scenarios")) for file in files}


def test_a_wheel_carries_the_studies_and_their_scenarios() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    carried = wheel["targets"]["wheel"]["force-include"]
    for scenario in _scenarios():
        first, *rest = Path(scenario).parts
        assert carried[f"scenarios/{first}"] == f"emulator/scenarios/{first}"
        assert bool(rest) == (ROOT / "scenarios" / first).is_dir()


@pytest.mark.slow
def test_a_wheel_brings_one_name_and_draws_reports(tmp_path: Path) -> None:
    """`analysis` is anybody's name in site-packages, so the wheel keeps ours within `emulator`.

    Another package of this name comes first; without it, a checkout that is installed for the tests
    would lend its own.
    """
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*wheel, str(ROOT)], check=True, capture_output=True)
    (built,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(site)
    names = {path.name for path in site.iterdir() if path.suffix != ".dist-info"}
    assert names == {"emulator"}
    assert (site / "emulator" / "profiles" / "links").is_dir()
    assert node_image.digest(site / "emulator") == node_image.digest(ROOT / "emulator")
    folder = site / "emulator" / "scenarios"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.yaml")} >= _scenarios()
    made = "from tests.fakes.runs.synthetic_run import main; main()"
    subprocess.run([sys.executable, "-c", made, str(tmp_path / "run")], check=True, cwd=ROOT)
    places = [str(foreign_analysis(tmp_path)), str(site)]
    code = f"import sys; sys.path[:0] = {places}; from emulator.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, "report", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").is_file()


def test_the_wheel_is_built_by_a_backend_that_the_tests_have() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["build-system"]["requires"] == ["hatchling"]
    dev = project["project"]["optional-dependencies"]["dev"]
    assert any(line.startswith("hatchling") for line in dev)
