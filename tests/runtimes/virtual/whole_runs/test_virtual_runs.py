"""Whole runs in virtual time: they repeat to the byte, and are told like any other run."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from analysis import read as read_run
from analysis.figures import link_rates
from analysis.pages.run_warnings import warnings
from tests.fakes.plain_records import read
from tests.fakes.virtual.overlapping_faults import OVERLAPPING, SERVER, Played, happened
from tests.fakes.virtual_world import played

# -- what is told ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_learns_and_its_folder_is_complete(plain: Played) -> None:
    folder, summary, view = plain
    assert {path.name for path in folder.iterdir()} >= {
        *("scenario.yaml", "manifest.json", "timeline.jsonl", "run.jsonl", "summary.json"),
        "model.npz",
    }
    assert (summary["runtime"], summary["updates"]) == ("virtual", 400)
    assert summary["final_accuracy"] > 0.5
    assert summary["fidelity"]["kept_up"]
    assert json.loads((folder / "manifest.json").read_text())["runtime"] == "virtual"
    with np.load(folder / "model.npz") as model:
        assert model["version"] == 400
    assert list(read(folder / "run.jsonl")) == json.loads(json.dumps(view.records))


@pytest.mark.slow
def test_the_log_is_in_order_and_every_record_known(overlapping: Played) -> None:
    folder, summary, _ = overlapping
    records = list(read(folder / "run.jsonl"))
    times = [record["at"] for record in records]
    assert times == sorted(times)
    counts = Counter(record["what"] for record in records)
    assert counts["update"] == 400
    assert counts["evaluation"] == 5
    assert counts["stop"] == 1
    assert summary["faults_realised"] == counts["kill"] + counts["sever"]


@pytest.mark.slow
def test_bytes_are_those_of_the_wire(tmp_path: Path) -> None:
    """And the interface's count is theirs as frames, but for what comes back of each."""
    folder, summary, _ = played(tmp_path, "virtual.tcp=false", "faults=[]")
    pulled = sum(record["bytes"] for record in happened(folder, "pull"))
    assert pulled == summary["pull_bytes"] + summary["evaluation_pull_bytes"]
    assert summary["server_tx_bytes"] == pytest.approx(pulled * 1514 / 1448, rel=0.05)
    assert summary["server_rx_bytes"] > summary["push_bytes"]["total"] * 1514 / 1448


@pytest.mark.slow
@pytest.mark.parametrize("tcp", ["true", "false"])
def test_the_evaluators_traffic_is_counted_at_both_ends(tmp_path: Path, tcp: str) -> None:
    folder, summary, _ = played(tmp_path, f"virtual.tcp={tcp}", "faults=[]")
    last = {record["node"]: record for record in happened(folder, "traffic")}
    rx, tx = last["evaluator"]["rx"], last["evaluator"]["tx"]
    assert rx == pytest.approx(summary["evaluation_pull_bytes"] * 1514 / 1448, rel=0.01)
    # an acknowledgement of 66 bytes for two full frames, beside the few bytes that it asks with
    assert (tx > rx * 33 / 1514) == (tcp == "true")
    others = [record for node, record in last.items() if node != "server"]
    assert last["server"]["rx"] == sum(record["tx"] for record in others)
    assert last["server"]["tx"] == sum(record["rx"] for record in others)


def test_what_the_server_cannot_send_is_no_refusal(tmp_path: Path) -> None:
    """The fast devices wait for the slow ones, and are cut off when their turn comes."""
    lockstep = "{kind: barrier, patience: 60s}"
    folder, summary, _ = played(
        tmp_path,
        "training={dataset: digits, model: digits-mlp, codec: {kind: topk, keep: 5%}, "
        f"synchronization: {lockstep}}}",
        "virtual.step=2s",
        "faults=[{kind: partition, nodes: [fiber], at: 6s, lasts: 30s}]",
        "stop={time: 50s}",
    )
    unsent = happened(folder, "unsent")
    assert {(record["node"], record["message"]) for record in unsent} == {
        *(("fiber-0", "model 5"), ("fiber-1", "model 5"))
    }
    pulls = [record for record in happened(folder, "pull") if record["version"] == 5]
    assert {record["bytes"] for record in unsent} <= {record["bytes"] for record in pulls}
    assert (summary["refused"], summary["unsent"]) == (0, 2)
    assert not happened(folder, "refused")
    assert warnings(read_run(folder)) == []


SPARSE = "training={dataset: digits, model: digits-mlp, codec: {kind: topk, keep: 0.1%}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        ["stop={updates: 5}"],
        ["stop={updates: 100}", f"{SPARSE}, pull: {{kind: delta}}}}"],
        ["stop={updates: 100}", f"{SPARSE}, pull: {{kind: delta}}}}", "virtual.tcp=false"],
        ["stop={updates: 100}", "server.encrypt=true", "training.algorithm=signsgd"],
        ["stop={time: 3s}", "training.algorithm=asgd", SERVER],
        ["stop={updates: 60}", f"{SPARSE}, synchronization: {{kind: barrier}}}}", "faults=[]"],
    ],
    ids=["very short", "small", "small and ideal", "encrypted", "in the midst", "in lockstep"],
)
def test_a_run_that_is_fine_gives_no_reason_for_doubt(tmp_path: Path, overrides: list[str]) -> None:
    folder, *_ = played(tmp_path, *overrides, text=OVERLAPPING)
    assert warnings(read_run(folder)) == []


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["adacomp", "asgd"])
def test_links_that_keep_to_their_rate_are_not_blamed(tmp_path: Path, algorithm: str) -> None:
    """A slow uplink: one frame is a peak, and the acknowledgements of a fast downlink a flood."""
    devices = ", ".join(
        f"{{name: {name}, link: {link}}}"
        for name, link in {
            "dial": "dial",
            "dsl": "dsl",
            "skew": "{up: {rate: 200kbit}, down: {rate: 50mbit}}",
            "slow": "{up: {rate: 20kbit}, down: {rate: 50mbit}}",
        }.items()
    )
    folder, *_ = played(
        tmp_path,
        f"devices=[{devices}]",
        "faults=[]",
        "stop={time: 2min}",
        f"training.algorithm={algorithm}",
        "virtual={learner: none, step: 20ms, boot: 50ms}",
    )
    run = read_run(folder)
    assert warnings(run) == []
    table = link_rates.table([run]).set_index(["node", "what"])
    assert table["share"].max() < 1.05
    full = {"adacomp": [("dsl", "rx")], "asgd": [("dial", "tx"), ("dsl", "tx")]}
    assert set(table.loc[full[algorithm], "verdict"]) == {"saturated"}


def test_faults_come_when_they_are_planned(overlapping: Played) -> None:
    folder, _, _ = overlapping
    done = [(r["at"], r["what"], r["node"]) for r in read(folder / "run.jsonl") if "fault" in r]
    assert (1.0, "kill", "adsl-0") in done
    assert (2.5, "boot", "adsl-0") in done
    # struck twice, or again as it comes back, it is down until the later end
    assert [item for item in done if item[2] == "adsl-1"] == [
        (2.0, "kill", "adsl-1"),
        (5.2, "boot", "adsl-1"),
    ]


def test_a_dead_device_pushes_nothing_and_says_hello_when_it_is_back(plain: Played) -> None:
    folder, _, _ = plain
    (back,) = [r for r in happened(folder, "hello") if r["incarnation"] == 1]
    assert (back["node"], back["at"]) == ("adsl-0", pytest.approx(2.0 + 0.45, abs=0.15))
    quiet = [r["at"] for r in happened(folder, "update") if r["node"] == "adsl-0"]
    assert not [at for at in quiet if 1.1 < at < back["at"]]


@pytest.mark.slow
def test_a_severed_device_goes_on_where_it_was(tmp_path: Path) -> None:
    folder, _, _ = played(tmp_path, "virtual.tcp=false")
    times = [r["at"] for r in happened(folder, "update") if r["node"] == "fiber-0"]
    assert not [at for at in times if 1.6 < at < 2.5]
    assert [at for at in times if 2.5 < at < 2.7]


@pytest.mark.slow
def test_a_cpu_quota_slows_what_computes_all_the_time(tmp_path: Path) -> None:
    unshaped = ["devices[0].link={}", "devices[1].link={}", "faults=[]", "virtual.step=20ms"]
    folder, _, _ = played(tmp_path, *unshaped, "stop={time: 20s}", "evaluate.every=100000")
    pace = Counter(r["node"].partition("-")[0] for r in happened(folder, "update"))
    assert pace["fiber"] / 2 == pytest.approx(20 * 0.40 / 0.020, rel=0.02)
    assert pace["adsl"] / 3 == pytest.approx(20 * 0.10 / 0.020, rel=0.02)


def test_work_that_a_crash_ends_is_not_owed_after_it(tmp_path: Path) -> None:
    folder, _, _ = played(
        tmp_path,
        "devices=[{name: slow, profile: {cpu: 5%}}]",
        "faults=[{kind: crash, nodes: [slow], at: 1s, lasts: 1s}, "
        "{kind: crash, nodes: [slow], at: 3s, lasts: 1s}]",
        "virtual={learner: numpy, step: 10ms, boot: 1s}",
        "stop={updates: 1000, time: 40s}",
    )
    (back,) = (item["at"] for item in happened(folder, "hello") if item["incarnation"])
    assert back == pytest.approx(4 + 1 / 0.05, abs=0.2)  # not those of the boot before it, too


# -- traffic only ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_traffic_alone_has_the_bytes_of_the_real_thing(tmp_path: Path) -> None:
    real, learnt, _ = played(tmp_path, "training.algorithm=asgd")
    traffic, counted, _ = played(tmp_path, "training.algorithm=asgd", "virtual.learner=none")
    assert counted["push_bytes"] == learnt["push_bytes"]
    assert counted["final_accuracy"] is None
    assert not (traffic / "model.npz").exists()
    kept = ("at", "node", "version", "staleness")
    assert [[r[k] for k in kept] for r in happened(traffic, "update")] == [
        [r[k] for k in kept] for r in happened(real, "update")
    ]


def test_sparse_traffic_is_about_as_large_as_the_real_thing(tmp_path: Path, plain: Played) -> None:
    _, learnt, _ = plain
    _, counted, _ = played(tmp_path, "virtual.learner=none")
    assert counted["push_bytes"]["total"] == pytest.approx(learnt["push_bytes"]["total"], rel=0.1)


# -- pulls -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pull", "least"),
    [("{kind: dense, values: f16}", 1.9), ("{kind: delta}", 3), ("{kind: delta, values: f16}", 5)],
)
def test_a_smaller_pull_is_charged_as_such(tmp_path: Path, pull: str, least: float) -> None:
    """And learns; two pulls that bring the same model make the same gradient."""
    _, whole, _ = played(tmp_path)
    folder, summary, _ = played(tmp_path, f"training.pull={pull}")
    assert summary["outcome"] == "success"
    assert summary["final_accuracy"] > 0.5
    assert whole["pull_bytes"] > least * summary["pull_bytes"]
    again, _, _ = played(tmp_path, f"training.pull={pull}", cores=3)
    assert (folder / "run.jsonl").read_bytes() == (again / "run.jsonl").read_bytes()


@pytest.mark.slow
def test_a_delta_changes_nothing_but_the_bytes(tmp_path: Path) -> None:
    """Where no link makes a smaller message quicker."""
    unshaped = ["devices[0].link={}", "devices[1].link={}", "faults=[]"]
    logs = []
    for pull in ("dense", "delta"):
        folder, _, _ = played(tmp_path, *unshaped, f"training.pull={{kind: {pull}}}")
        updates = happened(folder, "update") + happened(folder, "evaluation")
        logs.append(json.dumps(updates))
    assert logs[0] == logs[1]
