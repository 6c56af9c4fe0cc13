"""Ends of virtual runs: stops, faults for good, checkpoints, and errors midway."""

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from emulator.errors import ScenarioError
from emulator.log.records import Record, UpdateRecord
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import loads
from emulator.world.stop_conditions import CONDITIONS
from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import SCENARIO, Onlooker, digits, played

OVERLAPPING = SCENARIO.replace(
    "faults:",
    """faults:
  - {kind: crash, nodes: [adsl], at: 2s, lasts: 500ms}
  - {kind: crash, nodes: [adsl-1], at: 2.2s, lasts: 3s}
  - {kind: partition, nodes: [adsl-2], at: 1.9s, lasts: 2s}""",
)

SEVERED = "{kind: partition, nodes: [adsl], at: 1s}"

Played: TypeAlias = tuple[Path, dict[str, Any], Onlooker]


def happened(folder: Path, what: str) -> list[PlainRecord]:
    return [record for record in read(folder / "run.jsonl") if record["what"] == what]


LIMITS = {"updates": "50", "accuracy": "40%", "loss": "2", "time": "2s"}
"""For each stop condition, a limit that the scenario meets soon."""


@pytest.mark.parametrize("key", CONDITIONS)
def test_a_run_succeeds_with_the_condition_that_holds_first(tmp_path: Path, key: str) -> None:
    last = {"stop.updates": "500", f"stop.{key}": LIMITS[key]}
    _, summary, _ = played(tmp_path, *(f"{key}={limit}" for key, limit in last.items()))
    assert (summary["outcome"], summary["stop"], summary["detail"]) == ("success", key, "")


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize(
    ("overrides", "outcome", "detail"),
    [
        (["stop={time: 1ms}"], ("failed", "time"), "no update was applied"),
        (["training.learning_rate=1e30"], ("failed", "diverged"), "most workers'"),
        (
            ["faults=[{kind: crash, nodes: [adsl, fiber], at: 1s}]"],
            ("failed", "failed"),
            "every device is down or cut off for good",
        ),
        *(
            (  # the devices would come back after the run's last moment
                [
                    "stop={time: 4s}",
                    f"faults=[{{kind: {kind}, nodes: [adsl, fiber], at: 1s, lasts: 1min}}]",
                ],
                ("success", "time"),
                "",
            )
            for kind in ("crash", "partition", "pause")
        ),
        (
            ["faults=[{kind: partition, nodes: [adsl, fiber], at: 1s}]"],
            ("failed", "failed"),
            "every device is down or cut off for good",
        ),
        *(
            (  # each device in another way: cut off, and by a link that carries nothing any more
                [f"devices[1].link={{up: {side}}}", f"faults=[{SEVERED}{fault}]"],
                ("failed", "failed"),
                "every device is down or cut off for good",
            )
            for side, fault in (
                ("{rate: 8mbit, steps: [{at: 2s, loss: 100%}]}", ""),
                ("{delay: 5ms, trace: {samples: '0 8e6, 2 0, end 3', loop: false}}", ""),
                ("{trace: {samples: '0 8e6 0.01 0, 2 8e6 0.01 1, end 3', loop: false}}", ""),
                (
                    "{rate: 8mbit, steps: [{at: 3s, loss: 100%}]}",
                    ", {kind: degrade, nodes: [fiber], at: 2s, lasts: 2s, loss: 100%}",
                ),
            )
        ),
        (  # the link carries something again
            [
                "stop={updates: 300}",
                f"faults=[{SEVERED}, {{kind: degrade, nodes: [fiber], at: 1s, lasts: 1s, "
                "loss: 100%}]",
            ],
            ("success", "updates"),
            "",
        ),
    ],
)
@pytest.mark.timeout(30)
def test_a_run_ends_as_it_should(
    tmp_path: Path, overrides: list[str], outcome: tuple[str, str], detail: str
) -> None:
    _, summary, _ = played(tmp_path, *overrides)
    assert (summary["outcome"], summary["stop"]) == outcome
    assert summary["detail"].startswith(detail)


DIE = """
description: Fails once.
source: None.
faults:
  - {kind: KIND, per_iteration: 20%}
"""


@pytest.mark.timeout(30)
@pytest.mark.parametrize("drawn", ["crash", "partition"])
def test_a_run_without_a_device_left_ends_a_second_later(tmp_path: Path, drawn: str) -> None:
    """Devices crash, are cut off, or draw a fault; the timeline still has actions for them."""
    (tmp_path / "die.yaml").write_text(DIE.replace("KIND", drawn))
    faults = """faults:
  - {kind: crash, nodes: [adsl-0], at: 1s}
  - {kind: partition, nodes: [adsl-0], at: 300s, lasts: 10s}
  - {kind: partition, nodes: [adsl-1, adsl-2], at: 1.5s}
  - {kind: crash, nodes: [adsl-1], at: 5s, lasts: 1s}
"""
    text = SCENARIO.partition("faults:")[0] + faults
    text = text.replace("link: fios}", f"link: fios, failures: [{tmp_path / 'die.yaml'}]}}")
    folder, summary, _ = played(tmp_path, "stop={updates: 100000}", text=text)
    assert (summary["outcome"], summary["stop"]) == ("failed", "failed")
    struck = [r["at"] for r in read(folder / "run.jsonl") if r["what"] in ("kill", "sever")]
    assert summary["duration_s"] == pytest.approx(max(struck) + 1)
    assert max(struck) < 10


LOOP = "{kind: crash, nodes: [adsl], per_iteration: 100%, lasts: 1s}"
"""Devices that boot again and again, and never send an update."""


@pytest.mark.timeout(30)
@pytest.mark.parametrize("gone", ["at: 3s", "per_iteration: 20%"])
def test_devices_that_crash_in_each_iteration_keep_no_run_alive(tmp_path: Path, gone: str) -> None:
    faults = f"faults=[{LOOP}, {{kind: crash, nodes: [fiber], {gone}}}]"
    _, summary, _ = played(tmp_path, "stop={updates: 100000}", faults)
    assert summary["outcome"] == "failed"
    assert summary["detail"] == (
        "every device is down or cut off for good, "
        "or crashes in each iteration: adsl-0, adsl-1, adsl-2"
    )
    if gone == "at: 3s":
        assert summary["duration_s"] == pytest.approx(4.0)


@pytest.mark.slow
def test_a_device_that_may_come_back_keeps_the_run_alive(tmp_path: Path) -> None:
    faults = """faults:
  - {kind: crash, nodes: [adsl], at: 1s}
  - {kind: partition, nodes: [fiber-0], at: 1s}
  - {kind: crash, nodes: [fiber-1], at: 1s, lasts: 100s}
"""
    folder, summary, _ = played(tmp_path, text=SCENARIO.partition("faults:")[0] + faults)
    assert summary["outcome"] == "success"
    late = {r["node"] for r in happened(folder, "update") if r["at"] > 10}
    assert late == {"fiber-1"}


@pytest.mark.slow
def test_checkpoints_are_written_in_their_time(tmp_path: Path) -> None:
    folder, _, _ = played(tmp_path, "server.checkpoint={every: 1s}")
    times = [record["at"] for record in happened(folder, "checkpoint")]
    assert times == [float(second) for second in range(1, len(times) + 1)]
    assert len(times) > 1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["virtual.learner=none", "stop.accuracy=90%"], "stop.accuracy: with virtual.learner none"),
        (["training.batch_size=300"], "training.split: .*without a batch of 300"),
    ],
)
def test_what_cannot_be_played_is_refused_before_a_folder_is_made(
    tmp_path: Path, overrides: list[str], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        played(tmp_path, *overrides)
    assert not list(tmp_path.iterdir())


def test_what_goes_wrong_midway_leaves_all_that_is_known(tmp_path: Path) -> None:
    class Broken(Onlooker):
        def record(self, record: Record) -> None:
            super().record(record)
            if isinstance(record, UpdateRecord) and record.updates == 50:
                raise RuntimeError("the view broke")

    view = Broken()
    with digits(), pytest.raises(RuntimeError, match="the view broke"):
        play(loads(SCENARIO), tmp_path, view, cores=1)
    folder = (tmp_path / "tiny" / "latest").resolve()
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["outcome"], summary["updates"]) == ("failed", 50)
    assert summary["detail"] == "the view broke"
