"""Activations of cut models in tables, figures and sums: a kind of their own."""

from pathlib import Path

import pytest

from analysis.facts.message_bytes import cut_bytes
from analysis.facts.reconcile import reconcile
from analysis.figures import bytes_by_kind
from analysis.pages.agreement import agreement, readable
from analysis.pages.compare import compare, text
from analysis.pages.report import report
from analysis.pages.run_warnings import warnings
from analysis.reading.protocol import sentence
from analysis.reading.runs import Run
from analysis.tables import byte_tables, fault_tables, sections
from analysis.tables.device_tables import device_columns, per_device
from emulator.cli.watching.progress import Progress
from emulator.cli.watching.run_views import status
from emulator.log.records import made
from tests.fakes.plain_records import PlainRecord, full
from tests.fakes.runs.handmade_run import traffic_record, update, written

UP, DOWN = 125_500, 125_480
SCENARIO = {"name": "merged", "devices": [{"name": "a"}, {"name": "b"}]}


def activations(at: float, node: str) -> PlainRecord:
    facts = {"version": 0, "server_version": 1, "staleness": 0, "rows": 10, "loss": 1.5}
    return {"at": at, "what": "activations", "node": node, "up": UP, "down": DOWN, **facts}


def pull(at: float, node: str) -> PlainRecord:
    return {"at": at, "what": "pull", "node": node, "version": 0, "bytes": 75_300}


def half(at: float, node: str, version: int) -> list[PlainRecord]:
    pushed = {"values": 75_264, "indices": 0, "headers": 30, "framing": 20}
    last = update(at + 0.2, node, version=version, updates=version, **pushed)
    return [pull(at, node), activations(at + 0.1, node), last]


RECORDS = [{"at": 0, "what": "start", "devices": 2, "zero": 0}, *half(0, "a", 1), *half(1, "b", 2)]
PUSHED = 75_314


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two updates, all frames of which the server's interface counted."""
    sent = 2 * (75_300 + DOWN), 2 * (PUSHED + UP)
    headers = [sum(sent) * 66 // 1448 for _ in sent]
    readings = [
        traffic_record(0, "server", 0, 0),
        traffic_record(2, "server", sent[1] + headers[0], sent[0] + headers[1]),
    ]
    stop = {"at": 2, "what": "stop", "reason": "updates"}
    return written(tmp_path / "run", [*RECORDS, *readings, stop], scenario=SCENARIO)


def test_the_sums_have_both_directions(run: Run) -> None:
    assert cut_bytes(run) == (2 * UP, 2 * DOWN)
    assert ("activations", "502 kB", "251 kB up, 251 kB down") in sections.headline(run)
    assert [row[1:] for row in byte_tables.at_the_cut(run)] == [
        ("251,000", "125,500.0"),
        ("250,960", "125,480.0"),
        ("501,960", "250,980.0"),
    ]


def test_the_interface_counts_them_with_pushes_and_models(run: Run) -> None:
    sums = reconcile(run)
    assert sums is not None
    assert sums.rx.application == 2 * (PUSHED + UP)
    assert sums.tx.application == 2 * (75_300 + DOWN)
    assert "activations and their gradients" in byte_tables.bytes_reconciled(run)[0][1]
    assert not [line for line in warnings(run) if "interface" in line]


def test_lost_passes_explain_bytes_without_a_record(run: Run, tmp_path: Path) -> None:
    """The device pulled, and its answer to the outputs came too late."""
    more = [pull(0.3 + 0.1 * number, "a") for number in range(6)]
    unrecorded = 6 * (UP + 2_000)
    received = 2 * (PUSHED + UP) + unrecorded
    sent = 2 * (75_300 + DOWN) + 6 * (75_300 + 2_000)
    readings = [traffic_record(0, "server", 0, 0), traffic_record(2, "server", received, sent)]
    stop = {"at": 2, "what": "stop", "reason": "updates"}
    records = [*RECORDS[:4], *more, *RECORDS[4:], *readings, stop]
    late = written(tmp_path / "late", records, scenario=SCENARIO)
    assert not [line for line in warnings(late) if "interface" in line]
    records = [*RECORDS, *readings, stop]
    odd = written(tmp_path / "odd", records, scenario=SCENARIO)
    assert [line for line in warnings(odd) if "interface" in line]


def test_the_figure_has_them_as_a_kind(run: Run) -> None:
    table = bytes_by_kind.table([run])
    assert list(table["activations"]) == [UP, UP]
    assert list(table["values"]) == [75_264, 75_264]


def test_other_runs_beside_a_cut_one_have_none(run: Run, tmp_path: Path) -> None:
    other = written(tmp_path / "other", [update(1)])
    assert list(compare([run, other])["activation_bytes"]) == [2 * (UP + DOWN), 0]
    assert "activations" in text(compare([run, other]))
    assert "activation" not in text(compare([other]))
    assert "activations" not in bytes_by_kind.table([other])
    assert list(bytes_by_kind.table([run, other])["activations"]) == [UP, UP, 0]
    assert byte_tables.at_the_cut(other) == []
    assert not [row for row in sections.headline(other) if row[0] == "activations"]


def test_runtimes_are_compared_by_them(run: Run) -> None:
    shown = readable(agreement(run, run))
    assert shown.loc["activation bytes per update"].to_list() == ["250,980", "250,980", "none"]
    assert shown.loc["activations"].to_list() == ["502 kB", "502 kB", "none"]


@pytest.mark.slow
def test_the_report_shows_them(run: Run) -> None:
    page = report(run.folder).read_text(encoding="utf-8")
    assert "Activations at the cut of the model" in page


def test_the_views_count_them_as_they_come() -> None:
    progress = Progress(devices=("a", "b"))
    progress.take(full(update(1, "a")))
    assert "activations" not in status(progress)
    progress.take(
        made("activations", **{k: v for k, v in activations(2, "a").items() if k != "what"})
    )
    assert status(progress).endswith(
        "60 B pushed, 0 B pulled, 251.0 kB both, 251.0 kB of activations"
    )


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"place": "server"}, "cut before dense (activations f32)"),
        (
            {"place": {"after": "conv0"}, "labels": "local", "values": "f16"},
            "cut behind layer conv0 (activations f16, labels on the devices)",
        ),
    ],
)
def test_the_protocol_names_the_cut(tmp_path: Path, section: dict, words: str) -> None:
    training = {"model": "mnist-cnn", "algorithm": "bsp", "fully_connected": section}
    scenario = {"name": "merged", "training": training}
    assert words in sentence(written(tmp_path / "run", RECORDS, scenario=scenario))


@pytest.mark.parametrize("crossed, both", [(None, "3"), (4000.0, "7")])
def test_both_directions_of_a_fault_have_them(
    crossed: float | None, both: str, tmp_path: Path
) -> None:
    rates = {"push_bytes_per_s": 1000.0, "pull_bytes_per_s": 2000.0}
    rates |= {} if crossed is None else {"activation_bytes_per_s": crossed}
    kind = {
        name: dict.fromkeys(("before", "during", "after"), rate) for name, rate in rates.items()
    }
    summary = {"fault_effects": {"kinds": {"crash": kind}, "faults": [], "unlisted": 0}}
    faulty = written(tmp_path / "faulty", [], summary=summary)
    (row,) = fault_tables.traffic_by_kind(faulty)
    assert row == ("crash", *3 * ["1"], *3 * ["2"], *3 * [both])


def test_each_device_has_its_activations(run: Run, tmp_path: Path) -> None:
    place = device_columns(run).index("activations")
    assert [row[place] for row in per_device(run)] == ["251 kB", "251 kB"]
    other = written(tmp_path / "other", [update(1)], scenario=SCENARIO)
    assert "activations" not in device_columns(other)
    assert {len(row) for row in per_device(other)} == {len(device_columns(other))}
