"""Devices that leave in virtual time: a goodbye travels over the link, and then nobody waits."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import played

WORLD = """
name: leavers
seed: 3
training: {{dataset: digits, model: digits-mlp, batch_size: 8, codec: dense,
  synchronization: {{{synchronization}, patience: 100s}}}}
evaluate: {{every: 1000}}
stop: {{time: 20s}}
virtual: {{learner: none, step: 100ms, boot: 500ms, tcp: false}}
devices:
  - {{name: far, link: {{up: {{rate: 8mbit, delay: 250ms}}, down: {{rate: 80mbit}}}}}}
  - {{name: near, count: 2}}
faults: [{faults}]
"""

SYNCHRONIZATIONS = {
    "barrier": "kind: barrier",
    "groups": "kind: groups, groups: 1",
    "bounded": "kind: bounded, bound: 1",
    "local-sgd": "kind: local-sgd, steps: 2",
    "fedavg": "kind: fedavg, clients: 100%",
}


def world(tmp_path: Path, synchronization: str, faults: str) -> list[PlainRecord]:
    text = WORLD.format(synchronization=SYNCHRONIZATIONS[synchronization], faults=faults)
    folder, summary, _ = played(tmp_path, text=text)
    assert summary["outcome"] == "success"
    return list(read(folder / "run.jsonl"))


def said(records: list[PlainRecord], what: str, node: str = "far") -> list[float]:
    return [r["at"] for r in records if r["what"] == what and r["node"] == node]


LEAVE = "{kind: leave, nodes: [far], at: 5.02s, lasts: 5s}"


@pytest.mark.parametrize("synchronization", [*SYNCHRONIZATIONS])
def test_nobody_waits_for_a_device_that_has_left(tmp_path: Path, synchronization: str) -> None:
    records = world(tmp_path, synchronization, LEAVE)
    assert said(records, "leave") == [5.02] and said(records, "join") == [10.02]
    (goodbye,) = said(records, "goodbye")
    # an update of far may be on its way before the goodbye: 17.5 kB at 8 Mbit/s, 18 ms
    assert 5.27 < goodbye < 5.30
    others = said(records, "update", "near-0")
    gaps = [b - a for a, b in pairwise(others) if 4 < a < 10]
    # an epoch of the digits takes the other two 6 s
    assert max(gaps) < (6.5 if synchronization == "fedavg" else 1.5)
    assert not [at for at in said(records, "update") if goodbye < at < 10.52]
    assert [at for at in said(records, "update") if at > 10.52]
    first, back = said(records, "hello")
    assert first <= 0 and 10.77 < back < 10.78  # a boot of 0.5 s, and the hello on the link
    assert not [r for r in records if r["what"] == "refused"]


def test_a_crash_is_not_a_goodbye(tmp_path: Path) -> None:
    """The same world, and the others wait: the tests above see the goodbye, and nothing else."""
    records = world(tmp_path, "barrier", LEAVE.replace("leave", "crash"))
    assert not [at for at in said(records, "update", "near-0") if 5.6 < at < 10.52]


def test_a_device_that_is_cut_off_says_goodbye_once_it_is_heard(tmp_path: Path) -> None:
    cut = "{kind: partition, nodes: [far], at: 4s, lasts: 3s}"
    records = world(tmp_path, "barrier", f"{LEAVE}, {cut}")
    (goodbye,) = said(records, "goodbye")
    assert 7.25 <= goodbye < 7.3
    assert not [at for at in said(records, "update", "near-0") if 4.6 < at < 7.25]


def test_a_device_that_is_paused_says_none(tmp_path: Path) -> None:
    pause = "{kind: pause, nodes: [far], at: 4s, lasts: 3s}"
    records = world(tmp_path, "barrier", f"{LEAVE}, {pause}")
    assert said(records, "goodbye") == []
    assert len(said(records, "hello")) == 2


@pytest.mark.parametrize(
    ("crash", "back"), [("at: 8s, lasts: 4s", 12.0), ("at: 3s, lasts: 4s", 10.02)]
)
def test_a_device_boots_when_neither_fault_holds_it(
    tmp_path: Path, crash: str, back: float
) -> None:
    records = world(tmp_path, "barrier", f"{LEAVE}, {{kind: crash, nodes: [far], {crash}}}")
    hellos = [(r["at"], r["incarnation"]) for r in records if r["what"] == "hello"]
    (again,) = [(at, number) for at, number in hellos if at > 1]
    assert again == (pytest.approx(back + 0.75, abs=0.01), 1)


def test_a_run_whose_devices_all_left_for_good_ends(tmp_path: Path) -> None:
    faults = "{kind: leave, nodes: [near], at: 2s}, {kind: leave, nodes: [far], at: 3s}"
    text = WORLD.format(synchronization=SYNCHRONIZATIONS["fedavg"], faults=faults)
    _, summary, _ = played(tmp_path, text=text)
    assert summary["outcome"] == "failed" and summary["duration_s"] == 4.0
    assert summary["detail"] == "every device is down or cut off for good"
