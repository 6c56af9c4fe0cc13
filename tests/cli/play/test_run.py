"""`emulate run`: refusals before a file is made, and the output at the end."""

import json
import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from emulator.errors import HostError
from emulator.learning import datasets
from emulator.learning.datasets.store import save
from tests.fakes.runs.synthetic_run import Synthetic
from tests.fakes.typed_commands import Emulate, Said, scenario


def refused(emulate: Emulate, file: Path, *words: object) -> Said:
    result = emulate("run", file, *words)
    assert result.code != 0
    assert "Traceback" not in result.err
    assert not (Path.cwd() / "runs").exists()
    return result


@pytest.mark.parametrize(
    "change, words",
    [
        (
            ("model: digits-mlp", "model: lenet"),
            "model: 'lenet' (did you mean 'mnist-lenet'?) is not",
        ),
        (("profile: phone", "profile: fone"), "devices[0].profile: 'fone' is no device profile"),
        (("at: 60s", "at: 60"), "faults[0].at: 60 has no unit"),
        (("name: far,", "name: near,"), "devices[1].name: 'near' is the name of devices[0] too"),
        (("nodes: [far]", "nodes: [sun]"), "faults[0].nodes[0]: 'sun' is no device"),
    ],
)
def test_a_file_that_is_wrong(
    emulate: Emulate, tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    result = refused(emulate, scenario(tmp_path, change))
    assert result.code == 2
    assert words in result.err


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_a_file_that_is_not_there(emulate: Emulate, tmp_path: Path, name: str) -> None:
    result = refused(emulate, tmp_path / name)
    assert result.code == 2
    assert "cannot be read" in result.err


def test_missing_data(emulate: Emulate, tmp_path: Path) -> None:
    result = refused(emulate, scenario(tmp_path))
    assert result.code == 1
    assert result.err.startswith("emulate: digits is not here: run `emulate data digits`")


def test_damaged_data(emulate: Emulate, tmp_path: Path) -> None:
    about = datasets.DATASETS["digits"]
    save("digits", {part: np.zeros(about.shape(part), np.uint8) for part in about.parts})
    result = refused(emulate, scenario(tmp_path))
    assert result.code == 1
    assert re.search(r"digits/train-images.npy is damaged: .*run `emulate data digits`", result.err)


def test_too_little_data(emulate: Emulate, tmp_path: Path, data: None) -> None:
    result = refused(emulate, scenario(tmp_path), "--set", "devices[0].count=30")
    assert result.code == 2
    *warned, refusal = result.err.splitlines()
    assert re.match(r"training.split: iid leaves near-0 \(6\), .* without a batch of 10", refusal)
    assert all(line.startswith("warning ") for line in warned)


def test_more_memory_than_there_is(emulate: Emulate, tmp_path: Path, data: None) -> None:
    result = refused(emulate, scenario(tmp_path, ("profile: phone", "profile: {memory: 9000GiB}")))
    assert result.code == 1
    assert "\nemulate: memory: one device may take 9000GiB, more than the " in f"\n{result.err}"


def test_no_engine(emulate: Emulate, tmp_path: Path, data: None) -> None:
    result = refused(emulate, scenario(tmp_path))
    assert result.code == 1
    assert result.err.startswith(
        "emulate: no Docker engine answers at unix:///nonexistent/docker.s"
    )
    assert "images/engine" in result.err


def test_nowhere_to_write(
    emulate: Emulate, tmp_path: Path, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from emulator.runtimes.docker import play_containers
    from emulator.runtimes.docker.configs.container_settings import Means
    from emulator.shaping.backend import Backend

    monkeypatch.setattr(play_containers, "connect", lambda: None)
    monkeypatch.setattr(
        play_containers.node_image,
        "require",
        lambda client: play_containers.node_image.NodeImage("1", {}),
    )
    monkeypatch.setattr(play_containers, "remove_dead", lambda *anything: None)
    monkeypatch.setattr(play_containers, "means_for", lambda *anything, **more: Means(Backend(), 9))
    monkeypatch.setattr(play_containers, "no_forks", lambda *anything: "")
    monkeypatch.setattr(play_containers, "ready", lambda model, seed: tmp_path)
    (tmp_path / "file").touch()
    result = refused(emulate, scenario(tmp_path), "--runs", "file/runs")
    assert result.code == 1
    assert result.err.startswith("emulate: cannot write the run folder file/runs/pair/")
    assert (tmp_path / "file").read_bytes() == b""


def test_the_means_of_shaping_are_for_containers(emulate: Emulate, tmp_path: Path) -> None:
    result = refused(emulate, scenario(tmp_path), "--shaping", "packets", "--on", "virtual")
    assert result.code == 2
    assert "--shaping packets is for containers" in result.err
    assert refused(emulate, scenario(tmp_path), "--shaping", "fog").code == 2


def test_the_means_of_shaping_reach_the_choice(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(
        "emulator.cli.play.run.player",
        lambda on, shaping=None: asked.append((on, shaping)) or refuse,
    )
    emulate("run", scenario(Path.cwd()), "--shaping", "receiver")
    emulate("run", scenario(Path.cwd()))
    assert asked == [("docker", "receiver"), ("docker", None)]


def refuse(*anything: object, **options: object) -> None:
    raise HostError("not here")


@pytest.mark.parametrize("words", [("clean",), ("doctor",), ("doctor", "--json")])
def test_without_an_engine_others_say_so_too(emulate: Emulate, words: tuple[str, ...]) -> None:
    result = emulate(*words)
    assert result.code == 1
    assert "no Docker engine answers" in result.out + result.err
    assert "Traceback" not in result.err


def played(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch, *words: object, **facts: object
) -> Said:
    """`emulate run`, where the run takes no time and ends like this."""
    from emulator.runtimes.docker import play_containers

    folder = Synthetic(devices=2, updates=30).write(Path.cwd() / "runs" / "pair" / "1-abc123")
    summary = json.loads((folder / "summary.json").read_text())
    summary |= {"stop": "updates", "detail": "", "exits": [], "left": [], **facts}
    monkeypatch.setattr(play_containers, "play", lambda *anything: (folder, summary))
    return emulate("run", scenario(Path.cwd()), *words)


@pytest.mark.parametrize(
    "outcome, code", [("success", 0), ("stopped", 0), ("canceled", 130), ("failed", 1)]
)
def test_the_exit_code_is_the_outcome(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch, outcome: str, code: int
) -> None:
    result = played(emulate, monkeypatch, "--no-report", outcome=outcome, stop=outcome)
    assert result.code == code
    assert f"outcome      {outcome}\n" in result.out
    assert "run          runs/pair/1-abc123\n" in result.out


def test_faults_that_were_not_due_are_on_the_timeline_all_the_same(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = {"faults_planned": 0, "faults_realised": 0}
    result = played(emulate, monkeypatch, "--no-report", **faults)
    planned = next(Path("runs").glob("*/*/timeline.jsonl")).read_text()
    assert planned.count('"kill"') + planned.count('"sever"') == 1
    assert "faults       0 (0 due by the end, 1 on the timeline)\n" in result.out


def test_what_it_took_to_reach_the_targets_is_told(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = [
        {"accuracy": 0.5, "updates": 400, "time": 12.34, "bytes": 1_200_000, "pulled": 7_000_000},
        {"accuracy": 0.985, "updates": None, "time": None, "bytes": None, "pulled": None},
    ]
    result = played(emulate, monkeypatch, "--no-report", targets=targets)
    spent = "400 updates, 12.3 s, 1.2 MB pushed, 7.0 MB pulled, 8.2 MB both"
    assert f"to 50 %      {spent}\n" in result.out
    assert "98.5" not in result.out


def test_a_device_that_ended_unasked_is_named_and_the_host_not_blamed(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = {"at": 3.21, "node": "far", "reason": "killed by its own memory limit of 128MiB"}
    result = played(emulate, monkeypatch, "--no-report", exits=[gone])
    assert "WARNING      far ended unasked at 3.2 s: killed by its own memory limit" in result.out
    assert "the host did not keep up" not in result.out


def test_what_is_left_in_the_engine_is_a_warning(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = played(emulate, monkeypatch, "--no-report", left=["network emulate-1-wan stays"])
    assert result.code == 0
    assert "WARNING      network emulate-1-wan stays" in result.out


def test_the_way_back_into_a_failed_run_is_named(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = played(emulate, monkeypatch, "--no-report", outcome="failed", resumable=True)
    assert re.search(r"^resume +`emulate resume \w+` goes on with this run", result.out, re.M)


def test_a_report_that_cannot_be_written(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*report: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("analysis.pages.report.report", full)
    result = played(emulate, monkeypatch)
    assert result.err.startswith("emulate: cannot draw the report of ")
    assert "No space left on device" in result.err and "Traceback" not in result.err


def test_a_doubtful_run_says_so(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings = {"reasons": ["a fault came 0.60 s after its time"]}
    result = played(emulate, monkeypatch, "--no-report", fidelity=warnings)
    assert "WARNING      the host did not keep up: a fault came 0.60 s" in result.out


def test_a_run_for_scripts(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    result = played(emulate, monkeypatch, "--json", "--no-report")
    assert result.json["updates"] == 30
    assert Path(result.json["run"]).is_dir()


def test_an_error_brings_its_notes(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from emulator.runtimes.docker import play_containers

    def fail(*anything: object) -> None:
        error = HostError("out of luck")
        error.add_note("what is known of the run is in runs/pair/1")
        raise error

    monkeypatch.setattr(play_containers, "play", fail)
    result = emulate("run", scenario(tmp_path))
    assert result.code == 1
    assert result.err == (
        "emulate: out of luck\nemulate: what is known of the run is in runs/pair/1\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_there_is_a_folder(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """What was made by then is removed on the way out, as the probe of the kernel."""
    from emulator.runtimes.docker import play_containers

    cleaned: list[bool] = []

    def probing(*anything: object) -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        finally:
            cleaned.append(True)

    monkeypatch.setattr(play_containers, "play", probing)
    result = emulate("run", scenario(tmp_path))
    assert (result.code, result.err) == (130, "emulate: interrupted\n")
    assert cleaned == [True]
