"""The server dies in virtual time, and comes back with what its durability has kept."""

from collections import Counter
from pathlib import Path

import pytest

import analysis
from analysis.pages import run_warnings
from emulator.core.wire.messages import Request, Update
from emulator.errors import ScenarioError
from emulator.log.lines import microseconds
from emulator.runtimes.virtual.server.channel import UnansweredPushes
from emulator.scenario import loads
from tests.fakes.plain_records import read
from tests.fakes.virtual_world import SCENARIO, played

CRASHING = SCENARIO.replace("faults:", "faults:\n  - {kind: server-crash, at: 2.5s, lasts: 1500ms}")
DEVICES = ("adsl-0", "adsl-1", "adsl-2", "fiber-0", "fiber-1")
SMALL = ("stop={time: 6s}", "evaluate.every=20")


def split(records, what):
    return [record for record in records if record["what"] == what]


@pytest.mark.slow
def test_with_update_nothing_is_lost(tmp_path: Path) -> None:
    _, summary, onlooker = played(tmp_path, *SMALL, "server.durability=update", text=CRASHING)
    records = onlooker.records
    down, up = [r for r in records if r.get("fault") == "server-crash"]
    assert (down["what"], down["node"], down["at"]) == ("kill", "server", 2.5)
    assert (up["what"], up["at"]) == ("boot", 4.0)
    (recovered,) = split(records, "recovered")
    versions = [update["version"] for update in split(records, "update")]
    assert versions == list(range(1, len(versions) + 1))
    before = [r["version"] for r in split(records, "update") if r["at"] <= 2.5]
    assert (recovered["version"], recovered["lost"]) == (before[-1], 0)
    busy = ("update", "pull", "hello", "evaluation", "refused", "unsent")
    assert not [r for r in records if 2.5 < r["at"] < 4.0 and r["what"] in busy]
    after = [r for r in records if r["at"] > 4.0 and r["what"] in busy]
    # devices connect again at once: what is later is a link's 25 ms
    assert all(next(r for r in after if r["node"] == n)["at"] < 4.03 for n in DEVICES)
    assert len(split(after, "update")) > 10
    assert not split(records, "refused")
    assert summary["updates"] == len(versions) and summary["server_recoveries"] == 1
    assert "lost_updates" not in summary and summary["outcome"] == "success"


@pytest.mark.slow
def test_with_states_it_falls_back_and_says_so(tmp_path: Path) -> None:
    _, summary, onlooker = played(tmp_path, *SMALL, "server.durability={every: 1s}", text=CRASHING)
    updates, (recovered,) = split(onlooker.records, "update"), split(onlooker.records, "recovered")
    kept = [update["version"] for update in updates if update["at"] <= 2.0][-1]
    seen = [update["version"] for update in updates if update["at"] <= 2.5][-1]
    assert (recovered["version"], recovered["lost"]) == (kept, seen - kept) and seen > kept
    later = [update["version"] for update in updates if update["at"] > 4.0]
    assert later == list(range(kept + 1, kept + 1 + len(later))) and len(later) > 10
    assert summary["updates"] == later[-1]
    assert summary["lost_updates"] == seen - kept


@pytest.mark.slow
def test_versions_made_anew_are_measured_when_they_are_due(tmp_path: Path) -> None:
    parts = (*SMALL[:1], "evaluate.every=1", "server.durability={every: 2s}")
    _, summary, onlooker = played(tmp_path, *parts, text=CRASHING)
    assert summary["lost_updates"] >= 4
    again = [r for r in split(onlooker.records, "evaluation") if r["at"] > 4.0]
    assert len({r["version"] for r in again}) == len(again) > 10
    assert not [r for r in again if r.get("scored", r["at"]) > r["at"] + 0.5]


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        ("training.synchronization=barrier",),
        ("training.synchronization=bounded", "training.pull=delta"),
        ("training.synchronization={kind: fedavg, clients: 60%, patience: 4s}", "stop={time: 20s}"),
        ("virtual.learner=none", "training.synchronization=softsync"),
        ("measure.momentum={steps: 40}",),
    ],
)
@pytest.mark.parametrize("durability", ["update", "{every: 700ms}"])
def test_any_synchronization_goes_on(parts, durability, tmp_path: Path) -> None:
    text = CRASHING.replace("algorithm: adacomp", "codec: {kind: topk, keep: 5%}")
    runs = [
        played(tmp_path / str(n), *SMALL, f"server.durability={durability}", *parts, text=text)
        for n in range(2)
    ]
    lines = [(folder / "run.jsonl").read_bytes() for folder, _, _ in runs]
    assert lines[0] == lines[1]
    records = runs[0][2].records
    assert [r for r in split(records, "update") if r["at"] > 4.5]
    assert runs[0][1]["outcome"] == "success"


def test_without_durability_the_mistake_says_what_is_lost() -> None:
    with pytest.raises(ScenarioError, match="needs a durable server, as all updates would be lost"):
        loads(CRASHING, (), Path())


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("{kind: server-crash, at: 1s}", "lasts: is missing"),
        ("{kind: server-crash, at: 1s, lasts: 1s, nodes: [adsl-0]}", "is of devices"),
    ],
)
def test_it_strikes_the_server_only(fault, message) -> None:
    text = SCENARIO.replace("faults:", f"server: {{durability: update}}\nfaults:\n  - {fault}")
    with pytest.raises(ScenarioError, match=message):
        loads(text, (), Path())


def test_models_that_a_crash_of_the_server_cut_off_are_no_doubt(tmp_path: Path) -> None:
    slow = ("server.link={up: {rate: 2mbit}, down: {rate: 2mbit}}", "virtual.learner=none")
    folder, summary, _ = played(
        tmp_path,
        *SMALL,
        *slow,
        "server.durability=update",
        "training.algorithm=asgd",
        text=CRASHING,
    )
    assert summary["server_recoveries"] == 1
    assert run_warnings._sums(analysis.read(folder)) == []


def test_a_crash_beyond_the_end_of_the_run_ends_with_the_run(tmp_path: Path) -> None:
    longer = CRASHING.replace("lasts: 1500ms", "lasts: 1h")
    _, summary, onlooker = played(tmp_path, *SMALL, "server.durability=update", text=longer)
    assert (summary["stop"], summary["duration_s"]) == ("time", 6.0)
    assert [r["at"] for r in split(onlooker.records, "recovered")] == [6.0]


@pytest.mark.slow
def test_a_score_that_came_late_stands_at_its_time(tmp_path: Path) -> None:
    early = SCENARIO.replace("faults:", "faults:\n  - {kind: server-crash, at: 1ms, lasts: 500ms}")
    folder, _, _ = played(tmp_path, *SMALL, "server.durability={every: 3s}", text=early)
    records = list(read(folder / "run.jsonl"))
    late = [record for record in records if "scored" in record]
    assert [(record["at"], record["scored"]) for record in late] == [(0.0, 0.501)]
    times = [record["at"] for record in records]
    assert times == sorted(times)


@pytest.mark.slow
def test_a_dead_server_saves_no_checkpoint(tmp_path: Path) -> None:
    parts = (*SMALL, "server.durability=update", "server.checkpoint.every=500ms")
    _, _, onlooker = played(tmp_path, *parts, text=CRASHING)  # down from 2.5 s to 4 s
    saved = [record["at"] for record in split(onlooker.records, "checkpoint")]
    assert saved == [0.5, 1.0, 1.5, 2.0, 2.5, 4.0, 4.5, 5.0, 5.5, 6.0]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "synchronization", ["barrier", "softsync", "{kind: fedavg, clients: 60%, patience: 4s}"]
)
@pytest.mark.parametrize("every", ["700ms", "300ms", "1s"])
def test_a_push_that_came_back_with_a_state_has_its_bytes_once(
    synchronization: str, every: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No push is booked more often than its device has sent it."""
    sent, before = Counter[tuple[object, ...]](), UnansweredPushes.before

    def sending(own: UnansweredPushes, message: Request) -> list[Request]:
        messages = before(own, message)
        sent.update(
            (each.node, each.loss, microseconds(each.compute))
            for each in messages
            if isinstance(each, Update)
        )
        return messages

    monkeypatch.setattr(UnansweredPushes, "before", sending)
    crashes = CRASHING.replace("faults:", "faults:\n  - {kind: server-crash, at: 5s, lasts: 1s}")
    crashes = crashes.replace("algorithm: adacomp", "codec: {kind: topk, keep: 5%}")
    parts = (f"training.synchronization={synchronization}", f"server.durability={{every: {every}}}")
    _, summary, onlooker = played(tmp_path, "stop={time: 8s}", *parts, text=crashes)
    updates = split(onlooker.records, "update")
    pushes = [(u["node"], u["loss"], microseconds(u["compute"])) for u in updates]
    assert set(pushes) <= {*sent}
    booked = Counter(push for push, u in zip(pushes, updates, strict=True) if not u.get("again"))
    assert booked <= sent
    assert summary["push_bytes"]["total"] == sum(
        u[part] for u in updates for part in ("values", "indices", "headers", "framing")
    )


def test_a_worker_that_booted_sends_no_push_of_the_worker_before(tmp_path: Path) -> None:
    """A push that is under way at the server's death is sent once more, by its own worker only."""
    faults = (
        "faults=[{kind: server-crash, at: 1s, lasts: 1500ms}, "
        "{kind: crash, nodes: [fiber], at: 1200ms, lasts: 1s}]"
    )
    parts = ("training.pull={kind: delta, values: f32}", "devices[1].link={up: {delay: 200ms}}")
    _, _, onlooker = played(tmp_path, *SMALL, faults, *parts, "server.durability=update")
    assert not split(onlooker.records, "refused")
    booted = [r for r in split(onlooker.records, "hello") if r["incarnation"]]
    assert {r["node"] for r in booted} == {"fiber-0", "fiber-1"}
    for hello in booted:
        later = [r for r in onlooker.records if r["at"] > hello["at"]]
        own = [r["what"] for r in later if r.get("node") == hello["node"]]
        assert own.index("pull") < own.index("update")
