"""What the nodes left behind becomes a run folder that is complete, also after the worst."""

import errno
import io
import json
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.errors import EmulatorError
from emulator.log.merging import merge
from emulator.runs import results
from emulator.runs.folder import RunFolder
from tests.fakes.plain_records import PlainRecord, read, written

SERVER = [
    {"at": -0.5, "what": "hello", "node": "a"},
    {"at": 0, "what": "start"},
    {"at": 9.0, "what": "stop", "reason": "updates"},
]
DEVICES = [{"at": 3.0, "what": "kill", "node": "a"}, {"at": 10.0, "what": "traffic", "node": "a"}]


def write(path: Path, records: list[PlainRecord]) -> None:
    path.write_bytes(written(records))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "20250101T120000Z-abc123", "abc123")
    made.server.mkdir(parents=True)
    made.work.mkdir()
    write(made.server / "run.jsonl", SERVER)
    write(made.reports, DEVICES)
    return made


def test_two_authors_one_log_with_the_end_at_its_end(folder: RunFolder) -> None:
    results.gather(folder)
    records = list(read(folder.records))
    assert [r["what"] for r in records] == ["hello", "start", "kill", "traffic", "stop"]
    assert not folder.server.exists()
    assert not folder.reports.exists()


def test_the_conductor_has_the_last_word(folder: RunFolder) -> None:
    results.gather(folder, {"reason": "failed", "detail": "no room"})
    *others, last = read(folder.records)
    assert "stop" not in {record["what"] for record in others}
    assert last == {"at": 9.0, "what": "stop", "reason": "failed", "detail": "no room"}


@pytest.mark.parametrize(
    "left, kept",
    [
        (["model.npz"], b"model.npz"),
        (["checkpoint.npz"], b"checkpoint.npz"),
        (["model.npz", "checkpoint.npz"], b"model.npz"),
        ([], None),
    ],
)
def test_the_last_model_there_is(folder: RunFolder, left: list[str], kept: bytes | None) -> None:
    for name in left:
        (folder.server / name).write_bytes(name.encode())
    results.gather(folder)
    model = folder.path / "model.npz"
    assert (model.read_bytes() if model.exists() else None) == kept


@pytest.mark.parametrize(
    "reports, at", [(DEVICES, 10.0), ([], 0.0), ([{"at": 3.0, "what": "kill"}], 3.0)]
)
def test_a_server_that_left_nothing(
    folder: RunFolder, reports: list[PlainRecord], at: float
) -> None:
    (folder.server / "run.jsonl").unlink()
    write(folder.reports, reports)
    results.gather(folder, {"reason": "failed"})
    last = {"at": at, "what": "stop", "reason": "failed"}
    assert list(read(folder.records)) == [*reports, last]


def test_a_run_whose_conductor_was_killed(folder: RunFolder) -> None:
    with (folder.server / "run.jsonl").open("ab") as log:
        log.write(b'{"at":9.5,"wha')  # the server was killed, too
    (folder.server / "checkpoint.npz").write_bytes(b"the last one")
    results.recover(folder.path)
    assert list(read(folder.records)) == [*SERVER[:2], *DEVICES, SERVER[2]]
    assert (folder.path / "model.npz").read_bytes() == b"the last one"
    assert not folder.work.exists()
    before = folder.records.stat().st_mtime_ns
    results.recover(folder.path)
    assert folder.records.stat().st_mtime_ns == before


def test_a_run_that_was_resumed_meanwhile_is_left_alone(folder: RunFolder) -> None:
    """The caller has looked before, when nobody conducted the run."""
    with folder.taken(), pytest.raises(EmulatorError, match=r"is running \(process \d+\)"):
        results.recover(folder.path)
    assert folder.work.exists() and folder.server.exists() and not folder.records.exists()


def test_a_run_that_can_be_resumed_keeps_the_files_of_its_nodes(folder: RunFolder) -> None:
    state = folder.server / "durable" / "state-0.npz"
    state.parent.mkdir()
    state.write_bytes(b"state")
    (folder.server / "checkpoint.npz").write_bytes(b"the first one")
    assert results.recover(folder.path)
    model, whole = folder.path / "model.npz", [*SERVER[:2], *DEVICES, SERVER[2]]
    assert (list(read(folder.records)), model.read_bytes()) == (whole, b"the first one")
    kept = {state, folder.server / "run.jsonl", folder.server / "checkpoint.npz", folder.reports}
    assert kept <= {*folder.path.rglob("*")}

    # resumed, and dead once more
    results.forget_results(folder)
    assert not folder.records.exists() and not model.exists()
    more: list[PlainRecord] = [*SERVER[:2], {"at": 5.0, "what": "goodbye", "node": "a"}]
    write(folder.server / "run.jsonl", more)
    (folder.server / "checkpoint.npz").write_bytes(b"a later one")
    assert results.recover(folder.path)
    assert list(read(folder.records)) == [*SERVER[:2], DEVICES[0], more[2], DEVICES[1]]
    assert model.read_bytes() == b"a later one"

    # resumed, and over
    results.gather(folder)
    assert model.read_bytes() == b"a later one"
    assert not folder.server.exists() and not results.recover(folder.path)


def test_nothing_to_recover(tmp_path: Path) -> None:
    results.recover(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_merged_stays(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*anything: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(folder.path.rglob("*"))
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(results, "merge", full)
        results.gather(folder)
    assert sorted(folder.path.rglob("*")) == before
    results.recover(folder.path)
    assert folder.records.is_file()


# -- many records ----------------------------------------------------------------------------------


@given(
    logs=st.lists(
        st.lists(st.sampled_from([-1.5, 0, 0.25, 7.0]), max_size=8), min_size=1, max_size=3
    )
)
@settings(max_examples=50, deadline=None)
def test_a_merge_sorts_by_time_and_ties_keep_their_order(logs: list[list[float]]) -> None:
    records = [
        [{"at": at, "what": "x", "of": number, "n": n} for n, at in enumerate(log)]
        for number, log in enumerate(logs)
    ]
    with TemporaryDirectory() as place:
        paths = [Path(place) / f"{number}.jsonl" for number in range(len(logs))]
        for path, log in zip(paths, records, strict=True):
            write(path, log)
        sink = io.BytesIO()
        merge([*paths, Path(place) / "missing.jsonl"], sink)
    merged = [json.loads(text) for text in sink.getvalue().splitlines()]
    assert merged == sorted((one for log in records for one in log), key=lambda one: one["at"])


@pytest.mark.slow
def test_a_merge_keeps_times_and_places_only(folder: RunFolder) -> None:
    """Records weigh some 1.1 KB each in memory; a run of an hour has hundreds of thousands."""
    count = 20_000
    update = {"what": "update", "node": "home-7", "staleness": 3, "loss": 0.5, "values": 1200}
    write(folder.server / "run.jsonl", [{"at": n / 100, **update} for n in range(count)])
    write(folder.reports, [{"at": n / 2, "what": "traffic", "rx": n, "tx": n} for n in range(99)])
    tracemalloc.start()
    results.gather(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(1 for _ in read(folder.records)) == count + 99
    assert peak < 80 * count


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    results.write_json(path, {"updates": 1})
    with pytest.raises(ValueError):
        results.write_json(path, {"loss": float("nan")})
    assert json.loads(path.read_text()) == {"updates": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("durable", [False, True])
def test_two_that_recover_one_run_at_once_destroy_nothing(
    durable: bool, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second begins when the first has half of the log; it is refused, and may come again."""
    if durable:
        (folder.server / "durable").mkdir()
    refused: list[str] = []

    def second(logs: Any, sink: Any, last: Any = None) -> None:
        sink.write(b"half of ")
        with monkeypatch.context() as alone:
            alone.setattr(results, "merge", merge)
            try:
                results.recover(folder.path)
            except EmulatorError as error:
                refused.append(str(error))
        sink.seek(0)
        sink.truncate()
        merge(logs, sink, last)

    with monkeypatch.context() as patched:
        patched.setattr(results, "merge", second)
        results.recover(folder.path)
    assert refused == [f"{folder.path.name} is being resumed or gathered by another process"]
    whole = [*SERVER[:2], *DEVICES, SERVER[2]]
    assert list(read(folder.records)) == whole
    results.recover(folder.path)
    assert list(read(folder.records)) == whole
    assert not list(folder.path.glob("*.pid"))
