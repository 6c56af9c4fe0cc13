"""Small inputs as other people write them, played as they would play them, from file to answer."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.typed_commands import Emulate, Said

HEADING = "Timestamp,Operatorname,DL_bitrate,UL_bitrate,State,PINGAVG\n"
TRAINING = "training: {dataset: digits, model: digits-mlp, algorithm: asgd}\n"
STEP = "virtual: {learner: none, step: 20ms, boot: 1s, serve: 1ms}\n"


def row(second: int, rate: int) -> str:
    return f"2020.02.27_18.39.{second:02d},X,{rate},100,D,-\n"


def burst(model: str) -> str:
    """Return a scenario of 20 dense pushes over 10 mbit whose losses follow `model`."""
    link = f"{{rate: 10mbit, delay: 20ms{model}}}"
    return (
        f"name: burst\n{TRAINING}stop: {{updates: 20, time: 10min}}\n{STEP}"
        f"devices:\n  - {{name: a, link: {{up: {link}}}}}\n"
    )


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return f"./{name}"


def test_a_drive_log_is_played_by_its_own_times(emulate: Emulate, tmp_path: Path) -> None:
    rates = [(0, 9000), (0, 9000), (0, 9000), (1, 1000), (5, 1000), (6, 1000)]
    log = HEADING + "".join(row(*each) for each in rates)
    said = emulate("trace", written(tmp_path, "drive.5g.csv", log), "--json")
    assert said.code == 0, said.err
    assert said.json["duration"] == pytest.approx(7)
    assert said.json["rate"]["mean"] == pytest.approx((9e6 + 6 * 1e6) / 7, rel=1e-3)
    back = written(tmp_path, "back.5g.csv", HEADING + row(9, 1000) + row(2, 1000))
    said = emulate("trace", back)
    assert said.code == 2 and "back.5g.csv:3" in said.err


SLOW_BARRIER = """name: slow-barrier
training: {dataset: digits, model: digits-mlp, HOW, batch_size: 5}
stop: {updates: 60, time: 2h}
virtual: {learner: none, step: 10s, boot: 1s, serve: 1ms}
devices:
  - {name: laptop, count: 3}
  - {name: pi, profile: {cpu: 5%}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        "algorithm: bsp",
        "codec: {kind: dense}, synchronization: {kind: bounded, bound: 1}",
        "codec: {kind: dense}, synchronization: {kind: groups, groups: 2}",
    ],
)
def test_a_step_without_its_slow_device_is_warned_of_and_counted(
    emulate: Emulate, tmp_path: Path, how: str
) -> None:
    file = written(tmp_path, "barrier.yaml", SLOW_BARRIER.replace("HOW", how))
    checked = emulate("check", "--on", "virtual", file)
    assert checked.code == 0 and "patience" in checked.out, checked
    played = emulate("run", "--on", "virtual", file, "--no-report")
    assert played.code == 0 and "pi" in played.out.partition("outcome")[2], played.out


def test_a_link_that_loses_everything_is_refused(emulate: Emulate, tmp_path: Path) -> None:
    for keys in ("loss: 100%", "corrupt: 100%, rate: 1mbit"):
        text = (
            f"name: lost\n{TRAINING}stop: {{updates: 20}}\n{STEP}"
            f"devices:\n  - {{name: a, link: {{up: {{{keys}}}}}}}\n"
        )
        said = emulate("check", written(tmp_path, "lost.yaml", text))
        assert said.code == 2 and "partition" in said.err, said


def seconds(emulate: Emulate, folder: Path, model: str) -> float:
    """Return the emulated seconds of `burst(model)` in virtual time."""
    file = written(folder, "burst.yaml", burst(model))
    said = emulate("run", "--on", "virtual", file, "--no-report", "--json")
    assert said.code == 0, said
    return float(said.json["duration_s"])


@pytest.mark.slow
def test_bursts_of_loss_cost_time(emulate: Emulate, tmp_path: Path) -> None:
    without = seconds(emulate, tmp_path, "")
    half = seconds(emulate, tmp_path, ", loss_model: {gemodel: {p: 1%, r: 1%}}")
    assert half > 10 * without  # half of all packets, in bursts of a hundred
    said = emulate(
        "check", written(tmp_path, "all.yaml", burst(", loss_model: {gemodel: {p: 100%, r: 0%}}"))
    )
    assert said.code == 2 and "partition" in said.err, said


def typed(folder: Path, *words: str, **environment: str) -> Said:
    """Run `emulate` as a process of its own with `environment`."""
    done = subprocess.run(
        [sys.executable, "-m", "emulator", *words],
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "0", **environment},
        capture_output=True,
    )
    return Said(done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1"))


@pytest.mark.slow
def test_a_locale_without_the_signs_of_the_tables_ends_no_command(tmp_path: Path) -> None:
    group = "devices:\n  - {name: a, count: 2, link: dsl}\n"
    text = f"name: plain\n{TRAINING}stop: {{updates: 30}}\n{STEP}{group}"
    file = written(tmp_path, "plain.yaml", text)
    for encoding in ("latin-1", "ascii"):
        said = typed(tmp_path, "check", "--on", "virtual", file, PYTHONIOENCODING=encoding)
        assert "Traceback" not in said.err and said.code == 0, said.err


@pytest.mark.slow
def test_an_unknown_docker_context_is_refused(tmp_path: Path) -> None:
    environment = {"DOCKER_CONTEXT": "gone", "DOCKER_HOST": "", "DOCKER_CONFIG": str(tmp_path)}
    said = typed(tmp_path, "doctor", **environment)
    assert said.code == 1 and "gone" in said.out + said.err


def test_classes_in_any_letters_are_drawn_without_a_warning(
    emulate: Emulate, tmp_path: Path
) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    for name in ("猫", "狗", "a$b$", "é" * 80):
        folder = tmp_path / "pets" / name
        folder.mkdir(parents=True)
        for number in range(6):
            pixels = rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{number}.png")
    said = emulate("data", "./pets", "--devices", 2, "--set", "test=30%")
    assert said.code == 0 and "Warning" not in said.err, said.err


@pytest.mark.slow
def test_the_cache_follows_xdg(tmp_path: Path) -> None:
    file = written(tmp_path, "own.csv", "a,label\n" + "".join(f"{n},{n % 2}\n" for n in range(20)))
    said = typed(tmp_path, "data", file, EMULATE_CACHE="", XDG_CACHE_HOME=str(tmp_path / "x"))
    assert said.code == 0, said.err
    assert (tmp_path / "x" / "emulate" / "own-data").is_dir()
