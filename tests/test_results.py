"""What the nodes left behind becomes a run folder that is complete, also after the worst."""

import json
from pathlib import Path

import pytest

from emulator import results, runlog
from emulator.folder import RunFolder

SERVER = [
    {"at": -0.5, "what": "hello", "node": "a"},
    {"at": 0, "what": "start"},
    {"at": 9.0, "what": "stop"},
]
DEVICES = [{"at": 3.0, "what": "kill", "node": "a"}, {"at": 10.0, "what": "traffic", "node": "a"}]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "20250101T120000Z-abc123", "abc123")
    made.server.mkdir(parents=True)
    made.work.mkdir()
    results.write_log(made.server / "run.jsonl", SERVER)
    return made


def test_two_authors_one_log(folder: RunFolder) -> None:
    records = results.gather(folder, folder.server, DEVICES)
    assert [r["what"] for r in records] == ["hello", "start", "kill", "stop", "traffic"]
    assert list(runlog.read(folder.records)) == records
    assert not folder.server.exists()


def test_a_score_that_came_late_stands_where_it_is_booked(folder: RunFolder) -> None:
    late = {"at": 4.0, "what": "evaluation", "scored": 8.5}
    own = [*SERVER[:2], {"at": 6.0, "what": "update"}, late, SERVER[2]]
    results.write_log(folder.server / "run.jsonl", own)
    results.gather(folder, folder.server, DEVICES)
    times = [record["at"] for record in runlog.read(folder.records)]
    assert times == [-0.5, 0, 3.0, 4.0, 6.0, 9.0, 10.0]


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
    results.gather(folder, folder.server, DEVICES)
    model = folder.path / "model.npz"
    assert (model.read_bytes() if model.exists() else None) == kept


def test_a_server_that_left_nothing(folder: RunFolder) -> None:
    (folder.server / "run.jsonl").unlink()
    assert results.gather(folder, folder.server, DEVICES) == DEVICES


def test_a_run_whose_conductor_was_killed(folder: RunFolder) -> None:
    with (folder.server / "run.jsonl").open("ab") as log:
        log.write(b'{"at":9.5,"wha')  # the server was killed, too
    (folder.server / "checkpoint.npz").write_bytes(b"the last one")
    results.recover(folder.path)
    assert list(runlog.read(folder.records)) == SERVER
    assert (folder.path / "model.npz").read_bytes() == b"the last one"
    assert not folder.work.exists()
    before = folder.records.stat().st_mtime_ns
    results.recover(folder.path)
    assert folder.records.stat().st_mtime_ns == before


def test_nothing_to_recover(tmp_path: Path) -> None:
    results.recover(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    results.write_json(path, {"updates": 1})
    with pytest.raises(ValueError):
        results.write_json(path, {"loss": float("nan")})
    assert json.loads(path.read_text()) == {"updates": 1}
    assert list(tmp_path.iterdir()) == [path]
