"""`emulate clean`, and the cleaning before a run: what is dead goes, what may live is spared."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError
from requests import Response

from emulator.machine import lock
from emulator.runs.folder import RunFolder
from emulator.runtimes.docker.engine.cleanup import clean_up
from tests.fakes.typed_commands import Emulate
from tests.runtimes.docker.engine.engine_answers import unlike


class Engine:
    """An engine that holds a network and labelled containers of some runs."""

    def __init__(self, *owners: dict[str, str], state: str = "running") -> None:
        self.api = self
        self.containers_ = [
            {"Id": f"{item['emulate.run']}-{number}", "Labels": item, "State": state, "Names": []}
            for item in owners
            for number in range(2)
        ]
        self.networks_ = [{"Id": item["emulate.run"], "Labels": item} for item in owners]
        self.removed: list[str] = []
        self.attached: dict[str, str] = {}
        """Networks to which somebody else's container is attached."""

    def info(self) -> dict[str, Any]:
        return {}

    def containers(self, all: bool, filters: dict[str, str]) -> list[Any]:
        return self._of(self.containers_, filters)

    def networks(self, filters: dict[str, str]) -> list[Any]:
        return self._of(self.networks_, filters)

    def volumes(self, filters: dict[str, str]) -> dict[str, list[Any]]:
        return {"Volumes": []}

    def _of(self, things: list[Any], filters: dict[str, str]) -> list[Any]:
        run = filters["label"].partition("=")[2]
        return [item for item in things if run in ("", item["Labels"]["emulate.run"])]

    def remove_container(self, name: str, **options: object) -> None:
        self.containers_ = [item for item in self.containers_ if item["Id"] != name]

    def remove_network(self, name: str) -> None:
        if name in self.attached:
            refused = Response()
            refused.status_code = 403
            raise APIError("refused", response=refused, explanation="it has active endpoints")
        self.networks_ = [item for item in self.networks_ if item["Id"] != name]
        self.removed.append(name)

    def inspect_network(self, name: str) -> Any:
        stranger = self.attached[name]
        return {"Containers": {"1": {"Name": stranger}} if stranger else {}}


def test_the_engine_of_runs_answers_as_the_engine_does(tmp_path: Path) -> None:
    engine = Engine(marks("dead01", tmp_path, tmp_path / "dead01.lock"))
    engine.attached["dead01"] = "stranger"
    assert unlike(engine, "containers", "networks", "volumes") == []
    assert unlike(engine, "inspect_network", name="dead01") == []


def marks(run: str, folder: Path | None, lock: Path) -> dict[str, str]:
    made = {"emulate.folder": str(folder)} if folder else {}
    return {"emulate.run": run, "emulate.lock": str(lock), **made}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Of a dead run, of three that are being played, and of one of which nothing is known."""
    from emulator.runtimes.docker.engine import client

    for name in ("dead01", "here01"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scenario.yaml").touch()
    (tmp_path / "dead01.lock").write_text("1")
    engine = Engine(
        marks("dead01", tmp_path / "dead01", tmp_path / "dead01.lock"),
        marks("here01", tmp_path / "here01", tmp_path / "nowhere"),
        marks("moved1", tmp_path / "moved1", tmp_path / "moved1.lock"),
        marks("begin1", None, tmp_path / "begin1.lock"),
        marks("other1", tmp_path / "other1", tmp_path / "other1.lock"),
    )
    monkeypatch.setattr(client, "connect", lambda: engine)
    with (
        RunFolder(tmp_path / "here01", "here01").taken(),
        lock.held(tmp_path / "moved1.lock"),
        lock.held(tmp_path / "begin1.lock"),
    ):
        yield engine


ALL = ["dead01", "here01", "moved1", "begin1", "other1"]


@pytest.mark.parametrize(
    "words, removed",
    [
        ((), ["dead01"]),
        (("--force",), ALL),
        (("--run", "dead01"), ["dead01"]),
        (("--run", "moved1"), []),
        (("--run", "unheard"), []),
    ],
)
def test_living_runs_are_spared(
    emulate: Emulate, engine: Engine, tmp_path: Path, words: tuple[str, ...], removed: list[str]
) -> None:
    result = emulate("clean", "--json", *words)
    assert result.code == 0
    assert engine.removed == removed
    assert result.json["containers"] == 2 * len(removed)
    assert result.json["networks"] == len(removed)
    named = [run for run in ALL if words[-1:] in ((), (run,))]
    assert result.json["spared"] == [run for run in named if run not in removed]
    assert (tmp_path / "dead01.lock").exists() == ("dead01" not in removed)


def test_a_run_of_which_the_engine_has_nothing_is_named(emulate: Emulate, engine: Engine) -> None:
    said = emulate("clean", "--run", "deed01")
    assert said.code == 0 and not engine.removed
    assert said.out.startswith("the engine has nothing of a run deed01: `emulate list` names runs")
    assert "nothing" not in emulate("clean", "--run", "dead01").out


def test_what_is_spared_can_be_ended_from_here(
    emulate: Emulate, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a folder that has no runs."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    lines = emulate("clean").out.splitlines()
    assert lines == [
        "removed 2 containers, 1 networks, 0 volumes",
        f"left alone: run here01 is being played; `emulate stop {tmp_path}/here01` ends it",
        "left alone: run moved1 is being played, in a folder that was moved from "
        f"{tmp_path}/moved1: `emulate stop` ends it, given the folder's new place",
        f"left alone: run begin1 is just starting (process {os.getpid()})",
        "left alone: run other1 may be alive, as its lock cannot be seen from here "
        f"({tmp_path}/other1.lock): end the run as the user and on the machine that started it; "
        "`emulate clean --run other1 --force` removes it all the same",
    ]


@pytest.mark.parametrize("state", ["running", "created", "exited", "none"])
@pytest.mark.parametrize("folder", [True, False], ids=["a folder", "a probe"])
@pytest.mark.parametrize("unseen", ["elsewhere", "forbidden"])
def test_a_run_whose_lock_cannot_be_seen_is_not_dead(
    emulate: Emulate,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    state: str,
    folder: bool,
    unseen: str,
) -> None:
    """Of another user, or of another host that shares the engine; it may just be starting."""
    from emulator.runtimes.docker.engine import client, owners

    def refuse(path: Path) -> None:
        raise PermissionError(path)

    if unseen == "forbidden":
        monkeypatch.setattr(owners.lock, "holder", refuse)
    path = tmp_path / "theirs" if folder else None
    engine = Engine(marks("theirs", path, tmp_path / "nowhere"), state=state)
    if state == "none":
        engine.containers_ = []
    monkeypatch.setattr(client, "connect", lambda: engine)
    (owner,) = owners.owners(engine)
    assert not owner.dead
    assert emulate("clean", "--json").json["spared"] == ["theirs"] and engine.removed == []
    assert emulate("clean", "--run", "theirs", "--force").code == 0
    assert engine.removed == ["theirs"]


def test_the_secrets_of_a_dead_run_go_with_its_containers(
    emulate: Emulate, engine: Engine, tmp_path: Path
) -> None:
    for run in ("dead01", "here01"):
        (tmp_path / run / ".work").mkdir()
    emulate("clean")
    assert not (tmp_path / "dead01/.work").exists() and (tmp_path / "here01/.work").exists()


def test_a_new_run_removes_what_is_dead_for_certain(engine: Engine) -> None:
    from emulator.runtimes.docker.engine.owners import remove_dead

    result: list[str] = []
    engine.containers_ = []  # without any that runs nothing but its lock protects a run
    remove_dead(engine, result.append)
    assert result == ["removing what dead runs have left: dead01"]
    assert engine.removed == ["dead01"]
    remove_dead(engine, result.append)
    assert len(result) == 1


def test_a_run_that_ended_with_something_left_is_dead(tmp_path: Path) -> None:
    """The run has released the locks; the folder stands where the run made it."""
    from emulator.runtimes.docker.engine.owners import owners

    (tmp_path / "ended1").mkdir()
    engine = Engine(marks("ended1", tmp_path / "ended1", tmp_path / "ended1.lock"))
    (owner,) = owners(engine)
    assert owner.dead


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_network_that_somebody_else_uses_stays_and_the_rest_goes(
    emulate: Emulate, engine: Engine, tmp_path: Path, words: tuple[str, ...]
) -> None:
    engine.attached = {"dead01": "stranger"}
    result = emulate("clean", "--force", *words)
    assert result.code == 1
    assert engine.removed == ALL[1:]
    why = "these containers of somebody else's are attached: stranger: remove them, then `emulate"
    assert why in (result.json["left"][0] if words else result.err)
    engine.attached = {"dead01": ""}
    why = "the engine still counts a container in it that is gone: once the engine was restarted"
    result = emulate("clean", "--force", *words)
    assert why in (result.json["left"][0] if words else result.err)
    assert (tmp_path / "dead01.lock").exists()
    engine.attached = {}
    assert emulate("clean", *words).code == 0
    assert engine.removed == [*ALL[1:], "dead01"]


def test_an_engine_that_fails_while_a_run_is_tidied_up() -> None:
    class Broken:
        def __init__(self) -> None:
            self.api = self

        def containers(self, **about: object) -> None:
            raise APIError("the engine is going down")

    (why,) = clean_up(Broken(), "abc123").left  # type: ignore[arg-type]
    assert "run abc123" in why and "the engine is going down" in why
