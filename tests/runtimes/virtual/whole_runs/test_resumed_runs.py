"""A virtual run that died is played again: its log gets the bytes that it would have had."""

import json
from pathlib import Path
from random import Random

import pytest

from emulator.errors import EmulatorError
from emulator.runs.resumption import dead_run, resuming
from emulator.runtimes.virtual.play_virtual import resume
from tests.fakes.virtual_world import Onlooker, digits, played

SHORT = ("stop={updates: 60}", "evaluate.every=20", "server={checkpoint: {every: 500ms}}")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, dict, bytes]:
    folder, summary, _ = played(tmp_path_factory.mktemp("whole"), *SHORT)
    return folder, summary, (folder / "run.jsonl").read_bytes()


def killed(folder: Path, log: bytes) -> None:
    """Leave in `folder` what a run leaves that was killed when its log was `log`."""
    (folder / "run.jsonl").write_bytes(log)
    for name in ("summary.json", "model.npz"):
        (folder / name).unlink(missing_ok=True)


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_as_if_it_had_not_been(whole) -> None:
    folder, summary, log = whole
    dice = Random(1)
    for length in (0, len(log), *(dice.randrange(len(log)) for _ in range(4))):
        killed(folder, log[:length])
        with digits():
            _, again = resume(dead_run(folder), Onlooker(), cores=1)
        assert (folder / "run.jsonl").read_bytes() == log
        assert again == summary == json.loads((folder / "summary.json").read_text())
        assert (folder / "model.npz").is_file()


@pytest.mark.slow
def test_a_log_with_other_bytes_is_told_of_and_left_alone(whole) -> None:
    folder, _, log = whole
    changed = bytearray(log[:3000])
    changed[2000] ^= 1
    killed(folder, changed)
    with digits(), pytest.raises(EmulatorError, match=r"differs behind byte 1[0-9]{3}: another"):
        resume(dead_run(folder), Onlooker(), cores=1)
    assert (folder / "run.jsonl").read_bytes() == changed
    assert not (folder / "summary.json").exists()
    killed(folder, log + b'{"at":99.0,"what":"hello"}\n')
    with digits(), pytest.raises(EmulatorError, match="differs behind byte"):
        resume(dead_run(folder), Onlooker(), cores=1)
    killed(folder, log)
    with digits():
        resume(dead_run(folder), Onlooker(), cores=1)


def test_a_run_that_is_over_is_not_resumed(whole) -> None:
    with pytest.raises(EmulatorError, match=r"is over \(success\): there is nothing to resume"):
        dead_run(whole[0])


def test_a_run_is_resumed_by_one_process_at_a_time(whole) -> None:
    folder, _, log = whole
    killed(folder, log[:3000])
    with resuming(folder) as dead:
        again = resuming(folder)
        with pytest.raises(EmulatorError, match="is being resumed or gathered by another process"):
            again.__enter__()
        with digits():
            resume(dead, Onlooker(), cores=1)
    assert (folder / "run.jsonl").read_bytes() == log
    assert not list(folder.glob("*.pid"))
    with pytest.raises(EmulatorError, match="is over"), resuming(folder):
        pass
