"""Runs in virtual time with shards of the server: what they change, and what they do not."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.world.roles import SERVER, shard_name
from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import SCENARIO, played

STILL = ("faults=[]", "stop.updates=100", "evaluate.every=25")


def run(place: Path, shards: int, text: str = SCENARIO) -> tuple[dict[str, Any], list[PlainRecord]]:
    chosen = *STILL, f"server.shards={shards}"
    folder, summary, _ = played(place / str(shards), *chosen, text=text)
    assert summary["outcome"] == "success"
    return summary, list(read(folder / "run.jsonl"))


def of(records: list[PlainRecord], what: str, key: str) -> list[Any]:
    return [record[key] for record in records if record["what"] == what]


@pytest.mark.parametrize(
    "parts",
    [
        "codec: dense, optimizer: {kind: momentum, momentum: 0.5}",
        pytest.param("codec: {kind: topk, keep: 5%}, pull: delta", marks=pytest.mark.slow),
        pytest.param("codec: adacomp-residual, optimizer: adam", marks=pytest.mark.slow),
    ],
)
def test_under_a_barrier_all_shards_have_the_losses_of_one_server(
    tmp_path: Path, parts: str
) -> None:
    """And the same σ: AdaComp divides by the staleness of each parameter."""
    chosen = f"{parts}, modulation: per-parameter, synchronization: barrier"
    text = SCENARIO.replace("algorithm: adacomp", chosen)
    compared = ("update", "loss"), ("update", "divisor"), ("evaluation", "loss")
    # in the order of arrival, sums of gradients are equal but for their rounding
    for sequence, tolerance in (("", 2e-4), (", schedule: sequential", 0.0)):
        given = text.replace("synchronization: barrier", f"synchronization: barrier{sequence}")
        place = tmp_path / sequence[2:10]
        runs = {shards: run(place, shards, text=given)[1] for shards in (1, 2, 3)}
        for shards, (what, key) in product((2, 3), compared):
            mine, one = (sorted(of(runs[n], what, key)) for n in (shards, 1))
            close = {"rtol": 1e-9} if key == "divisor" and not tolerance else {"rtol": tolerance}
            np.testing.assert_allclose(mine, one, **close, err_msg=f"{what} {key}")
        assert of(runs[3], "evaluation", "version") == [0, 25, 50, 75, 100]


def test_one_shard_is_a_server_without_the_key(tmp_path: Path) -> None:
    folders = [
        played(tmp_path / str(len(key)), *STILL, *key)[0] for key in ((), ("server.shards=1",))
    ]
    for name in ("run.jsonl", "model.npz"):
        one, other = ((folder / name).read_bytes() for folder in folders)
        assert one == other


def test_bytes_of_the_shards_add_up_and_each_update_tells_its_skew(tmp_path: Path) -> None:
    summary, records = run(tmp_path, 3)
    traffic = {r["node"]: (r["rx"], r["tx"]) for r in records if r["what"] == "traffic"}
    shards = [traffic[shard_name(number)] for number in range(3)]
    assert all(min(counts) > 0 for counts in shards)
    for way in (0, 1):
        total = sum(counts[way] for counts in shards)
        assert total == pytest.approx(traffic[SERVER][way], abs=20)  # each is rounded to a byte
    updates = [record for record in records if record["what"] == "update"]
    assert {record["segments"] for record in updates} == {3}
    assert all(0 <= record["skew"] < 1 for record in updates)
    assert {record.get("segments") for record in records if record["what"] == "pull"} == {3, None}
    assert summary["shards"]["skew_mean_s"] == pytest.approx(
        sum(record["skew"] for record in updates) / len(updates), abs=1e-6
    )


def test_without_shards_no_update_has_a_skew(tmp_path: Path) -> None:
    summary, records = run(tmp_path, 1)
    assert not any("skew" in record for record in records)
    assert "shards" not in summary


FORTY = """
# Does the server's processor hold them up?
name: forty
training: {dataset: mnist, model: mnist-resnet, codec: dense}
stop: {time: 6s}
virtual: {learner: none, step: 20ms, serve: 20ms, boot: 100ms}
devices:
  - {name: a, count: 40, link: {up: {rate: 1gbit}, down: {rate: 1gbit}}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "server",
    [(), ("virtual.serve=1ms", "server.link={up: {rate: 1gbit}, down: {rate: 1gbit}}")],
    ids=["a slow processor", "a slow link"],
)
def test_four_shards_take_two_and_a_half_times_the_updates(
    tmp_path: Path, server: tuple[str, ...]
) -> None:
    updates = {}
    for shards in (1, 4):
        chosen = *server, f"server.shards={shards}"
        _, summary, _ = played(tmp_path / str(shards), *chosen, text=FORTY)
        updates[shards] = summary["updates"]
    assert updates[4] >= 2.5 * updates[1] > 0


@pytest.mark.slow
def test_a_device_that_dies_between_the_parts_of_a_push_has_pushed_nothing(
    tmp_path: Path,
) -> None:
    """A slow device sends its parts for a second and a half, and crashes amid."""
    crash = "{kind: crash, nodes: [adsl-0], every: 1.3s, lasts: 500ms}"
    chosen = (
        *(f"faults=[{crash}]", "stop={time: 30s}", "evaluate.every=5000"),
        *("server.shards=3", "devices[0].link={up: {rate: 400kbit}, down: {rate: 8mbit}}"),
    )
    text = SCENARIO.replace("algorithm: adacomp", "codec: dense")
    folder, summary, _ = played(tmp_path, *chosen, text=text)
    records = list(read(folder / "run.jsonl"))
    versions = of(records, "update", "version")
    assert versions == [*range(1, summary["updates"] + 1)]
    assert not of(records, "refused", "reason")
    assert summary["faults_realised"] > 10
    assert not math.isnan(summary["final_accuracy"])


@pytest.mark.mostly_slow
@pytest.mark.parametrize("durability", ["update", "{every: 1s}"])
def test_crashes_of_the_shards_lose_and_double_no_update_that_is_kept(
    tmp_path: Path, durability: str
) -> None:
    """Also amid the parts of an update, whose device sends them again."""
    text = SCENARIO.replace("algorithm: adacomp", "codec: dense").replace("crash", "server-crash")
    text = text.replace("nodes: [adsl-0], at: 1s, lasts: 1s", "every: 1.7s, lasts: 300ms")
    slow = "devices[0].link={up: {rate: 900kbit, delay: 40ms}, down: {rate: 8mbit}}"
    chosen = "stop={time: 30s}", f"server={{shards: 3, durability: {durability}}}", slow
    folder, summary, _ = played(tmp_path, *chosen, text=text)
    records = list(read(folder / "run.jsonl"))
    assert summary["server_recoveries"] > 10
    versions = of(records, "update", "version")
    if durability == "update":
        assert "lost_updates" not in summary
        assert versions == [*range(1, summary["updates"] + 1)]
    else:
        assert summary["lost_updates"] > 0
        assert len(versions) == summary["updates"] + summary["lost_updates"]
