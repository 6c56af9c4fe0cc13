"""The main path of `emulate run`: few calls to a container, one compilation of the timeline."""

import traceback
from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import emulator
from emulator.errors import DeploymentError
from emulator.runtimes.docker import container_runtime, launching, play_containers, start_waves
from emulator.runtimes.docker.configs.container_settings import Means
from emulator.runtimes.docker.engine.cleanup import Removed
from emulator.shaping.backend import Backend
from tests.fakes.typed_commands import Emulate, scenario
from tests.runtimes.docker.engine.engine_answers import unlike

HOPS = 7
"""Calls from the command's function to the one that starts a container."""

PACKAGE = str(Path(emulator.__file__).parent)


def path_here() -> list[str]:
    """Return the functions of the package that are being called, from the command's on."""
    own = [frame for frame in traceback.extract_stack() if frame.filename.startswith(PACKAGE)]
    names = [f"{Path(frame.filename).stem}.{frame.name}" for frame in own]
    return names[names.index("run.run") :]


class Inline:
    """An executor that calls in the thread of its caller, whose stack shows the whole path."""

    def __init__(self, workers: int) -> None: ...

    def __enter__(self) -> "Inline":
        return self

    def __exit__(self, *error: object) -> None: ...

    def shutdown(self, cancel_futures: bool = False) -> None: ...

    def submit(self, call: Callable[..., Any], *args: Any, **options: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(call(*args, **options))
        except Exception as error:
            future.set_exception(error)
        return future


class Engine:
    """Creates nothing, and keeps the path to each start; the evaluator's start ends the run."""

    def __init__(self) -> None:
        self.paths: dict[str, list[str]] = {}
        self.networks = self.containers = SimpleNamespace(create=self.create)

    def version(self) -> dict[str, str]:
        return {"Version": "28"}

    def info(self) -> dict[str, int]:
        return {"NCPU": 2}

    def create(self, **options: Any) -> Any:
        name = options["name"].removesuffix("-wan")
        net = {f"{name.removesuffix('-server')}-wan": {"IPAddress": "10.0.0.2"}}

        def start() -> None:
            self.paths[options["hostname"]] = path_here()
            if options["hostname"] == "evaluator":
                raise DeploymentError("all have been started")

        ranges = {"Config": [{"Subnet": "10.0.0.0/24"}]}
        attrs = {"NetworkSettings": {"Networks": net}, "IPAM": ranges}
        return SimpleNamespace(id="1", attrs=attrs, reload=lambda: None, start=start)


def test_the_engine_of_paths_answers_as_the_engine_does() -> None:
    engine = Engine()
    assert unlike(engine, "version", "info") == []
    assert unlike(engine.create(name="emulate-1-server", hostname="server"), "id", "attrs") == []


class Silence:
    """The standard input and output of containers that say nothing."""

    def open(self, *anything: object) -> None: ...

    def listen(self, node: str) -> None: ...

    def close(self) -> None: ...

    def tell(self, node: str, order: object) -> bool:
        return False

    def read(self, timeout: float) -> list[Any]:
        return []


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engine:
    """The Docker engine that `emulate run` finds."""
    made, image = Engine(), play_containers.node_image.NodeImage("1", {})
    monkeypatch.setattr(play_containers, "connect", lambda: made)
    monkeypatch.setattr(play_containers.node_image, "require", lambda client: image)
    monkeypatch.setattr(play_containers, "remove_dead", lambda *anything: None)
    monkeypatch.setattr(play_containers, "means_for", lambda *anything, **more: Means(Backend(), 9))
    monkeypatch.setattr(play_containers, "no_forks", lambda *anything: "")
    monkeypatch.setattr(play_containers, "ready", lambda model, seed: tmp_path)
    monkeypatch.setattr(container_runtime, "Stdio", Silence)
    monkeypatch.setattr(play_containers, "clean_up_late", lambda *anything: ())
    monkeypatch.setattr(container_runtime, "clean_up_hosts", lambda *anything: Removed())
    for module in (launching, start_waves):
        monkeypatch.setattr(module, "ThreadPoolExecutor", Inline)
    return made


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the scenarios whose timeline has been compiled."""
    names: list[str] = []
    module = import_module("emulator.scenario.timeline.compiled")
    outages = module.outages

    def counted(scenario: Any) -> Any:
        names.append(scenario.name)
        return outages(scenario)

    monkeypatch.setattr(module, "outages", counted)
    return names


def test_few_calls_lead_to_a_container_and_the_timeline_is_compiled_once(
    emulate: Emulate, tmp_path: Path, data: None, engine: Engine, compiled: list[str]
) -> None:
    result = emulate("run", scenario(tmp_path))
    assert "all have been started" in result.err
    assert engine.paths.keys() == {
        "forks",
        "server",
        "near-0",
        "near-1",
        "near-2",
        "far",
        "evaluator",
    }
    assert engine.paths["server"] == [
        "run.run",
        "run.watched",
        "play_containers.play",
        "conductor.run",
        "container_runtime.deploy",
        "container_runtime._start_servers",
        "launching.finish",
        "launching.start",
    ]
    assert all(len(path) - 1 <= HOPS for path in engine.paths.values())
    assert compiled == ["pair"]
    (planned,) = Path("runs").glob("pair/*-*/timeline.jsonl")
    assert planned.read_text().count("\n") == 1


def test_the_timeline_of_a_virtual_run_is_compiled_once(
    emulate: Emulate, tmp_path: Path, compiled: list[str]
) -> None:
    laws = "virtual={learner: none, step: 10ms, boot: 10ms}"
    result = emulate(
        *("run", scenario(tmp_path), "--on", "virtual", "--set", laws, "--no-report"),
    )
    assert result.code == 0, result.err
    assert compiled == ["pair"]
