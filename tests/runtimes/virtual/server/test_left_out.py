"""Slow devices that synchronizations leave out of steps: every kind with a patience says so."""

from pathlib import Path
from typing import Any, get_args

import pytest

from analysis import read
from analysis.pages.run_warnings import warnings
from emulator.checks.deadlines import late_groups
from emulator.checks.finding import StepTime
from emulator.cli.play.run import tell
from emulator.scenario import loads
from emulator.synchronization import AnySynchronization
from tests.fakes.virtual_world import played

WORLD = """
name: slow
training: {{dataset: digits, model: digits-mlp, batch_size: 6, codec: dense, {training}}}
stop: {{updates: 40, time: 2h}}
virtual: {{learner: none, step: {step}, tcp: false}}
devices:
  - {{name: laptop, count: 3}}
  - {{name: pi, {slow}}}
"""

KINDS = {
    "barrier": "synchronization: {kind: barrier, patience: 20s}",
    "bounded": "synchronization: {kind: bounded, bound: 1, patience: 20s}",
    "groups": "synchronization: {kind: groups, groups: 2, patience: 20s}",
    "fedavg": "synchronization: {kind: fedavg, clients: 100%, local_rate: 0.1, patience: 15min}",
    "local-sgd": "synchronization: {kind: local-sgd, steps: 2, local_rate: 0.1, patience: 40s}",
}
"""A training for each kind of synchronization with a patience, in which a slow device is late."""


def cut(labels: str) -> str:
    """Return the key of a model cut behind its first layer."""
    return f"fully_connected: {{place: {{after: 1}}, labels: {labels}}}"


FAST, SLOW = "{cpu: 100%}", "profile: {cpu: 2%}"
FAR = "link: {up: {rate: 2kbit}, down: {rate: 2kbit}}"


def late(training: str, slow: str = SLOW, step: str = "4s") -> str:
    """Return a world with a slow device `pi`."""
    return WORLD.format(training=training, slow=slow, step=step)


def warned(text: str) -> list[str]:
    scenario = loads(text)
    given = scenario.virtual.step
    assert given is not None
    step = StepTime(given.mean, "virtual.step", given.mean)
    return [item.text for item in late_groups(scenario, step)]


def run(folder: Path, text: str) -> tuple[Path, dict[str, Any]]:
    path, summary, _ = played(folder, text=text)
    return path, summary


def test_every_synchronization_with_a_patience_has_a_row() -> None:
    kinds = [kind for kind in get_args(AnySynchronization) if "patience" in kind.__annotations__]
    assert {kind.__dataclass_fields__["kind"].default for kind in kinds} == {*KINDS}


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "training, slow, step",
    [
        *(pytest.param(training, SLOW, "4s", id=kind) for kind, training in KINDS.items()),
        *(
            pytest.param(KINDS[kind], FAR, "4s", id=f"{kind}-link")
            for kind in ("barrier", "bounded", "groups")
        ),
        *(
            pytest.param(f"{KINDS[kind]}, {cut(labels)}", SLOW, "4s", id=f"{kind}-{labels}")
            for kind in ("barrier", "groups")
            for labels in ("sent", "local")
        ),
    ],
)
def test_a_slow_device_is_named_before_and_after_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], training: str, slow: str, step: str
) -> None:
    text = late(training, slow, step)
    (warning,) = warned(text)
    assert "pi" in warning and "patience" in warning and "make patience longer" in warning
    folder, summary = run(tmp_path, text)
    (row,) = [row for row in summary["left_out"] if row["node"] == "pi"]
    assert 0 < row["steps"] <= row["of"]
    tell(folder, summary)
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("left out") and "pi" in line]
    assert f"{row['steps']} of {row['of']} steps" in line
    assert any(f"pi ({row['steps']} of {row['of']})" in words for words in warnings(read(folder)))


@pytest.mark.parametrize("kind", [*KINDS])
def test_equal_devices_are_not_named(tmp_path: Path, kind: str) -> None:
    text = late(KINDS[kind], "profile: {cpu: 100%}")
    assert warned(text) == []
    folder, summary = run(tmp_path, text)
    assert "left_out" not in summary
    assert b"left_out" not in (folder / "run.jsonl").read_bytes()


def test_every_step_without_the_device_counts(tmp_path: Path) -> None:
    """A step of the laptops takes 4 s, the first one 20 s more; the pi needs 200 s."""
    folder, summary = run(tmp_path, late(KINDS["barrier"]))
    (row,) = summary["left_out"]
    records = (folder / "run.jsonl").read_text().count('"left_out"')
    assert row["steps"] == row["of"] == 14 and records == 5  # at 1, 2, 4, 8, and the end


def test_answers_at_the_cut_that_come_late_are_named(tmp_path: Path) -> None:
    """Two outputs of 240 bytes take 1 s each way, longer than the patience."""
    slow = "link: {up: {rate: 1kbit}, down: {rate: 1kbit}}"
    training = "synchronization: {kind: bounded, bound: 9, patience: 3s}, "
    text = late(training + cut("local"), slow, "1s")
    assert any("outputs and their gradient" in warning for warning in warned(text))
    _, summary = run(tmp_path, text)
    assert "pi" in {row["node"] for row in summary["left_out"]}
