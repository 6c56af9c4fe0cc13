"""Damaged files of a run's folder: a clear error for the damaged run, and none for other runs."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.typed_commands import Emulate, Said

FILES = ("summary.json", "manifest.json", "scenario.yaml", "timeline.jsonl", "run.jsonl")
DAMAGE = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "of another type": lambda content: b"[5]\n",
    "without keys": lambda content: b"{}\n",
    "nested": lambda content: b"[" * 5_000,
    "rubbish": lambda content: bytes(range(256)) * 8,
}


@pytest.fixture
def damaged(runs: Path) -> Path:
    """The run that is to be damaged; the other one stays as it is."""
    return runs / "synthetic" / "20250102T120000Z-abc122"


def assert_clear(told: Said, place: str) -> None:
    """The command did what it was asked for, or said in one line what is wrong, and where."""
    assert told.code in (0, 1)
    if told.code:
        (line,) = told.err.splitlines()
        assert line.startswith("emulate: ")
        assert place in line


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_one_clear_error(
    emulate: Emulate, damaged: Path, file: str, damage: str
) -> None:
    path = damaged / file
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert_clear(emulate("compare", "abc122", "abc121"), file)
    assert_clear(emulate("logs", "abc122"), "abc122")
    listed = emulate("list")
    assert listed.code == 0
    assert "abc121" in listed.out
    assert "abc122" in listed.out or f"left out: runs/synthetic/{damaged.name}" in listed.err


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_run_with_a_damaged_summary_is_left_out_of_the_list(
    emulate: Emulate, damaged: Path, damage: str
) -> None:
    path = damaged / "summary.json"
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    result = emulate("list", "--json")
    assert result.code == 0
    assert [row["id"] for row in result.json] == ["abc121"]
    (line,) = result.err.splitlines()
    assert line.startswith(f"emulate: left out: runs/synthetic/{damaged.name}/summary.json: ")


MISTYPED: dict[str, list[tuple[str, Any]]] = {
    "summary.json": [
        ("outcome", 5),
        ("final_accuracy", "high"),
        ("duration_s", []),
        ("push_bytes", [1]),
        ("dense_push_bytes", float("nan")),
        ("server_rx_bytes", "many"),
        ("fidelity", {"reasons": 3}),
    ],
    "manifest.json": [
        ("host", "bench"),
        ("host", {"memory": None}),
        ("shaping", ["tbf"]),
        ("shaping", {"rate": []}),
        ("tcp", []),
        ("encrypted", {}),
    ],
    "scenario.yaml": [
        ("devices", 5),
        ("devices", ["fiber"]),
        ("devices", [{"name": "fiber", "count": "some"}]),
        ("devices", [{"name": "fiber", "link": {"up": "fast"}}]),
        ("devices", [{"name": "fiber", "profile": 7}]),
    ],
}


@pytest.mark.parametrize(
    "file, key, value",
    [(file, key, value) for file, cases in MISTYPED.items() for key, value in cases],
)
def test_a_mistyped_value_is_named_with_its_place(
    emulate: Emulate, damaged: Path, file: str, key: str, value: Any
) -> None:
    path = damaged / file
    written: Any = {".json": json.dumps, ".yaml": yaml.safe_dump}[path.suffix]
    path.write_text(written({**yaml.safe_load(path.read_text()), key: value}))
    result = emulate("compare", "abc122")
    assert_clear(result, f"{file}: {key}")
    assert emulate("list").code == 0


RECORDS = [
    ("update", "node", []),
    ("update", "values", "all"),
    ("update", "staleness", {}),
    ("update", "at", None),
    ("evaluation", "accuracy", "high"),
    ("traffic", "rx", True),
    ("traffic", "at", "noon"),
    ("pull", "bytes", "many"),
    ("traffic", "tx", 10**400),
    ("plan", "pull", [[1, 2, 3]]),
    ("plan", "kind", 7),
    ("iteration", "pushed", "none"),
    ("iteration", "t_forward", []),
]


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("what, key, value", RECORDS, ids=lambda value: repr(value)[:12])
def test_a_mistyped_record_is_named_with_its_line(
    emulate: Emulate, damaged: Path, what: str, key: str, value: Any
) -> None:
    path = damaged / "run.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    place = next(place for place, record in enumerate(records) if record["what"] == what)
    records[place][key] = value
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    result = emulate("report", "abc122")
    assert result.code == 1
    assert_clear(result, f"run.jsonl:{place + 1}: {key}: ")
    assert_clear(emulate("logs", "abc122"), "abc122")


@pytest.mark.parametrize("file", ["run.jsonl", "timeline.jsonl"])
def test_a_fault_that_neither_begins_nor_ends_is_named_with_its_line(
    emulate: Emulate, damaged: Path, file: str
) -> None:
    kill = {"at": 1.0, "what": "kill", "verb": "kill", "node": "fiber-0", "fault": "crash"}
    begun, unknown = {**kill, "begins": True}, {**kill, "begins": None}
    path = damaged / file
    other = {"at": 0.0, "what": "start", "devices": 2}
    before = [begun, other] if file == "run.jsonl" else [begun]
    path.write_text("".join(json.dumps(record) + "\n" for record in (*before, unknown)))
    result = emulate("report", "abc122")
    assert result.code == 1
    place = f"{file}:{len(before) + 1}: begins: "
    assert_clear(result, f"{place}None where true or false was expected")


def test_the_logs_of_a_run_that_was_killed_are_damaged(emulate: Emulate, damaged: Path) -> None:
    (damaged / "server").mkdir()
    (damaged / "run.jsonl").rename(damaged / "server" / "run.jsonl")
    (damaged / "server" / "run.jsonl").write_bytes(b"\xff\xfe\n")
    result = emulate("report", "abc122")
    assert result.code == 1
    assert_clear(result, "abc122: a log of its nodes is damaged")
    assert (damaged / "server" / "run.jsonl").is_file()
