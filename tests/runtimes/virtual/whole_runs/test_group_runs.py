"""Runs of compute groups in virtual time: between a barrier and asynchronous training."""

from pathlib import Path

import numpy as np
import pytest

from analysis import read as read_run
from analysis.facts.group_updates import per_group
from analysis.pages.report import report
from analysis.pages.run_warnings import warnings
from analysis.reading.protocol import sentence
from emulator.errors import ScenarioError
from tests.fakes.virtual.overlapping_faults import happened
from tests.fakes.virtual_world import played

FLEET = 4
"""A power of two, so that a share of a step is exact."""
LINKS = (
    "devices=[{name: adsl, count: 2, link: {up: {rate: 1mbit, delay: 25ms, jitter: 3ms}, "
    "down: {rate: 8mbit, delay: 25ms}}}, {name: fiber, count: 2, profile: laptop, link: fios}]"
)
FAULTS = (
    "faults=[{kind: crash, nodes: [adsl-0], at: 1s, lasts: 1s}, "
    "{kind: partition, nodes: [fiber], at: 1.5s, lasts: 1s}, "
    "{kind: pause, nodes: [adsl-1], at: 2.5s, lasts: 1s}]"
)
PARTS = {
    "dense": "codec: dense",
    "topk": "codec: {kind: topk, keep: 5%}, modulation: per-parameter",
    "residual": "codec: adacomp-residual, modulation: staleness",
    "delta": "codec: {kind: topk, keep: 5%}, error_feedback: true, pull: {kind: delta}, "
    "optimizer: {kind: momentum, momentum: 0.5}",
    "schedule": "codec: qsgd, schedule: layer-by-layer",
}


def log(folder: Path, synchronization: str, parts: str, batch: int, *more: str) -> bytes:
    training = f"training={{dataset: digits, model: digits-mlp, batch_size: {batch}, {parts}"
    overrides = (f"{training}, synchronization: {synchronization}}}", LINKS, *more)
    return (played(folder, *overrides)[0] / "run.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("faults", [FAULTS, "faults=[]"], ids=["faults", "no-faults"])
def test_one_group_is_a_barrier_and_groups_of_one_are_asynchronous(
    tmp_path: Path, parts: str, faults: str
) -> None:
    """To the byte, where the devices' mini-batches agree, and the times."""
    more = (faults, "stop={updates: 120, time: 60s}", "evaluate.every=60")
    if "schedule" in parts:
        more = (*more, "virtual.layers={forward: [1, 1, 1], backward: [2, 2, 2]}")
    share, whole = "virtual.step={exponential: 20ms}", "virtual.step={exponential: 80ms}"
    barrier = log(tmp_path, "{kind: barrier, patience: 2s}", parts, 8, share, *more)
    one = log(tmp_path, "{kind: groups, groups: 1, patience: 2s}", parts, 32, whole, *more)
    assert one == barrier
    free = log(tmp_path, "asynchronous", parts, 8, share, *more)
    apart = log(tmp_path, "{kind: groups, groups: 4, patience: 2s}", parts, 8, share, *more)
    assert apart == free != barrier
    assert b'"group"' not in barrier + free


TWO = "{{dataset: digits, model: digits-mlp, batch_size: {batch}, codec: dense, {more}}}"


def two(batch: int = 32, assign: str = "order", more: str = "modulation: constant") -> str:
    groups = f"synchronization: {{kind: groups, groups: 2, assign: {assign}, patience: 2s}}"
    return f"training={TWO.format(batch=batch, more=f'{groups}, {more}')}"


@pytest.mark.slow
def test_updates_name_their_group_and_come_as_whole_steps(tmp_path: Path) -> None:
    folder, summary, _ = played(tmp_path, two(), LINKS, "faults=[]", "stop={updates: 200}")
    groups = {"adsl-0": 0, "adsl-1": 0, "fiber-0": 1, "fiber-1": 1}
    updates = happened(folder, "update")
    assert all(record["group"] == groups[record["node"]] for record in updates)
    for first, second in zip(updates[::2], updates[1::2], strict=True):
        assert first["at"] == second["at"] and first["group"] == second["group"]
        assert first["staleness"] == second["staleness"]
    assert len({record["node"] for record in updates}) == FLEET
    assert summary["outcome"] == "success" and summary["final_accuracy"] > 0.5
    assert warnings(read_run(folder)) == []
    slow, fast = per_group(read_run(folder))
    assert slow[:2] == ("0", "adsl-0, adsl-1") and fast[3] == "2"
    assert "batch 32 a group" in sentence(read_run(folder))
    assert "<td>fiber-0, fiber-1</td>" in report(folder).read_text()
    # fast groups wait for no slow ones
    counts = [sum(record["group"] == number for record in updates) for number in (0, 1)]
    assert counts[1] > 2 * counts[0]


def test_a_device_takes_its_share_of_a_step(tmp_path: Path) -> None:
    """With times of their own for the sizes that have them."""
    more = (
        "faults=[]",
        "stop={updates: 30}",
        "virtual.step=100ms",
        "devices=[{name: d, count: 4}]",
    )
    folder, *_ = played(tmp_path, two(5), *more)
    computed = {record["node"]: record["compute"] for record in happened(folder, "update")}
    assert computed == pytest.approx({"d-0": 0.06, "d-1": 0.04, "d-2": 0.06, "d-3": 0.04})
    folder, *_ = played(tmp_path, two(5), *more, "virtual.dealt=[{examples: 2, step: 55ms}]")
    computed = {record["node"]: record["compute"] for record in happened(folder, "update")}
    assert computed == pytest.approx({"d-0": 0.06, "d-1": 0.055, "d-2": 0.06, "d-3": 0.055})


def test_a_device_needs_examples_for_its_own_mini_batch_only(tmp_path: Path) -> None:
    """Four devices have 100 examples each, and pairs share a mini-batch."""
    fleet = ("devices=[{name: d, count: 4}]", "faults=[]", "stop={updates: 4}")
    assert played(tmp_path, two(200), *fleet)[1]["updates"] == 4
    with pytest.raises(
        ScenarioError, match=r"leaves d-0 \(100\), d-2 \(100\) without a batch of 101"
    ):
        played(tmp_path, two(201), *fleet)


STRUCK = {
    "crash": "[{kind: crash, nodes: [adsl-0], at: 1s}]",
    "cut": "[{kind: partition, nodes: [adsl-0], at: 1s}]",
    "both": "[{kind: crash, nodes: [adsl-0], at: 1s, lasts: 3s}, "
    "{kind: partition, nodes: [fiber-1], at: 2s, lasts: 4s}]",
    "a whole group": "[{kind: crash, nodes: [adsl], at: 1s}]",
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("learner", ["numpy", "none"])
@pytest.mark.parametrize("faults", STRUCK.values(), ids=STRUCK)
def test_a_dead_member_holds_up_its_group_for_its_patience_only(
    tmp_path: Path, faults: str, learner: str
) -> None:
    folder, summary, _ = played(
        tmp_path,
        two(),
        LINKS,
        f"faults={faults}",
        "stop={updates: 300, time: 5min}",
        f"virtual={{learner: {learner}, step: 80ms, boot: 50ms}}",
    )
    assert (summary["outcome"], summary["stop"]) == ("success", "updates")
    assert summary["updates"] in (300, 301), "the last step may have two"
    fast = [record["at"] for record in happened(folder, "update") if record["group"] == 1]
    if "fiber" not in faults:
        assert max(np.diff(fast)) < 1, "the other group does not wait"
    slow = [record["at"] for record in happened(folder, "update") if record["group"] == 0]
    assert max(np.diff(slow)) < 2 + 2, "patience, and an iteration"


@pytest.mark.slow
def test_runs_with_uneven_mini_batches_and_modulation_repeat(tmp_path: Path) -> None:
    chosen = two(11, "speed", "modulation: staleness")
    logs = {
        (played(tmp_path, chosen, "stop={updates: 150}", cores=cores)[0] / "run.jsonl").read_bytes()
        for cores in (1, 2)
    }
    assert len(logs) == 1


FREE = (
    "faults=[]",
    "server={}",
    "virtual={learner: none, tcp: false, step: {exponential: 80ms}, boot: 50ms, serve: 0s}",
    "stop={updates: 3000}",
)


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("devices", "groups"), [(4, 2), (4, 4), (8, 4), (16, 8)])
def test_under_exponential_times_staleness_is_one_less_than_the_groups(
    tmp_path: Path, devices: int, groups: int
) -> None:
    """Mitliagkas et al. (2016); the times of groups of several are not memoryless, yet alike."""
    training = (
        "training={dataset: digits, model: digits-mlp, batch_size: 16, codec: {kind: topk, "
        f"keep: 1%}}, synchronization: {{kind: groups, groups: {groups}}}}}"
    )
    folder, *_ = played(tmp_path, training, *FREE, f"devices=[{{name: d, count: {devices}}}]")
    stale = [record["staleness"] for record in happened(folder, "update")[500:]]
    assert np.mean(stale) == pytest.approx(groups - 1, rel=0.03)
