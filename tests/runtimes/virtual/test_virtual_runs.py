"""Whole runs in virtual time: they repeat to the byte, and are told like any other run."""

import json
import os
import resource
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from analysis import read as read_run
from analysis.doubts import doubts
from analysis.figures import link_rates
from emulator.errors import HostError, ScenarioError
from emulator.log.records import Record, UpdateRecord
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import load, loads
from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import SCENARIO, Onlooker, digits, played

OVERLAPPING = SCENARIO.replace(
    "faults:",
    """faults:
  - {kind: crash, nodes: [adsl], at: 2s, lasts: 500ms}
  - {kind: crash, nodes: [adsl-1], at: 2.2s, lasts: 3s}
  - {kind: partition, nodes: [adsl-2], at: 1.9s, lasts: 2s}""",
)
HOME = """
description: Drops out at random.
source: None.
faults:
  - {kind: crash, per_iteration: 2%, lasts: {exponential: 1s}}
  - {kind: partition, every: {exponential: 4s}, lasts: {uniform: [100ms, 1s]}}
"""
SERVER = (
    "server={link: {up: {rate: 10mbit, delay: 1ms}, down: {rate: 2mbit, jitter: 1ms, delay: 2ms}}}"
)

Played: TypeAlias = tuple[Path, dict[str, Any], Onlooker]


def happened(folder: Path, what: str) -> list[PlainRecord]:
    return [record for record in read(folder / "run.jsonl") if record["what"] == what]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The scenario played as it stands, to be looked at."""
    return played(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def overlapping(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The same scenario with overlapping faults."""
    return played(tmp_path_factory.mktemp("overlapping"), text=OVERLAPPING)


@pytest.fixture
def flaky(tmp_path: Path) -> str:
    (tmp_path / "home.yaml").write_text(HOME)
    text = SCENARIO.replace("updates: 400", "updates: 400, time: 5min")
    return text.replace("link: fios}", f"link: fios, failures: [{tmp_path / 'home.yaml'}]}}")


# -- the same again --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param((), id="as it is"),
        pytest.param((SERVER, "training.algorithm=asgd"), id="behind a shared link"),
        pytest.param(
            (
                "training={dataset: digits, model: digits-mlp, codec: {kind: topk, keep: 5%}, "
                "error_feedback: true, synchronization: {kind: barrier, patience: 2s}}",
            ),
            id="in lockstep",
        ),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SCENARIO, id="faults", marks=pytest.mark.slow),  # they are among the others
        pytest.param(OVERLAPPING, id="overlapping faults"),
    ],
)
def test_the_same_seed_gives_the_same_bytes(
    tmp_path: Path, text: str, overrides: tuple[str, ...]
) -> None:
    logs = set()
    for cores in (1, 1, 3):
        folder, summary, _ = played(tmp_path, *overrides, text=text, cores=cores)
        assert summary["outcome"] == "success"
        logs.add((folder / "run.jsonl").read_bytes())
    assert len(logs) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        ["synchronization={kind: bounded, bound: 1, patience: 500ms}"],
        ["synchronization={kind: softsync, splits: 2}"],
        ["synchronization={kind: fedavg, clients: 50%, patience: 1500ms}"],
        ["synchronization={kind: local-sgd, steps: 4, local_rate: 0.2, patience: 1500ms}"],
        ["optimizer={kind: momentum, momentum: 0.5}"],
        ["optimizer={kind: adam, epsilon: 0.01}", "learning_rate=0.005"],
    ],
    ids=lambda overrides: overrides[0].split("kind: ")[1].split(",")[0],
)
def test_every_way_to_train_learns_and_repeats(tmp_path: Path, overrides: list[str]) -> None:
    """Through a crash and a partition, some longer than anybody's patience."""
    parts = "codec: {kind: topk, keep: 5%}, modulation: staleness, error_feedback: true"
    training = f"training={{dataset: digits, model: digits-mlp, batch_size: 8, {parts}}}"
    changed = [f"training.{override}" for override in overrides]
    logs = set()
    for cores in (1, 3):
        folder, summary, _ = played(tmp_path, training, *changed, cores=cores)
        assert (summary["outcome"], summary["updates"] >= 400) == ("success", True)
        assert summary["final_accuracy"] > 0.9
        logs.add((folder / "run.jsonl").read_bytes())
    assert len(logs) == 1


def test_local_training_takes_its_time_and_fewer_bytes(tmp_path: Path) -> None:
    """Also in a run without training, in which all devices count as having equal data."""
    world = ("faults=[]", "stop={updates: 50}", "virtual.step=20ms", "training.algorithm=")
    for learner, examples in (("numpy", 400), ("none", 1437)):
        steps = 2 * -(-(examples // 5) // 8)
        folder, *_ = played(
            tmp_path,
            *world,
            "training.codec=dense",
            "training.synchronization={kind: fedavg, clients: 100%, epochs: 2}",
            f"virtual.learner={learner}",
        )
        updates = happened(folder, "update")
        fiber = [record["compute"] for record in updates if record["node"] == "fiber-0"]
        assert fiber == pytest.approx([steps * 0.02 / 0.4] * len(fiber), rel=0.1)
        assert len({record["at"] for record in updates}) == len(updates) / 5


def test_an_epoch_longer_than_patience_teaches_all_the_same(tmp_path: Path) -> None:
    """Rounds end without updates, so devices still learn from the current model."""
    folder, summary, _ = played(
        tmp_path,
        "faults=[]",
        "stop={time: 1min}",
        "virtual={learner: none, step: 30ms, boot: 50ms}",
        "training.algorithm=",
        "training.codec=dense",
        "training.synchronization={kind: fedavg, clients: 100%, patience: 1s}",
    )
    assert summary["updates"] > 15 and summary["outcome"] == "success"
    late = {record["node"] for record in happened(folder, "refused")}
    assert late <= {"adsl-0", "adsl-1", "adsl-2"}  # the slower ones: fiber has made steps meanwhile


def test_drawn_faults_repeat_too(tmp_path: Path, flaky: str) -> None:
    first, _, _ = played(tmp_path, text=flaky)
    again, _, _ = played(tmp_path, text=flaky, cores=2)
    assert (first / "run.jsonl").read_bytes() == (again / "run.jsonl").read_bytes()
    assert {r["node"] for r in happened(first, "kill")} >= {"adsl-0", "fiber-0", "fiber-1"}


def test_another_seed_is_another_run(tmp_path: Path, plain: Played) -> None:
    one, _, _ = plain
    other, _, _ = played(tmp_path, "seed=4")
    assert (one / "run.jsonl").read_bytes() != (other / "run.jsonl").read_bytes()


def test_what_a_run_keeps_of_its_scenario_repeats_it(tmp_path: Path, plain: Played) -> None:
    folder, _, _ = plain
    with digits():
        again, _ = play(load(folder / "scenario.yaml"), tmp_path, Onlooker(), cores=1)
    assert (folder / "run.jsonl").read_bytes() == (again / "run.jsonl").read_bytes()


def test_one_more_device_changes_nobody_elses_luck(tmp_path: Path) -> None:
    """Devices share nothing here: every device has a pace and a random stream of its own."""
    text = SCENARIO.replace("learner: numpy", "learner: none").replace("updates: 400", "time: 5s")
    few, _, _ = played(tmp_path, text=text)
    many, _, _ = played(tmp_path, "devices[1].count=4", text=text)
    for node in ("adsl-0", "adsl-2", "fiber-1"):
        one, other = (
            [record["at"] for record in happened(folder, "update") if record["node"] == node]
            for folder in (few, many)
        )
        assert len(one) > 10
        # a version with one more digit makes a message a byte longer
        assert one == pytest.approx(other, abs=1e-4)


# -- what is told ----------------------------------------------------------------------------------


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


def test_bytes_are_those_of_the_wire(tmp_path: Path) -> None:
    """And the interface's count is theirs as frames, but for what comes back of each."""
    folder, summary, _ = played(tmp_path, "virtual.tcp=false", "faults=[]")
    pulled = sum(record["bytes"] for record in happened(folder, "pull"))
    assert pulled == summary["pull_bytes"] + summary["evaluation_pull_bytes"]
    assert summary["server_tx_bytes"] == pytest.approx(pulled * 1514 / 1448, rel=0.05)
    assert summary["server_rx_bytes"] > summary["push_bytes"]["total"] * 1514 / 1448


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
    assert doubts(read_run(folder)) == []


SPARSE = "training={dataset: digits, model: digits-mlp, codec: {kind: topk, keep: 0.1%}"


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
    assert doubts(read_run(folder)) == []


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
    assert doubts(run) == []
    table = link_rates.table([run]).set_index(["node", "what"])
    assert table["share"].max() < 1.05
    full = {"adacomp": [("dsl", "rx"), ("skew", "tx")], "asgd": [("dial", "tx"), ("dsl", "tx")]}
    assert set(table.loc[full[algorithm], "verdict"]) == {"saturated"}


def test_faults_come_when_they_are_planned(overlapping: Played) -> None:
    folder, _, _ = overlapping
    done = [(r["at"], r["what"], r["node"]) for r in read(folder / "run.jsonl") if "fault" in r]
    assert (1.0, "kill", "adsl-0") in done
    assert (2.5, "boot", "adsl-0") in done
    # struck twice, or again as it comes back, it is down until the later end
    assert [one for one in done if one[2] == "adsl-1"] == [
        (2.0, "kill", "adsl-1"),
        (5.2, "boot", "adsl-1"),
    ]


def test_a_dead_device_pushes_nothing_and_says_hello_when_it_is_back(plain: Played) -> None:
    folder, _, _ = plain
    (back,) = [r for r in happened(folder, "hello") if r["incarnation"] == 1]
    assert (back["node"], back["at"]) == ("adsl-0", pytest.approx(2.0 + 0.45, abs=0.15))
    quiet = [r["at"] for r in happened(folder, "update") if r["node"] == "adsl-0"]
    assert not [at for at in quiet if 1.1 < at < back["at"]]


def test_a_severed_device_goes_on_where_it_was(tmp_path: Path) -> None:
    folder, _, _ = played(tmp_path, "virtual.tcp=false")
    times = [r["at"] for r in happened(folder, "update") if r["node"] == "fiber-0"]
    assert not [at for at in times if 1.6 < at < 2.5]
    assert [at for at in times if 2.5 < at < 2.7]


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
    (back,) = (one["at"] for one in happened(folder, "hello") if one["incarnation"])
    assert back == pytest.approx(4 + 1 / 0.05, abs=0.2)  # not those of the boot before it, too


# -- traffic only ----------------------------------------------------------------------------------


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


# -- ends ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "outcome", "detail"),
    [
        (["stop={accuracy: 40%, updates: 500}"], ("success", "accuracy"), ""),
        (["stop={time: 2s}"], ("success", "time"), ""),
        (["stop={time: 1ms}"], ("failed", "time"), "no update was applied"),
        (["training.learning_rate=1e30"], ("failed", "diverged"), "most workers'"),
        (
            ["faults=[{kind: crash, nodes: [adsl, fiber], at: 1s}]"],
            ("failed", "failed"),
            "every device is down or cut off for good",
        ),
        (
            ["faults=[{kind: partition, nodes: [adsl, fiber], at: 1s}]"],
            ("failed", "failed"),
            "every device is down or cut off for good",
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

    from emulator.scenario import loads

    view = Broken()
    with digits(), pytest.raises(RuntimeError, match="the view broke"):
        play(loads(SCENARIO), tmp_path, view, cores=1)
    folder = (tmp_path / "tiny" / "latest").resolve()
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["outcome"], summary["updates"]) == ("failed", 50)
    assert summary["detail"] == "the view broke"


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


def test_a_delta_changes_nothing_but_the_bytes(tmp_path: Path) -> None:
    """Where no link makes a smaller message quicker."""
    unshaped = ["devices[0].link={}", "devices[1].link={}", "faults=[]"]
    logs = []
    for pull in ("dense", "delta"):
        folder, _, _ = played(tmp_path, *unshaped, f"training.pull={{kind: {pull}}}")
        updates = happened(folder, "update") + happened(folder, "evaluation")
        logs.append(json.dumps(updates))
    assert logs[0] == logs[1]


def test_a_signal_before_the_run_has_begun(tmp_path: Path) -> None:
    """No node has said hello: there is no traffic to sample, but the folder is complete."""

    class Impatient(Onlooker):
        def progress(self, text: str) -> None:
            if text == "5 devices":
                os.kill(os.getpid(), signal.SIGTERM)

    with digits():
        folder, summary = play(loads(SCENARIO), tmp_path, Impatient(), cores=1)
    assert summary["outcome"] == "canceled"
    assert [record["what"] for record in read(folder / "run.jsonl")] == ["stop"]


class Remover(Onlooker):
    """Removes the run's folder once the run goes on."""

    def __init__(self, runs: Path) -> None:
        super().__init__()
        self.runs = runs

    def beat(self, now: float) -> None:
        shutil.rmtree(self.runs, ignore_errors=True)


def test_a_folder_that_is_removed_in_the_middle(tmp_path: Path) -> None:
    with digits(), pytest.raises(HostError, match="was moved or removed while the run went on"):
        play(loads(SCENARIO), tmp_path / "runs", Remover(tmp_path / "runs"), cores=1)


def test_a_disk_that_takes_no_more(tmp_path: Path) -> None:
    """Files may not grow beyond 40 kB here, which the system says in the words of a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, limits[1]))
    try:
        with digits(), pytest.raises(HostError, match="cannot be written: File too large") as told:
            play(loads(SCENARIO), tmp_path, Onlooker(), cores=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(told.value).count("\n") == 0
