"""`emulate resume`: each option reaches what goes on with the run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import HostError
from emulator.runs.folder import RunFolder
from emulator.runs.resumption import DeadRun
from tests.fakes.small_scenario import small
from tests.fakes.typed_commands import Emulate

Asked = list[dict[str, Any]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Asked]:
    """Let a run of this runtime be dead; what its resumption is asked for."""

    def of(runtime: str) -> Asked:
        dead = DeadRun(RunFolder(tmp_path, "abc"), runtime, small(), ())
        found: Asked = []

        @contextmanager
        def resuming(folder: Path) -> Iterator[DeadRun]:
            assert folder == tmp_path / "found"
            yield dead

        def resume(run: DeadRun, view: object, **options: Any) -> None:
            assert run is dead
            found.append(options)
            raise HostError("not here")

        def find(run: str, runs: Path) -> Path:
            assert (run, runs) == ("pair", Path("elsewhere"))
            return tmp_path / "found"

        monkeypatch.setattr("emulator.runs.folder.find", find)
        monkeypatch.setattr("emulator.runs.resumption.resuming", resuming)
        for player in ("docker.resume_containers", "virtual.play_virtual"):
            monkeypatch.setattr(f"emulator.runtimes.{player}.resume", resume)
        return found

    return of


COMMAND = ("resume", "pair", "--runs", "elsewhere")


def test_the_means_of_shaping_reach_the_containers(
    emulate: Emulate, asked: Callable[[str], Asked]
) -> None:
    found = asked("docker")
    for options in (("--shaping", "packets"), ("--shaping", "receiver"), ()):
        assert emulate(*COMMAND, *options).err == "emulate: not here\n"
    assert found == [{"shaping": "packets"}, {"shaping": "receiver"}, {"shaping": None}]


def test_a_run_in_virtual_time_has_no_means_of_shaping(
    emulate: Emulate, asked: Callable[[str], Asked]
) -> None:
    found = asked("virtual")
    said = emulate(*COMMAND, "--shaping", "packets")
    assert said.code == 2 and "--shaping packets is for containers" in said.err
    assert found == []
    assert emulate(*COMMAND).err == "emulate: not here\n"
    assert found == [{}]
