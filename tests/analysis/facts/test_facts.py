"""What the analysis says of a run is what its folder says, and half a run is no error."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis import Run, RunError, read
from analysis.facts import traffic
from analysis.facts.allowance import allowances
from analysis.facts.devices import devices, loss, mbit
from analysis.facts.message_bytes import byte_models, push_ratio, pushed_by_kind
from analysis.facts.reconcile import reconcile
from analysis.pages.agreement import agreement
from analysis.pages.compare import compare
from analysis.pages.run_warnings import warnings
from analysis.reading.runs import COLUMNS
from analysis.tables import tidy
from emulator.log.records import KINDS
from tests.fakes.runs.handmade_run import act, due, traffic_record, update, written
from tests.fakes.runs.synthetic_run import Synthetic


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Synthetic(updates=1000).write(tmp_path_factory.mktemp("run") / "one")


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return read(folder)


# -- reading ---------------------------------------------------------------------------------------


def test_a_run_is_read_as_it_was_written(folder: Path, run: Run) -> None:
    lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    for what in {line["what"] for line in lines}:
        wanted = [line["at"] for line in lines if line["what"] == what]
        assert run.records(what)["at"].to_list() == wanted
    assert run.notes == ()
    assert run.outcome == "success"
    assert run.summary["updates"] == len(run.records("update")) == 1000


def test_records_that_never_came_are_an_empty_frame_with_its_columns(run: Run) -> None:
    assert run.records("refused").empty
    assert list(run.records("refused").columns) == ["at", "node", "reason", "count"]
    assert "at" in run.records("nobody-knows-it").columns


def test_a_last_line_that_broke_off_is_left_out_and_noted(tmp_path: Path) -> None:
    written(tmp_path, [update(1.0), update(2.0)])
    log = tmp_path / "run.jsonl"
    log.write_text(log.read_text()[:-20])
    cut = read(tmp_path)
    assert cut.records("update")["at"].to_list() == [1.0]
    assert any("breaks off" in note for note in cut.notes)


def test_a_damaged_line_elsewhere_is_an_error_with_its_place(tmp_path: Path) -> None:
    written(tmp_path, [update(1.0)])
    log = tmp_path / "run.jsonl"
    log.write_text('{"at": 1.0, "wh\n' + log.read_text())
    with pytest.raises(RunError, match=r"run\.jsonl:1: not a line of JSON"):
        read(tmp_path)


def test_what_is_no_run_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run's folder"):
        read(tmp_path / "nowhere")
    (tmp_path / "summary.json").write_text("[1]")
    with pytest.raises(RunError, match="a list where a mapping was expected"):
        read(tmp_path)


def test_a_missing_summary_is_noted_and_the_records_stand_in(tmp_path: Path) -> None:
    Synthetic(devices=2, updates=50).write(tmp_path)
    whole = read(tmp_path)
    (tmp_path / "summary.json").unlink()
    partial = read(tmp_path)
    assert partial.outcome == "unfinished"
    assert any("summary.json is missing" in note for note in partial.notes)
    assert push_ratio(partial) == pytest.approx(push_ratio(whole), rel=1e-3)
    result, guessed = compare([whole]), compare([partial])
    assert guessed["updates"].iloc[0] == result["updates"].iloc[0] == 50


# -- traffic, devices ------------------------------------------------------------------------------


def test_rates_are_what_the_counters_gained_between_readings(tmp_path: Path) -> None:
    readings = [(1.0, 0, 100), (2.0, 500_000, 100), (4.0, 750_000, 200)]
    run = written(tmp_path, [traffic_record(at, "a", rx, tx) for at, rx, tx in readings])
    table = traffic.rates(run)
    rx = table[table["what"] == "rx"]
    assert rx[["at", "until", "bytes"]].to_numpy().tolist() == [[1, 2, 500_000], [2, 4, 250_000]]
    assert rx["mbit"].to_list() == [4.0, 1.0]
    assert traffic.totals(run).loc["a"].to_dict() == {"rx": 750_000, "tx": 200}


def test_a_counter_that_fell_began_again_at_the_boot(tmp_path: Path) -> None:
    boot = act(8.0, "boot", "a", "crash", 8.0)
    readings = [traffic_record(1.0, "a", 900, 0), traffic_record(9.0, "a", 100, 0)]
    run = written(tmp_path, [readings[0], boot, readings[1]])
    rx = traffic.rates(run).query("what == 'rx'")
    assert rx[["at", "until", "bytes"]].to_numpy().tolist() == [[8.0, 9.0, 100]]
    assert traffic.totals(run).loc["a", "rx"] == 1000


def test_a_counter_that_fell_without_a_boot_counts_nothing_twice(tmp_path: Path) -> None:
    boot = act(2.5, "boot", "a", "crash", 2.5)
    readings = [(1.0, 900), (2.0, 500), (3.0, 700), (4.0, 1000), (5.0, 1100)]
    records = [traffic_record(at, "a", rx, 0) for at, rx in readings]
    run = written(tmp_path, [*records[:2], boot, *records[2:]])
    rx = traffic.rates(run).query("what == 'rx'")
    assert rx["bytes"].to_list() == [0, 0, 100, 100]
    assert traffic.totals(run).loc["a", "rx"] == 1100


def test_the_busiest_stretch_is_as_long_as_wanted(tmp_path: Path) -> None:
    gained = [0, 1, 1, 4, 1, 1]  # Mbit in each second
    counts = [sum(gained[: place + 1]) * 125_000 for place in range(len(gained))]
    run = written(tmp_path, [traffic_record(at, "a", rx, 0) for at, rx in enumerate(counts)])
    own = traffic.rates(run).query("what == 'rx'")
    wanted = {0.5: 4.0, 1.0: 4.0, 2.0: 2.5, 3.0: 2.0, 5.0: 1.6, 60.0: 1.6}
    assert {window: traffic.busiest(own, window) for window in wanted} == pytest.approx(wanted)
    assert traffic.busiest(own.iloc[:0], 1.0) == 0.0


def test_rebinning_keeps_the_bytes(run: Run) -> None:
    own = traffic.rates(run).query("node == 'adsl-1' and what == 'rx'")
    edges = traffic.bins(own, 3.7)
    kept = (traffic.rebin(own, edges) * (edges[1:] - edges[:-1])).sum() * 1e6 / 8
    assert kept == pytest.approx(own["bytes"].sum())


def test_devices_come_from_the_scenario_with_their_links(tmp_path: Path) -> None:
    scenario = {
        "name": "x",
        "devices": [
            {"name": "farm", "count": 2, "link": {"up": {"rate": "500kbit", "delay": "5ms"}}},
            {"name": "near", "link": None, "profile": {"name": "phone", "cpu": "9%"}},
        ],
    }
    run = written(tmp_path, [], scenario=scenario)
    assert [item.name for item in devices(run)] == ["farm-0", "farm-1", "near"]
    farm, near = devices(run)[0], devices(run)[2]
    assert (farm.rate("tx"), farm.rate("rx"), farm.link) == (0.5, None, "500kbit 5ms up")
    assert (near.link, near.profile) == ("unshaped", "phone: 9% of a core")


@pytest.mark.parametrize(
    ("side", "share"),
    [
        ({}, 0),
        ({"loss": "1%", "corrupt": "0.5%", "duplicate": "2%"}, 0.035),
        ({"loss_model": {"gemodel": {"p": "1%", "r": "9%", "1-h": "50%", "1-k": "0%"}}}, 0.05),
        (
            {
                "loss_model": {
                    "state": {"p13": "1%", "p31": "25%", "p32": "0%", "p23": "100%", "p14": "0%"}
                }
            },
            0.01 / 0.26,
        ),
    ],
)
def test_a_side_loses_by_every_key(side: dict[str, Any], share: float) -> None:
    assert loss(side) == pytest.approx(share)


def test_without_a_scenario_devices_are_those_that_the_records_name(tmp_path: Path) -> None:
    records = [update(1.0, "d-10"), update(1.0, "d-9"), traffic_record(1.0, "server", 1, 1)]
    assert [item.name for item in devices(written(tmp_path, records))] == ["d-9", "d-10"]


@pytest.mark.parametrize(
    ("rate", "wanted"),
    [
        ("20mbit", 20.0),
        ("1.5gbit", 1500.0),
        ("8kbit", 0.008),
        (2e6, 2.0),
        (None, None),
        ("x", None),
    ],
)
def test_rates_are_read_in_mbit(rate: object, wanted: float | None) -> None:
    assert mbit(rate) == wanted


# -- bytes -----------------------------------------------------------------------------------------


def test_ratios_under_all_byte_models_come_from_the_entries(tmp_path: Path) -> None:
    records = [update(float(at), entries=1000, values=4000, indices=1300) for at in range(10)]
    dense = 10 * 400_000
    run = written(tmp_path, records, summary={"outcome": "success", "dense_push_bytes": dense})
    table = byte_models(run).set_index("model")
    assert table["bytes"].to_list() == [40_000, 60_000 + 10 * 2 * 4, 80_000, 120_000, 53_100]
    assert table["ratio"].to_list() == pytest.approx([dense / held for held in table["bytes"]])
    assert pushed_by_kind(run).to_dict() == {
        "values": 40_000,
        "indices": 13_000,
        "headers": 50,
        "framing": 50,
    }


def test_the_difference_is_split_and_nothing_is_left_over(run: Run) -> None:
    sums = reconcile(run)
    assert sums is not None
    for way in (sums.rx, sums.tx, sums.both):
        parts = way.headers + way.acknowledgements + way.requests + way.connections + way.rest
        assert way.application + parts == way.interface
    assert sums.rx.application == run.summary["push_bytes"]["total"]
    assert sums.tx.application == run.summary["pull_bytes"]
    assert sums.tx.interface == run.summary["server_tx_bytes"]
    assert sums.both.interface == sums.rx.interface + sums.tx.interface
    assert not any("interface" in warning for warning in warnings(run))


@pytest.mark.parametrize("kind", ["asynchronous", "softsync"])
@pytest.mark.parametrize("cut", [False, True])
def test_a_record_of_many_pulls_counts_as_many(tmp_path: Path, cut: bool, kind: str) -> None:
    """The pulls of a node that made nothing of its models share a record; the sums are alike."""
    size = 75_300
    crossed = {"version": 0, "server_version": 1, "staleness": 0, "rows": 10, "loss": 1.5}
    crossed |= {"at": 0.9, "what": "activations", "node": "a", "up": 9_000, "down": 9_000}
    ends = [
        {"at": 0.8, "what": "pull", "node": "a", "version": 1, "bytes": size},
        *([crossed] if cut else []),
        update(1.0, "a"),
        traffic_record(0.0, "server", 0, 0),
        traffic_record(2.0, "server", 10_000, 50_000_000),
        {"at": 2.0, "what": "stop", "reason": "updates"},
    ]
    first = {"at": 0.1, "what": "pull", "node": "a", "version": 0, "bytes": size}
    later = {**first, "at": 0.2, "bytes": 511 * size, "count": 511}
    scenario = {"name": "b", "devices": [{"name": "a"}], "training": {"synchronization": kind}}
    logs = {"apart": [first] * 512, "together": [first, later]}
    apart, together = (
        written(tmp_path / name, [*pulls, *ends], scenario=scenario) for name, pulls in logs.items()
    )
    assert allowances(together) == allowances(apart)
    assert reconcile(together) == reconcile(apart)
    agreed = agreement(together, apart).set_index("quantity")
    assert (agreed["docker"].dropna() == agreed["virtual"].dropna()).all()
    assert agreed.loc["pull_bytes_per_pull", "docker"] == size
    tables = [tidy.table("pulls", each, "run") for each in (together, apart)]
    assert [table["count"].to_list() for table in tables] == [[1, 511, 1], [1] * 513]
    assert tables[0]["bytes"].sum() == tables[1]["bytes"].sum()


def test_columns_of_records_are_those_of_the_log() -> None:
    """A frame without records has each optional field that analyses read, and no made-up one."""
    for what, columns in COLUMNS.items():
        assert {*columns} <= {"at", *KINDS[what].__struct_fields__}, what
        assert ("count" in columns) == ("count" in KINDS[what].__struct_fields__), what


def exchanges(folder: Path, rx: int, tx: int, runtime: str = "docker") -> Run:
    """300 updates of 150 bytes on models of 1,270, by two devices; what the server's card saw."""
    records: list[dict] = [
        {"at": -1.0, "what": "hello", "node": node, "incarnation": 0} for node in "ab"
    ]
    for number in range(1, 301):
        node, at = "ab"[number % 2], number / 100
        pulled = {"at": at - 0.005, "what": "pull", "node": node, "version": 0, "bytes": 1270}
        weight = {"values": 40, "indices": 60, "headers": 46, "framing": 4}
        records += [pulled, update(at, node, version=number, updates=number, **weight)]
    records += [traffic_record(-1.0, "server", 0, 0), traffic_record(3.1, "server", rx, tx)]
    scenario = {"name": "made-up", "devices": [{"name": "a"}, {"name": "b"}]}
    manifest = {"runtime": runtime, "tcp": "modelled"}
    return written(folder, records, scenario=scenario, manifest=manifest)


@pytest.mark.parametrize(
    ("rx", "tx"),
    [(45_000 + 49_000, 381_000 + 42_000), (45_000 + 90_000, 381_000 + 60_000)],
    ids=["measured with segmentation offload", "a frame for each segment"],
)
def test_a_short_run_of_small_messages_is_no_doubt(tmp_path: Path, rx: int, tx: int) -> None:
    """Headers of small frames are a large share of them, and there is nothing wrong in that."""
    assert warnings(exchanges(tmp_path, rx, tx)) == []


@pytest.mark.parametrize(
    ("rx", "tx", "told"),
    [
        (44_000, 423_000, "received 1 kB less than"),
        (94_000, 380_000, "sent 1 kB less than"),
        (2 * 94_000 + 100_000, 423_000, "received 83.9 kB more than"),
        (94_000, 2 * 381_000, "sent 266 kB more than"),
    ],
)
def test_sums_that_disagree_are_a_doubt(tmp_path: Path, rx: int, tx: int, told: str) -> None:
    (warning,) = warnings(exchanges(tmp_path, rx, tx))
    assert warning.startswith(f"the server's interface {told}")
    assert "the messages and their overhead explain" in warning


def test_a_model_that_was_cut_off_is_no_doubt(tmp_path: Path) -> None:
    run = exchanges(tmp_path, 94_000, 380_000)
    cut = act(1.0, "sever", "a", "partition", 1.0)
    with (run.folder / "run.jsonl").open("a") as log:
        log.write(json.dumps(cut) + "\n")
    assert warnings(read(run.folder)) == []


def test_faults_of_an_older_version_are_named_as_left_out(tmp_path: Path) -> None:
    """Its records lack `begins`: a report would show a run without faults."""
    killed = act(3.0, "kill", "a", "crash", 3.0)
    del killed["begins"]
    planned = [due(3.0, "kill", "a", "crash")]
    run = written(tmp_path, [update(1.0), killed, update(9.0)], planned)
    assert run.faults_begun == 0
    assert any("faults, without `begins`" in note for note in run.notes)
    assert run.faults_left_out and not any("never happened" in warning for warning in warnings(run))
