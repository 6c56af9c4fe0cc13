"""A run in virtual time reads as what it is: exact, without a host, and of any size."""

import json
import re
from pathlib import Path

import pytest

from analysis import read
from analysis.facts.faults import actions
from analysis.facts.reconcile import reconcile
from analysis.pages.report import report
from analysis.pages.run_warnings import warnings
from analysis.reading import records
from analysis.reading.protocol import sentence
from analysis.tables import byte_tables, device_tables, sections
from tests.fakes.runs.handmade_run import act, due, traffic_record, update, virtual, written


@pytest.mark.parametrize("tcp", ["modelled", "ideal"])
def test_every_byte_is_accounted_for(tmp_path: Path, tcp: str) -> None:
    run = virtual(tmp_path, tcp=tcp)
    sums = reconcile(run)
    assert sums is not None
    assert sums.both.headers == 2 * 110 * 66
    assert sums.both.acknowledgements == (2 * 110 * 33 if tcp == "modelled" else 0)
    assert sums.both.connections == 0
    assert sums.both.rest == -sums.both.requests  # which this run has none of
    assert warnings(run) == []


def test_bytes_that_do_not_add_up_are_a_doubt(tmp_path: Path) -> None:
    run = virtual(tmp_path)
    run.summary["server_tx_bytes"] -= 40_000
    (warning,) = warnings(run)
    assert warning.startswith("the server's interface sent 40 kB less than the messages")
    assert "13.8 % of the bytes that the application counted" in warning


@pytest.mark.slow
def test_the_words_by_which_devices_ask_again_explain_bytes(tmp_path: Path) -> None:
    refused = {"at": 1.5, "what": "refused", "node": "home-0", "reason": "flipped", "count": 1000}
    flips = act(1.2, "garble", "home-0", "corrupt", 1.2)
    for added, known in (([refused], False), ([flips, refused], True)):
        path = virtual(tmp_path).folder
        with (path / "run.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in added)
        run = read(path)
        run.summary["server_tx_bytes"] += 100_000
        sent = [words for words in warnings(run) if "sent" in words]
        assert len(sent) == (0 if known else 1)


def test_rows_that_virtual_time_does_not_play_are_left_out(tmp_path: Path) -> None:
    rows = [row[1] for row in byte_tables.bytes_reconciled(virtual(tmp_path / "a"))]
    ideal = [row[1] for row in byte_tables.bytes_reconciled(virtual(tmp_path / "b", tcp="ideal"))]
    assert set(rows) - set(ideal) == {"acknowledgements, one for two frames"}
    assert not any("handshakes" in row or "offload" in row for row in rows)


@pytest.mark.parametrize(
    "assumed, words",
    [
        (
            {"learner": "tensorflow", "step": {"fixed": "13ms"}, "boot": {"fixed": "1s"}},
            "gradients by TensorFlow; a step takes 13ms and a boot takes 1s on a whole core; "
            "links with TCP modelled",
        ),
        (
            {"step": {"fixed": "9ms"}, "boot": {"fixed": "1s"}, "serve": {"fixed": "2ms"}},
            "a step takes 9ms, a boot takes 1s and an update takes the server 2ms on a whole core",
        ),
        ({"learner": "numpy"}, "gradients by NumPy; links with TCP modelled"),
        (
            {"step": {"normal": ["10ms", "1ms"]}},
            "nothing is learnt; a step takes normal (10ms, 1ms) on a whole core",
        ),
    ],
)
def test_the_protocol_says_what_was_assumed(tmp_path: Path, assumed: dict, words: str) -> None:
    result = sentence(virtual(tmp_path, **assumed))
    assert "Played in virtual time: " in result and words in result


def test_containers_assume_nothing(tmp_path: Path) -> None:
    scenario = {"name": "made-up", "virtual": {"learner": "none"}, "training": {"model": "m"}}
    run = written(tmp_path, [], scenario=scenario, summary={"runtime": "docker"})
    assert "virtual" not in sentence(run)


@pytest.mark.slow
def test_a_report_names_no_host_that_kept_up(tmp_path: Path) -> None:
    run = virtual(tmp_path)
    path = report(run.folder)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8")))
    for words in ("virtual time exact: no host has to keep up", "TCP modelled"):
        assert words in text
    for words in ("Before you trust", "host busy", "kernel", "engine", "offload", "nan"):
        assert words not in text
    assert sections.facts(run)[3:5] == [("runtime", "virtual time"), ("devices", "2")]


@pytest.mark.slow
def test_a_large_fleet_has_a_row_for_devices_alike(tmp_path: Path) -> None:
    run = virtual(tmp_path, devices=device_tables.MOST_DEVICES + 1)
    (row,) = device_tables.per_device(run)
    *row, staleness, gone = row
    assert tuple(row) == (
        "home × 201",
        "",
        "8mbit up, 8mbit down",
        "201",
        "2.91 MB",
        "29.1 MB",
        "32 MB",
    )
    assert (staleness, gone) == ("0", "")
    up, down = device_tables.links(run)
    assert up[:3] == ("home × 201", "tx (up)", "8")
    assert down[-1] == "no traffic: 201"  # one reading makes no rate


def test_of_many_faults_the_latest_are_listed(tmp_path: Path) -> None:
    plan = [due(float(n), "kill", f"home-{n}", "crash") for n in range(1000)]
    happened = [
        act(n + n / 1000, "kill", f"home-{n}", "crash", float(n)) for n in range(1000) if n != 3
    ]
    end = {"at": 2000.0, "what": "stop", "reason": "time"}
    run = written(tmp_path, [*happened, end], timeline=plan)
    assert len(actions(run)) == 1000
    rows = sections.faults(run)
    assert len(rows) == sections.MOST_ACTIONS
    assert (rows[0][2], rows[0][5], rows[-1][2]) == ("home-3", "never", "home-999")
    assert sections.faults_left_out(run) == 1000 - sections.MOST_ACTIONS


@pytest.mark.parametrize("block", [1, 100, 1 << 24])
def test_a_log_is_read_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(records, "_BLOCK", block)
    logged = [
        update(1.0, "a", loss=None),
        traffic_record(1.5, "a", 1, 2),
        update(2.0, "b", loss=0.5, new="word"),
        update(3.0, "c", loss=None),
    ]
    run = written(tmp_path, logged)
    updates = run.records("update")
    assert updates["at"].to_list() == [1.0, 2.0, 3.0]
    assert updates["node"].to_list() == ["a", "b", "c"]
    assert updates["loss"].fillna(-1).to_list() == [-1, 0.5, -1]
    assert updates["new"].isna().to_list() == [True, False, True]
    assert updates["loss"].dtype == float and updates["entries"].dtype == int
    (tmp_path / "run.jsonl").write_text(json.dumps(logged[0]) + "\n" + '{"at": 2.0, "wh\n{}\n')
    with pytest.raises(records.RunError, match=r"run\.jsonl:2: not a line of JSON"):
        records.by_kind(tmp_path / "run.jsonl", {}, [])
