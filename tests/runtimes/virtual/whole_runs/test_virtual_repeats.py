"""The same scenario and seed give the same bytes; training of every kind repeats."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import load
from tests.fakes.virtual.overlapping_faults import OVERLAPPING, SERVER, Played, happened
from tests.fakes.virtual_world import SCENARIO, Onlooker, digits, played
from tests.layers import ROOT

HOME = """
description: Drops out at random.
source: None.
faults:
  - {kind: crash, per_iteration: 2%, lasts: {exponential: 1s}}
  - {kind: partition, every: {exponential: 4s}, lasts: {uniform: [100ms, 1s]}}
"""


@pytest.fixture
def flaky(tmp_path: Path) -> str:
    (tmp_path / "home.yaml").write_text(HOME)
    text = SCENARIO.replace("updates: 400", "updates: 400, time: 5min")
    return text.replace("link: fios}", f"link: fios, failures: [{tmp_path / 'home.yaml'}]}}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param((), id="as it is"),
        pytest.param((SERVER, "training.algorithm=asgd"), id="behind a shared link"),
        pytest.param(
            (
                "training={dataset: digits, model: digits-mlp, codec: {kind: topk, keep: 5%}, "
                "error_feedback: true, synchronization: {kind: barrier, patience: 2s}}",
            ),
            id="in lockstep",
        ),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SCENARIO, id="faults", marks=pytest.mark.slow),  # they are among the others
        pytest.param(OVERLAPPING, id="overlapping faults"),
    ],
)
def test_the_same_seed_gives_the_same_bytes(
    tmp_path: Path, text: str, overrides: tuple[str, ...]
) -> None:
    logs = set()
    for cores in (1, 1, 3):
        folder, summary, _ = played(tmp_path, *overrides, text=text, cores=cores)
        assert summary["outcome"] == "success"
        logs.add((folder / "run.jsonl").read_bytes())
    assert len(logs) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        ["synchronization={kind: bounded, bound: 1, patience: 500ms}"],
        ["synchronization={kind: softsync, splits: 2}"],
        ["synchronization={kind: fedavg, clients: 50%, patience: 1500ms}"],
        ["synchronization={kind: local-sgd, steps: 4, local_rate: 0.2, patience: 1500ms}"],
        ["optimizer={kind: momentum, momentum: 0.5}"],
        ["optimizer={kind: adam, epsilon: 0.01}", "learning_rate=0.005"],
    ],
    ids=lambda overrides: overrides[0].split("kind: ")[1].split(",")[0],
)
def test_every_way_to_train_learns_and_repeats(tmp_path: Path, overrides: list[str]) -> None:
    """Through a crash and a partition, some longer than anybody's patience."""
    parts = "codec: {kind: topk, keep: 5%}, modulation: staleness, error_feedback: true"
    training = f"training={{dataset: digits, model: digits-mlp, batch_size: 8, {parts}}}"
    changed = [f"training.{override}" for override in overrides]
    logs = set()
    for cores in (1, 3):
        folder, summary, _ = played(tmp_path, training, *changed, cores=cores)
        assert (summary["outcome"], summary["updates"] >= 400) == ("success", True)
        assert summary["final_accuracy"] > 0.9
        logs.add((folder / "run.jsonl").read_bytes())
    assert len(logs) == 1


@pytest.mark.slow
def test_local_training_takes_its_time_and_fewer_bytes(tmp_path: Path) -> None:
    """Also in a run without training, in which all devices count as having equal data."""
    world = ("faults=[]", "stop={updates: 50}", "virtual.step=20ms", "training.algorithm=")
    for learner, examples in (("numpy", 400), ("none", 1437)):
        steps = 2 * -(-(examples // 5) // 8)
        folder, *_ = played(
            tmp_path,
            *world,
            "training.codec=dense",
            "training.synchronization={kind: fedavg, clients: 100%, epochs: 2}",
            f"virtual.learner={learner}",
        )
        updates = happened(folder, "update")
        fiber = [record["compute"] for record in updates if record["node"] == "fiber-0"]
        assert fiber == pytest.approx([steps * 0.02 / 0.4] * len(fiber), rel=0.1)
        assert len({record["at"] for record in updates}) == len(updates) / 5


def test_an_epoch_longer_than_patience_teaches_all_the_same(tmp_path: Path) -> None:
    """Rounds end without updates, so devices still learn from the current model."""
    folder, summary, _ = played(
        tmp_path,
        "faults=[]",
        "stop={time: 1min}",
        "virtual={learner: none, step: 30ms, boot: 50ms}",
        "training.algorithm=",
        "training.codec=dense",
        "training.synchronization={kind: fedavg, clients: 100%, patience: 1s}",
    )
    assert summary["updates"] > 15 and summary["outcome"] == "success"
    late = {record["node"] for record in happened(folder, "refused")}
    assert late <= {"adsl-0", "adsl-1", "adsl-2"}  # the slower ones: fiber has made steps meanwhile


@pytest.mark.slow
def test_drawn_faults_repeat_too(tmp_path: Path, flaky: str) -> None:
    first, _, _ = played(tmp_path, text=flaky)
    again, _, _ = played(tmp_path, text=flaky, cores=2)
    assert (first / "run.jsonl").read_bytes() == (again / "run.jsonl").read_bytes()
    assert {r["node"] for r in happened(first, "kill")} >= {"adsl-0", "fiber-0", "fiber-1"}


@pytest.mark.slow
def test_another_seed_is_another_run(tmp_path: Path, plain: Played) -> None:
    one, _, _ = plain
    other, _, _ = played(tmp_path, "seed=4")
    assert (one / "run.jsonl").read_bytes() != (other / "run.jsonl").read_bytes()


@pytest.mark.slow
def test_what_a_run_keeps_of_its_scenario_repeats_it(tmp_path: Path, plain: Played) -> None:
    folder, _, _ = plain
    with digits():
        again, _ = play(load(folder / "scenario.yaml"), tmp_path, Onlooker(), cores=1)
    assert (folder / "run.jsonl").read_bytes() == (again / "run.jsonl").read_bytes()


def test_one_more_device_changes_nobody_elses_luck(tmp_path: Path) -> None:
    """Devices share nothing here: every device has a pace and a random stream of its own."""
    text = SCENARIO.replace("learner: numpy", "learner: none").replace("updates: 400", "time: 5s")
    few, _, _ = played(tmp_path, text=text)
    many, _, _ = played(tmp_path, "devices[1].count=4", text=text)
    for node in ("adsl-0", "adsl-2", "fiber-1"):
        one, other = (
            [record["at"] for record in happened(folder, "update") if record["node"] == node]
            for folder in (few, many)
        )
        assert len(one) > 10
        # a version with one more digit makes a message a byte longer
        assert one == pytest.approx(other, abs=1e-4)


PLAYS = """
import sys
from hashlib import sha256
from pathlib import Path
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import loads
from tests.fakes.virtual import random_failures
from tests.fakes.virtual_world import Onlooker
from tests.fakes.virtual.late_rounds import LATE_ROUNDS
for number, text in enumerate([LATE_ROUNDS, *map(random_failures.scenario, (2, 5, 11, 14))]):
    folder, _ = play(loads(text), Path(sys.argv[1]) / str(number), Onlooker(), cores=1)
    print(sha256((folder / "run.jsonl").read_bytes()).hexdigest())
"""


@pytest.mark.slow
def test_no_order_of_a_set_shows_in_the_log(tmp_path: Path) -> None:
    """Each process of Python puts the names of devices in a set in another order."""
    found = set()
    for seed in "0123":
        command = [sys.executable, "-c", PLAYS, str(tmp_path / seed)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
        )
        assert not done.returncode, done.stderr
        found.add(done.stdout)
    assert len(found) == 1
