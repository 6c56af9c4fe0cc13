"""Faults that the conductor plays through the engine, on a made-up engine."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from emulator.errors import DeploymentError
from emulator.node.orders import AnyOrder, QuotaAnswer
from emulator.node.reports import (
    DrawnReport,
    NodeReport,
    OverlapReport,
    QuotaReport,
    VerbReport,
)
from emulator.runs.folder import create
from emulator.runtimes.docker.engine.engine_faults import Done, EngineFaults
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.runtimes.docker.engine.stdio import Said
from emulator.world.verbs import Action
from tests.runtimes.docker.engine.engine_answers import unlike
from tests.runtimes.docker.engine.made_up_play import SCENARIO, Played


def drawn(lasts: float | None) -> DrawnReport:
    return DrawnReport("slow", "throttle", "unthrottle", lasts, {"factor": 0.5})


class Engine:
    """An engine that keeps the updates of containers, and may refuse them."""

    def __init__(self) -> None:
        self.api = self
        self.quotas: list[tuple[str, int]] = []
        self.memory: list[tuple[str, int]] = []
        self.refuses, self.runs = False, True

    def update_container(
        self,
        container: str,
        *,
        cpu_period: int = 100_000,
        cpu_quota: int = 0,
        mem_limit: int = 0,
        memswap_limit: int = 0,
    ) -> None:
        assert cpu_period == 100_000 and mem_limit == memswap_limit
        if mem_limit:
            self.memory.append((container, mem_limit))
            return
        if self.refuses:
            raise APIError("no", explanation="no such quota")
        self.quotas.append((container, cpu_quota))

    def inspect_container(self, container: str) -> dict[str, Any]:
        if not self.runs:
            raise NotFound("gone")
        return {"State": {"Running": True}}


def test_the_engine_with_faults_answers_as_the_engine_does() -> None:
    calls = ("update quota", "update memory", "inspect_container")
    assert unlike(Engine(), *calls, name="emulate-r-b") == []


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def faults(engine: Engine) -> Iterator[EngineFaults]:
    client: Any = engine
    faults = EngineFaults(Hosts.here(client), "r", {"a": None, "b": 0.2})
    for node in ("a", "b"):
        faults.limit(node)
    settle(faults)
    assert engine.quotas == [("emulate-r-b", 20_000)]  # a device without a quota needs no call
    engine.quotas.clear()
    yield faults
    faults.close()


def settle(faults: EngineFaults) -> None:
    """Wait until no call to the engine is under way."""
    until = time.monotonic() + 10
    while faults.busy:
        assert faults.tick(time.monotonic()) == [] and time.monotonic() < until


def throttle(node: str, factor: float = 0.25, fault: str = "slow") -> Action:
    return Action("throttle", node, fault, {"factor": factor})


def done(faults: EngineFaults, count: int, ahead: float = 0.0) -> list[Done]:
    """Tick until `count` verbs are done, with a clock that is `ahead` of the real one."""
    found: list[Done] = []
    until = time.monotonic() + 10
    while len(found) < count:
        assert time.monotonic() < until
        found += faults.tick(time.monotonic() + ahead)
    return found


def test_a_quota_is_multiplied_and_comes_back(faults: EngineFaults, engine: Engine) -> None:
    for node in ("a", "b"):
        faults.perform(throttle(node), 2.0)
    done(faults, 2)
    faults.perform(Action("unthrottle", "a", "slow"), 3.0)
    faults.perform(Action("unthrottle", "b", "slow"), 3.0)
    (first, second) = done(faults, 2)
    assert sorted(engine.quotas[:2]) == [("emulate-r-a", 25_000), ("emulate-r-b", 5_000)]
    assert sorted(engine.quotas[2:]) == [("emulate-r-a", -1), ("emulate-r-b", 20_000)]
    assert first.report == second.report == VerbReport("unthrottle", "slow", 3.0)


def test_a_fault_holds_from_its_one_time_to_the_other(
    faults: EngineFaults, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the device does between the end of a pause and its record what it cannot do paused."""
    called: list[float] = []
    update = engine.update_container
    note = lambda *words, **facts: (called.append(time.monotonic()), update(*words, **facts))  # noqa: E731
    monkeypatch.setattr(engine, "update_container", note)
    faults.perform(throttle("a"), 2.0)
    faults.perform(Action("unthrottle", "a", "slow"), 3.0)
    begun, ended = done(faults, 2)
    assert called[0] <= begun.now
    assert ended.now <= called[1]


def test_calls_for_one_device_come_in_their_order(faults: EngineFaults, engine: Engine) -> None:
    for factor in (0.1, 0.2, 0.3):
        faults.perform(throttle("a", factor), 1.0)
        faults.perform(Action("unthrottle", "a", "slow"), 1.0)
    reports = done(faults, 6)
    assert [quota for _, quota in engine.quotas] == [10_000, -1, 20_000, -1, 30_000, -1]
    assert [r.report.facts()["setting"] for r in reports[::2]] == [
        {"factor": factor} for factor in (0.1, 0.2, 0.3)
    ]


def test_a_drawn_fault_begins_at_once_and_ends_by_itself(
    faults: EngineFaults, engine: Engine
) -> None:
    faults.draw("a", drawn(30.0))
    (begun,) = done(faults, 1)
    assert begun.report == VerbReport("throttle", "slow", None, {"factor": 0.5})
    assert faults.tick(begun.now + 29.9) == []
    (ended,) = done(faults, 1, ahead=30.0)
    assert ended.report == VerbReport("unthrottle", "slow")
    assert engine.quotas == [("emulate-r-a", 50_000), ("emulate-r-a", -1)]


def test_a_drawn_fault_prolongs_a_planned_one(faults: EngineFaults, engine: Engine) -> None:
    faults.perform(throttle("a", fault="hot"), 1.0)
    faults.draw("a", drawn(30.0))
    faults.perform(Action("unthrottle", "a", "hot"), 2.0)
    overlap, begun = done(faults, 2)
    assert overlap.report == OverlapReport("slow", "throttle", 30.0)
    assert faults.tick(time.monotonic()) == []
    (ended,) = done(faults, 1, ahead=31.0)
    assert (begun.report.fault, ended.report.fault) == ("hot", "hot")
    assert engine.quotas == [("emulate-r-a", 25_000), ("emulate-r-a", -1)]


def test_a_planned_fault_under_another_is_reported_with_its_time(faults: EngineFaults) -> None:
    faults.perform(throttle("a", fault="hot"), 1.0)
    faults.perform(throttle("a", fault="slow"), 2.0)
    faults.perform(Action("unthrottle", "a", "slow"), 3.0)  # no fault begins
    overlap, begun = done(faults, 2)
    assert overlap.report == OverlapReport("slow", "throttle", None, 2.0)
    assert (begun.node, begun.report.fault) == ("a", "hot")


def test_a_fault_that_is_drawn_for_good_has_no_end(faults: EngineFaults, engine: Engine) -> None:
    faults.draw("a", drawn(None))
    done(faults, 1)
    assert faults.tick(time.monotonic() + 1e9) == [] and len(engine.quotas) == 1


def test_what_the_engine_refuses_ends_the_run_unless_the_container_has_ended(
    faults: EngineFaults, engine: Engine
) -> None:
    engine.refuses, engine.runs = True, False
    faults.perform(throttle("a"), 1.0)
    time.sleep(0.1)
    assert faults.tick(time.monotonic()) == []
    engine.runs = True
    faults.perform(throttle("b"), 1.0)
    with pytest.raises(DeploymentError, match="throttle of b: Docker refused: no such quota"):
        done(faults, 1)


def test_a_drawn_fault_under_another_of_its_verb_is_reported(
    faults: EngineFaults, engine: Engine
) -> None:
    faults.perform(throttle("a"), 1.0)
    for lasts in (5.0, None, 5.0):  # after the one for good no other prolongs anything
        faults.draw("a", drawn(lasts))
    reports = [each.report for each in done(faults, 3)]
    assert [report for report in reports if isinstance(report, OverlapReport)] == [
        OverlapReport("slow", "throttle", 5.0),
        OverlapReport("slow", "throttle", None),
    ]


def lifts(faults: EngineFaults, node: str, lifted: bool) -> None:
    """Lift the quota of `node`, or put it back, and wait until that is done."""
    answers: list[float] = []
    faults.lift(node, lifted, answers.append)
    until = time.monotonic() + 10
    while not answers:
        assert time.monotonic() < until
        assert faults.tick(time.monotonic()) == []  # it is no fault, and has no record
    assert len(answers) == 1 and not faults.busy


def test_a_memory_limit_is_set_beside_the_quota(faults: EngineFaults, engine: Engine) -> None:
    faults.set_memory("a", 1 << 28)
    settle(faults)
    faults.perform(throttle("a"), 5.0)
    assert len(done(faults, 1)) == 1
    assert (engine.memory, len(engine.quotas)) == ([("emulate-r-a", 1 << 28)], 1)


def test_a_lifted_quota_comes_back(faults: EngineFaults, engine: Engine) -> None:
    for node in ("b", "a"):  # without a quota there is nothing to lift
        lifts(faults, node, True)
        lifts(faults, node, False)
    assert engine.quotas == [("emulate-r-b", -1), ("emulate-r-b", 20_000)]


@pytest.mark.parametrize("node", ["a", "b"])
@pytest.mark.parametrize("verbs", ["t", "u", "tu", "ut"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_quota_in_force_comes_back_wherever_a_slow_fault_begins_and_ends(
    faults: EngineFaults, engine: Engine, node: str, verbs: str, place: int
) -> None:
    """Verbs come before, during and behind the lift; `u` alone ends an earlier fault."""
    if verbs[0] == "u":
        faults.perform(throttle(node, 0.5), 1.0)
        done(faults, 1)

    def play() -> None:
        for verb in verbs:
            act = throttle(node) if verb == "t" else Action("unthrottle", node, "slow")
            faults.perform(act, 2.0)
        done(faults, len(verbs))

    steps = [lambda: lifts(faults, node, True), lambda: lifts(faults, node, False)]
    steps.insert(place, play)
    for step in steps:
        step()
        if place == 1 and step is play:  # the quota is lifted
            assert not engine.quotas or engine.quotas[-1][1] == -1
    own = {"a": (-1, 25_000), "b": (20_000, 5_000)}[node]
    last = engine.quotas[-1][1] if engine.quotas else -1
    assert last == own[verbs[-1] == "t"]


def test_a_verb_that_comes_while_a_quota_is_lifted_is_done_without_a_call(
    faults: EngineFaults, engine: Engine
) -> None:
    lifts(faults, "b", True)
    faults.perform(throttle("b"), 2.0)
    (begun,) = done(faults, 1)
    assert begun.report.verb == "throttle" and engine.quotas == [("emulate-r-b", -1)]
    lifts(faults, "b", False)
    assert engine.quotas[1:] == [("emulate-r-b", 5_000)]


def test_a_lift_of_a_container_that_has_ended_is_not_answered(
    faults: EngineFaults, engine: Engine
) -> None:
    engine.refuses, engine.runs = True, False
    faults.lift("b", True, lambda now: pytest.fail("it was not lifted"))
    settle(faults)
    engine.runs = True
    faults.lift("b", True, lambda now: None)
    with pytest.raises(DeploymentError, match="CPU quota of b: Docker refused"):
        done(faults, 1)


def test_the_conductor_answers_a_supervisor_once_the_quota_is_lifted(
    tmp_path: Path, engine: Engine
) -> None:
    text = SCENARIO.replace("{name: far}", "{name: far, profile: {cpu: 20%}}")
    play = Played(create("pair", tmp_path), text=text)
    play.runtime._engine._hosts = Hosts.here(engine)  # type: ignore[arg-type]
    play.begin()
    play.runtime._engine.limit("far")
    answers: list[tuple[str, AnyOrder]] = []
    play.wires.tell = lambda node, order: bool(answers.append((node, order)) or True)  # type: ignore[method-assign]
    calls = [(True, 1), (False, 1), (True, 2)]
    play.wires.news += [
        [Said("far", "", QuotaReport(lifted, press), time.monotonic())] for lifted, press in calls
    ]
    until = time.monotonic() + 10
    try:
        while len(answers) < len(calls):
            assert time.monotonic() < until
            play.runtime._look(0.1)
    finally:
        play.runtime._end_starts()
        play.runtime._engine.close()
        play.runtime._node_logs.close()
        play.load.end()
    assert answers == [("far", QuotaAnswer(lifted, press)) for lifted, press in calls]
    name = f"emulate-{play.folder.run}-far"
    assert engine.quotas == [(name, 20_000), (name, -1), (name, 20_000), (name, -1)]
    assert not [record for record in play.view.records if "quota" in record["what"]]


HOSTILE = [
    DrawnReport("crash", "kill", "start", None),
    DrawnReport("slow", "throttle", "unthrottle", 1.0, {}),
    DrawnReport("slow", "throttle", "unthrottle", 1.0, {"factor": 1e308}),
    DrawnReport("slow", "throttle", "unthrottle", 1.0, {"factor": "half"}),
    VerbReport("reshape", "degrade", None, {"link": 7}),
    VerbReport("reshape", "degrade", None, {"loss": "half"}),
    VerbReport("reshape", "degrade", None, {"delay": -9.0}),
]


@pytest.mark.parametrize("report", HOSTILE, ids=range(len(HOSTILE)))
def test_a_report_that_nobody_can_follow_is_text(tmp_path: Path, report: NodeReport) -> None:
    play = Played(create("pair", tmp_path))
    play.begin()
    try:
        for node in ("far", "server", "evaluator"):
            play.hear(Said(node, f"line of {node}", report, time.monotonic()))
        assert "line of far" in (play.folder.devices / "far.log").read_text()
        assert "line of far" not in (play.folder.reports).read_text()
    finally:
        play.runtime._end_starts()
        play.runtime._engine.close()
        play.runtime._node_logs.close()
        play.load.end()
