"""Virtual runs whose folder, disk or process ends before them."""

import os
import resource
import shutil
import signal
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from emulator.errors import HostError
from emulator.runtimes.virtual.fleet import Fleet
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import loads
from tests.fakes.plain_records import read
from tests.fakes.virtual_world import SCENARIO, Onlooker, digits

OVERLAPPING = SCENARIO.replace(
    "faults:",
    """faults:
  - {kind: crash, nodes: [adsl], at: 2s, lasts: 500ms}
  - {kind: crash, nodes: [adsl-1], at: 2.2s, lasts: 3s}
  - {kind: partition, nodes: [adsl-2], at: 1.9s, lasts: 2s}""",
)

Played: TypeAlias = tuple[Path, dict[str, Any], Onlooker]


def test_a_signal_before_the_run_has_begun(tmp_path: Path) -> None:
    """No node has said hello: there is no traffic to sample, but the folder is complete."""

    class Impatient(Onlooker):
        def progress(self, text: str) -> None:
            if text == "5 devices":
                os.kill(os.getpid(), signal.SIGTERM)

    with digits():
        folder, summary = play(loads(SCENARIO), tmp_path, Impatient(), cores=1)
    assert summary["outcome"] == "canceled"
    assert [record["what"] for record in read(folder / "run.jsonl")] == ["stop"]


class Remover(Onlooker):
    """Removes the run's folder once the run goes on."""

    def __init__(self, runs: Path) -> None:
        super().__init__()
        self.runs = runs

    def beat(self, now: float) -> None:
        shutil.rmtree(self.runs, ignore_errors=True)


@pytest.mark.slow
def test_a_folder_that_is_removed_in_the_middle(tmp_path: Path) -> None:
    with digits(), pytest.raises(HostError, match="was moved or removed while the run went on"):
        play(loads(SCENARIO), tmp_path / "runs", Remover(tmp_path / "runs"), cores=1)


@pytest.mark.slow
def test_a_disk_that_takes_no_more(tmp_path: Path) -> None:
    """Files may not grow beyond 40 kB here, which the system says in the words of a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, limits[1]))
    try:
        with (
            digits(),
            pytest.raises(HostError, match="cannot be written: File too large") as result,
        ):
            play(loads(SCENARIO), tmp_path, Onlooker(), cores=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(result.value).count("\n") == 0


@pytest.mark.slow
def test_a_signal_behind_the_runs_own_end_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each stage of the ending: the last record, the last sample of traffic, the tidying."""
    text, sent = SCENARIO.replace("updates: 400", "updates: 20"), list[str]()

    class Late(Onlooker):
        stage = ""

        def record(self, record: Any) -> None:
            super().record(record)
            self.at(str(self.records[-1]["what"]))

        def at(self, stage: str) -> None:
            if stage == self.stage and {"what": "stop"}.items() <= self.ended().items():
                sent.append(stage)
                os.kill(os.getpid(), signal.SIGTERM)

        def ended(self) -> dict[str, Any]:
            return next((r for r in self.records if r["what"] == "stop"), {})

    def lines(stage: str) -> bytes:
        view = Late()
        view.stage = stage
        with monkeypatch.context() as patched, digits():
            close = Fleet.close
            patched.setattr(Fleet, "close", lambda fleet: (view.at("close"), close(fleet)))
            folder, summary = play(loads(text), tmp_path / (stage or "whole"), view, cores=1)
        assert (summary["outcome"], summary["stop"]) == ("success", "updates")
        return (folder / "run.jsonl").read_bytes()

    whole, stages = lines(""), ["stop", "traffic", "close"]
    assert {stage: lines(stage) == whole for stage in stages} == dict.fromkeys(stages, True)
    assert set(sent) == set(stages)
