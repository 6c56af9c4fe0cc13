"""`emulate export` and `emulate run --tensorboard`: files that other tools read."""

import struct
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis import TABLES, load
from emulator.cli.watching.tensorboard_view import write_events
from emulator.log.records import EvaluationRecord, UpdateRecord
from emulator.log.tensorboard.event_files import EventFile
from emulator.log.tensorboard.scalars import Scalars
from emulator.sweeps import Finished
from tests.fakes.runs.synthetic_run import Synthetic
from tests.fakes.typed_commands import Emulate
from tests.fakes.virtual_world import SCENARIO, digits

Point = tuple[int, str, float]


def points(file: Path) -> list[Point]:
    """Return the scalars in `file`, read without checksums: TensorFlow's reader takes seconds."""
    content, found = file.read_bytes(), []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        found += _scalars(content[12 : 12 + length])
        content = content[16 + length :]
    return found


def _scalars(event: bytes) -> list[Point]:
    fields = dict(_fields(event))
    values = [dict(_fields(value)) for _, value in _fields(fields.get(5, b""))]
    step = fields.get(2, 0)
    return [(step, value[1].decode(), struct.unpack("<f", value[2])[0]) for value in values]


def _fields(message: bytes) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    while message:
        key, message = message[0], message[1:]
        if key & 7 in (1, 5):
            size = {1: 8, 5: 4}[key & 7]
        else:
            size, shift = 0, 0
            while message[0] & 0x80:
                size, shift, message = size | (message[0] & 0x7F) << shift, shift + 7, message[1:]
            size, message = size | message[0] << shift, message[1:]
            if key & 7 == 0:
                found.append((key >> 3, size))
                continue
        found.append((key >> 3, message[:size]))
        message = message[size:]
    return found


@pytest.mark.slow
def test_a_run_writes_the_events_that_its_export_has(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "tiny.yaml"
    scenario.write_text(SCENARIO)
    words = ("run", scenario, "--on", "virtual", "--set", "stop.updates=120", "--no-report")
    with digits():
        done = emulate(*words, "--tensorboard", tmp_path / "events")
    assert done.code == 0, done.err
    (live,) = (tmp_path / "events" / "tiny").glob("*/events.out.tfevents.*")
    said = emulate("export", "tiny", "--format", "tensorboard")
    assert said.code == 0, said.err
    seen = points(live)
    assert seen == points(Path(said.out.strip()))
    assert emulate("export", "tiny", "--format", "tensorboard").out == said.out
    run = load(*Path("runs/tiny").glob("2*"))
    tags = {tag: [(step, value) for step, name, value in seen if name == tag] for _, tag, _ in seen}
    assert [step for step, _ in tags["staleness"]] == list(range(1, 121))
    assert [value for _, value in tags["staleness"]] == list(run.updates["staleness"])
    assert tags["push_bytes"][-1] == (120, run.updates["bytes"].sum())
    assert tags["both_bytes"][-1] == (120, tags["push_bytes"][-1][1] + tags["pull_bytes"][-1][1])
    assert [step for step, _ in tags["test/accuracy"]] == list(run.evaluations["updates"])
    assert tags.keys() == {
        *("train/loss", "test/loss", "test/accuracy", "staleness"),
        *("push_bytes", "pull_bytes", "both_bytes", "updates"),
    }


def test_events_stand_in_the_run_and_a_lost_disk_does_not_end_it(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "tiny.yaml"
    scenario.write_text(SCENARIO)
    words = ("run", scenario, "--on", "virtual", "--set", "stop.updates=20", "--no-report")
    (tmp_path / "taken").write_text("")
    refused = emulate(*words, "--tensorboard", tmp_path / "taken")
    assert refused.code == 1
    assert "cannot write TensorBoard's folder" in refused.err
    assert not Path("runs").exists()

    def full(*given: object) -> None:
        raise OSError("No space left on device")

    with digits(), monkeypatch.context() as patched:
        patched.setattr(EventFile, "write", full)
        done = emulate(*words, "--tensorboard")
    assert done.code == 0
    assert done.err.count("TensorBoard gets no more events of this run: No space left") == 1
    assert list(Path("runs/tiny/latest/tensorboard").iterdir())


def test_events_of_a_finished_point_are_written_once(tmp_path: Path) -> None:
    folder = Synthetic(updates=10).write(tmp_path / "point")
    for _ in range(2):
        write_events(Finished("a", folder, {}))
    (file,) = (folder / "tensorboard").iterdir()
    written = file.stat().st_mtime_ns
    write_events(Finished("a", folder, {}))
    assert file.stat().st_mtime_ns == written and points(file)


def test_points_of_long_runs_are_means(tmp_path: Path) -> None:
    scalars = Scalars()
    steps = []
    for count in range(1, 4001):
        loss = float("nan") if count % 2 else 1.0
        record = UpdateRecord(
            *(count / 100, "a", count, count, count % 3, 1.0, loss, 0.1, 1, 4, 4, 8, 8)
        )
        steps += [point.step for point in scalars.take(record) if "staleness" in point.values]
    assert steps[:1999] == list(range(1, 2000))
    assert steps[1999:2003] == [2001, 2003, 2005, 2007]
    unknown = EvaluationRecord(50.0, 4000, 4000, None, float("inf"), 7)
    assert list(scalars.take(unknown)) == []


@pytest.mark.slow
def test_tables_are_written_as_csv(emulate: Emulate, tmp_path: Path) -> None:
    folder = Synthetic(updates=60).write(tmp_path / "run")
    said = emulate("export", folder, "--format", "csv", "--out", tmp_path / "out")
    assert said.code == 0, said.err
    assert [Path(line).name for line in said.out.split()] == [f"{name}.csv" for name in TABLES]
    runs = load(folder)
    for name, columns in TABLES.items():
        frame = pd.read_csv(tmp_path / "out" / f"{name}.csv", dtype=dict(columns))
        pd.testing.assert_frame_equal(frame, getattr(runs, name))
    made = [path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")]
    assert {path.suffix for path in made} == {".csv"}


def test_a_wrong_run_or_place_is_refused(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = emulate("export", "nobody", "--format", "csv")
    assert (wrong.code, wrong.err.split(":")[1]) == (1, " no run 'nobody' in runs/")
    folder = Synthetic(updates=10).write(tmp_path / "run")
    (tmp_path / "taken").write_text("")
    for form in ("csv", "tensorboard"):
        refused = emulate("export", folder, "--format", form, "--out", tmp_path / "taken")
        assert (refused.code, "cannot write" in refused.err) == (1, True), refused
    with (folder / "run.jsonl").open("a") as log:
        log.write("{}\n")
    for form in ("csv", "tensorboard"):
        damaged = emulate("export", folder, "--format", form, "--out", tmp_path / form)
        assert (damaged.code, "run.jsonl:" in damaged.err) == (1, True), damaged
        assert not [*tmp_path.glob(f"{form}/*")]


@pytest.mark.slow
def test_parquet_needs_a_package(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Synthetic(updates=60).write(tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr("analysis.tables.loading.find_spec", lambda name: None)
        refused = emulate("export", folder, "--format", "parquet")
        assert (refused.code, "pip install 'edge-emulate[parquet]'" in refused.err) == (1, True)
        assert not (folder / "parquet").exists()
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    assert emulate("export", folder, "--format", "parquet").code == 0
    frame = pd.read_parquet(folder / "parquet" / "updates.parquet")
    pd.testing.assert_frame_equal(frame, load(folder).updates)


@pytest.mark.tensorflow
def test_tensorflow_reads_the_events(tmp_path: Path) -> None:
    """Its reader compares every checksum."""
    from tensorflow.python.summary.summary_iterator import summary_iterator

    file = EventFile(tmp_path, "run", 1e9)
    values = {"loss": 0.5, "bytes": 1e30, "huge": 1e60}
    for step in (0, 127, 128, 10**9):
        file.write(step + 0.25, step, values)
    file.close()
    first, *events = summary_iterator(str(file.path))
    assert first.file_version == "brain.Event:2"
    assert [event.step for event in events] == [0, 127, 128, 10**9]
    for event in events:
        assert event.wall_time == 1e9 + event.step + 0.25
        read = {value.tag: value.simple_value for value in event.summary.value}
        assert read == pytest.approx({**values, "huge": float("inf")})
