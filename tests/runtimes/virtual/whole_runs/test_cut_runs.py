"""Runs of cut models in virtual time: losses, times, bytes, faults."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.runtimes.virtual.play_virtual import play as play_virtual
from emulator.scenario import loads
from tests.fakes.virtual_world import SCENARIO, Onlooker, played

TIMES = "virtual={learner: numpy, step: 100ms, boot: 50ms, serve: 0s, tcp: false, layers: "
SHARES = "{forward: [2, 1, 1], backward: [4, 1, 1]}"
IDEAL = "devices=[{name: d, count: 4}]"
LINKS = (
    "devices=[{name: adsl, count: 3, link: {up: {rate: 2mbit, delay: 25ms, jitter: 3ms}, "
    "down: {rate: 8mbit, delay: 25ms}}}, {name: fiber, count: 3, profile: laptop, link: fios}]"
)
FAULTS = (
    "faults=[{kind: crash, nodes: [adsl-0], at: 1s, lasts: 1s}, {kind: crash, nodes: [adsl-2], "
    "at: 2s}, {kind: partition, nodes: [fiber], at: 1.5s, lasts: 1s}, "
    "{kind: pause, nodes: [adsl-1], at: 2.5s, lasts: 1s}]"
)
PARTED = "fully_connected: {{place: {{after: 1}}, labels: {labels}, values: {values}}}"


def training(more: str, batch: int = 8) -> str:
    return f"training={{dataset: digits, model: digits-mlp, batch_size: {batch}, {more}}}"


def parted(labels: str = "sent", values: str = "f32") -> str:
    return PARTED.format(labels=labels, values=values)


def play(folder: Path, *overrides: str) -> tuple[Path, list[Any]]:
    run, _, view = played(folder, *overrides)
    return run, view.records


def of(records: list[Any], what: str) -> list[Any]:
    return [record for record in records if record["what"] == what]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("labels", ["sent", "local"])
def test_a_cut_changes_no_loss_of_synchronous_training(tmp_path: Path, labels: str) -> None:
    """Same mini-batches, same sums: only the place of computing differs."""
    times, stop = f"{TIMES}{SHARES}}}", "stop={updates: 120}"
    barrier = "codec: dense, synchronization: barrier, optimizer: {kind: momentum}"
    losses = []
    for more in (barrier, f"{barrier}, {parted(labels)}"):
        _, records = play(tmp_path, training(more), times, stop, IDEAL, "faults=[]")
        losses.append({(r["node"], r["version"]): r["loss"] for r in of(records, "update")})
        scores = [r["loss"] for r in of(records, "evaluation")]
        losses.append(dict(enumerate(scores)))
    assert losses[0].keys() == losses[2].keys() and len(losses[0]) == 120
    for whole, cut in (losses[:1] + losses[2:3], losses[1:2] + losses[3:]):
        assert [*cut.values()] == pytest.approx([*whole.values()], rel=1e-5)
    assert {r["staleness"] for r in of(records, "activations")} == {0}


def test_passes_occupy_device_and_server_for_their_shares_of_a_step(tmp_path: Path) -> None:
    """Ideal links: a step of four devices lasts 60 ms at a device and 4 passes of 40 ms."""
    more = f"codec: dense, synchronization: barrier, {parted()}"
    quick = f"{TIMES}{SHARES}, dense: 10ms}}"
    for times, step in ((f"{TIMES}{SHARES}}}", 0.06 + 4 * 0.04), (quick, 0.06 + 4 * 0.01)):
        _, records = play(tmp_path, training(more), times, "stop={updates: 40}", IDEAL, "faults=[]")
        ends = sorted({record["at"] for record in of(records, "update")})
        assert np.diff(ends) == pytest.approx(step, rel=1e-9)
        assert [r["compute"] for r in of(records, "update")] == pytest.approx([0.06] * 40)


def test_a_group_passes_in_the_time_of_one_mini_batch(tmp_path: Path) -> None:
    """The group's mini-batch is dealt, and so are the times of passes, at devices and server."""
    more = f"codec: dense, synchronization: {{kind: groups, groups: 2}}, {parted()}"
    times = f"{TIMES}{SHARES}}}"
    _, records = play(tmp_path, training(more, 16), times, "stop={updates: 40}", IDEAL, "faults=[]")
    assert {record["rows"] for record in of(records, "activations")} == {8}
    # The server takes 40 ms for the mini-batch of a group. Then it answers the pulls of the other
    # group, and is idle for the 10 ms of the forward passes over their shares.
    ends = sorted({record["at"] for record in of(records, "update")})
    assert np.diff(ends)[2:] == pytest.approx(0.05, rel=1e-9)


@pytest.mark.slow
def test_a_run_without_training_has_the_same_bytes_and_times(tmp_path: Path) -> None:
    for labels, values in (("sent", "f32"), ("local", "f16")):
        more = f"codec: dense, synchronization: barrier, {parted(labels, values)}"
        rows = []
        for learner in ("numpy", "none"):
            times = f"{TIMES}{SHARES}}}".replace("numpy", learner)
            _, records = play(
                tmp_path, training(more), times, "stop={updates: 40}", LINKS, "faults=[]"
            )
            rows.append(
                [
                    (r["at"], r["node"], r["up"], r["down"], r["rows"])
                    for r in of(records, "activations")
                ]
                + [(r["at"], r["node"], r["values"]) for r in of(records, "update")]
            )
        assert rows[0] == rows[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("synchronization", "labels"),
    [
        ("{kind: barrier, patience: 1s}", "local"),
        ("{kind: groups, groups: 2, patience: 1s}", "sent"),
        ("{kind: groups, groups: 2, assign: speed, patience: 1s}", "local"),
        ("asynchronous", "sent"),
        ("{kind: bounded, patience: 1s}", "local"),
    ],
)
def test_faults_stop_no_run(tmp_path: Path, synchronization: str, labels: str) -> None:
    more = f"codec: {{kind: topk, keep: 5%}}, synchronization: {synchronization}, {parted(labels)}"
    times = f"{TIMES}{SHARES}}}".replace("100ms", "{exponential: 100ms}")
    runs = [
        play(tmp_path, training(more, 24), times, "stop={time: 12s}", LINKS, FAULTS)
        for _ in range(2)
    ]
    folder, records = runs[0]
    assert (folder / "run.jsonl").read_bytes() == (runs[1][0] / "run.jsonl").read_bytes()
    assert of(records, "stop")[0]["reason"] == "time"
    pushed, crossed = of(records, "update"), of(records, "activations")
    # steps go on to the end, by every device that is there
    assert {record["node"] for record in pushed if record["at"] > 8} >= {
        "adsl-0",
        "adsl-1",
        "fiber-2",
    }
    assert len(crossed) >= len(pushed) > 60
    if labels == "sent" or "barrier" in synchronization:
        assert {record["staleness"] for record in crossed} == {0}
    assert [record["version"] for record in pushed] == [*range(1, len(pushed) + 1)]
    assert not of(records, "refused")


@pytest.mark.parametrize("synchronization", ["barrier", "groups, groups: 2", "bounded"])
def test_who_answers_logits_too_late_goes_on_at_once(tmp_path: Path, synchronization: str) -> None:
    """The device is paused with its logits on the way to it, for longer than `patience`."""
    waits = f"synchronization: {{kind: {synchronization}, patience: 1s}}"
    times = f"{TIMES}{SHARES}}}"
    link = "link: {up: {delay: 100ms}, down: {delay: 100ms}}"
    fleet = f"devices=[{{name: d, count: 4, {link}}}]"
    run = (tmp_path, training(f"codec: dense, {waits}, {parted('local')}", 16), times, fleet)
    _, records = play(*run, "stop={updates: 20}", "faults=[]")
    # the first mini-batch: logits leave between the pull's answer and the gradient's
    ended = next(r["at"] for r in of(records, "activations") if r["node"] == "d-0")
    fault = f"{{kind: pause, nodes: [d-0], at: {1000 * ended - 150:.0f}ms, lasts: 3s}}"
    _, records = play(*run, "stop={time: 8s}", f"faults=[{fault}]")
    crossed = [r["at"] for r in of(records, "activations") if r["node"] == "d-0"]
    assert ended + 2.8 < crossed[0] < ended + 4.8
    assert not of(records, "refused")


@pytest.mark.slow
@pytest.mark.tensorflow
def test_tensorflow_computes_both_parts(tmp_path: Path) -> None:
    """A convolutional network whose dense layers are at the server, at the start of a training."""
    scenario = (
        "training={{dataset: mnist, model: mnist-cnn, batch_size: 16, codec: dense, "
        "synchronization: barrier{more}}}"
    )
    shares = "layers: {forward: [2, 3, 1, 1], backward: [4, 6, 1, 1]}"
    times = f"virtual={{step: 100ms, boot: 50ms, {shares}}}"
    losses = []
    for more in ("", ", fully_connected: {place: server}"):
        text = SCENARIO.replace("virtual: {learner: numpy, ", "virtual: {")
        overrides = (scenario.format(more=more), times, "stop={updates: 24}", IDEAL, "faults=[]")
        folder, _ = play_virtual(loads(text, overrides), tmp_path, Onlooker())
        lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
        losses.append({(r["node"], r["version"]): r["loss"] for r in of(lines, "update")})
    assert len(losses[0]) == 24
    assert losses[1] == {key: pytest.approx(loss, rel=1e-4) for key, loss in losses[0].items()}
