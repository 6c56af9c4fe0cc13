"""Laws that every run under faults keeps, in virtual time and in containers, from its log."""

import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import analysis
from analysis.pages import run_warnings
from emulator.runs.conductor import idle_devices, none_left
from emulator.scenario import loads
from emulator.scenario.timeline.compiled import timeline
from emulator.synchronization.barrier import Barrier
from emulator.world.roles import EVALUATOR
from emulator.world.verbs import VERBS
from tests.fakes.plain_records import PlainRecord, read

DEAD = {verb.record for verb in VERBS if verb.ends_process} | {"exit"}
"""Kinds of records after which a device has no process."""
SOON = 2.0
"""Seconds in which the slowest link of these fleets carries the message that is on it."""
HONEST = re.compile(
    r"is too late: its round is over"
    # a piece of an update whose first ones were lost with a connection
    r"|layers \d+ to \d+, expected layers up to \d+"
    r"|version \d+ has diverged again"  # no other device has made a newer one meanwhile
)
"""Reasons for which the server refuses messages of honest devices."""
CROSSED = "it cannot know"
"""The same for an update that waited for a crashed server, and whose device was started again."""


def keeps_the_laws(text: str, folder: Path, summary: dict[str, Any], late: float = 1e-6) -> None:
    """Check the run of the scenario `text` in `folder`; it ends at most `late` seconds late."""
    records = list(read(folder / "run.jsonl"))
    _ends_as_it_says(text, summary, records, late)
    _ends_parts_for_a_cause(records)
    _refuses_for_a_cause(records)
    _counts_each_update_once(summary, records)
    _takes_up_nothing_of_the_dead(records)
    _accounts_for_each_planned_fault(text, summary, records, late)
    _takes_up_nothing_through_a_cut(records, late)
    training = loads(text).training
    kind = training.synchronization.kind
    if kind in ("asynchronous", "bounded"):
        _takes_up_at_once(records)  # elsewhere a push waits for its step
        _counts_staleness_from_the_pull(records)
    if kind == "barrier":
        _steps_with_each_device(text, records)
    assert run_warnings._sums(analysis.read(folder)) == []


def _ends_as_it_says(
    text: str, summary: dict[str, Any], records: list[PlainRecord], late: float
) -> None:
    scenario, reason = loads(text), summary["stop"]
    stop = scenario.stop
    assert reason in ("time", "updates", "failed", "diverged")
    whats = [record["what"] for record in records]
    if summary["runtime"] == "virtual":  # containers report until they are removed
        assert {*whats[whats.index("stop") + 1 :]} <= {
            "traffic",
            "background",
            "iteration",
            "unsent",
        }
    else:
        assert "update" not in whats[whats.index("stop") + 1 :]
    assert stop.time is not None
    assert summary["duration_s"] <= float(stop.time) + late
    if reason == "failed":
        assert summary["detail"] == none_left(scenario, idle_devices(scenario))
    if reason == "updates":
        assert stop.updates is not None and summary["updates"] >= stop.updates
    if reason == "time":
        assert abs(summary["duration_s"] - float(stop.time)) <= late


def _counts_each_update_once(summary: dict[str, Any], records: list[PlainRecord]) -> None:
    versions = [record["version"] for record in records if record["what"] == "update"]
    assert versions == list(range(1, len(versions) + 1))
    assert summary["updates"] == len(versions)
    # the evaluator asks for models that the server keeps, of versions before the newest
    pulls = [record for record in records if record["what"] == "pull"]
    pulls = [record for record in pulls if record["node"] != EVALUATOR]
    # a record of earlier pulls, which had none yet, stands before its node's next pull
    # or at the run's end
    ends = {record["at"] for record in records if record["what"] == "stop"}
    pairs = zip(pulls, [*pulls[1:], None], strict=True)
    asked = [
        pull["version"]
        for pull, after in pairs
        if not _is_late(pull, after) and pull["at"] not in ends
    ]
    assert asked == sorted(asked)


def _is_late(pull: PlainRecord, after: PlainRecord | None) -> bool:
    """Return whether the record `pull` stands for pulls before the one that `after` records."""
    return "count" in pull or (
        after is not None and (pull["node"], pull["at"]) == (after["node"], after["at"])
    )


def _accounts_for_each_planned_fault(
    text: str, summary: dict[str, Any], records: list[PlainRecord], late: float
) -> None:
    """Check that each fault which the scenario asks for began or overlapped, and others are apart.

    In containers the end may come before the verbs of its last `late` seconds, and a fault finds no
    device that has ended unasked.
    """
    overlapped = summary.get("faults_overlapped", 0)
    struck = summary["faults_realised"] + overlapped
    begins = [timed.at for timed in timeline(loads(text)) if timed.action.begins]
    assert summary["faults_planned"] == sum(at <= summary["duration_s"] for at in begins)
    if summary["runtime"] == "virtual":
        assert struck == summary["faults_planned"]
    elif not summary["exits"]:
        assert sum(at <= summary["duration_s"] - late for at in begins) <= struck
        assert struck <= summary["faults_planned"]
    drawn, outages = summary.get("faults_drawn", 0), summary.get("battery_outages", 0)
    begun = [record for record in records if record.get("begins") is True]
    assert summary["faults_realised"] + drawn + outages == len(begun)
    assert outages == sum(record["fault"] == "energy" for record in begun)


def _takes_up_nothing_of_the_dead(records: list[PlainRecord]) -> None:
    """Check that each update answers a model that its device had been sent, and before its end.

    A push that was sent before the device's end may arrive after it, and wait for its step, perhaps
    until the next incarnation has said hello. The process may not answer any model after its end.
    """
    incarnations: Counter[str] = Counter()
    unanswered: Counter[str] = Counter()  # models that were sent, and had no update yet
    left: dict[str, int] = {}  # the same, of devices that have ended: those sent before
    for record in records:
        what, node = record["what"], record.get("node", "")
        if what in DEAD:
            left.setdefault(node, unanswered[node])
        elif what == "hello":
            assert record["incarnation"] >= incarnations[node], record
            if record["incarnation"] > incarnations[node]:
                # a hello may arrive when its incarnation has ended as well
                unanswered[node] = left.pop(node, unanswered[node])
            incarnations[node] = record["incarnation"]
        elif what == "pull":
            unanswered[node] += 1
        elif what == "update":
            unanswered[node] -= 1
            if node in left:
                left[node] -= 1
            assert left.get(node, 0) >= 0 <= unanswered[node], record


def _takes_up_at_once(records: list[PlainRecord]) -> None:
    """Check that the update which was under way at a device's end is taken up as it arrives."""
    gone: dict[str, float] = {}
    for record in records:
        what, node = record["what"], record.get("node", "")
        if what in DEAD:
            gone.setdefault(node, record["at"])
        elif what == "hello":
            gone.pop(node, None)
        elif what == "update" and node in gone:
            assert record["at"] < gone[node] + SOON, record


def _ends_parts_for_a_cause(records: list[PlainRecord]) -> None:
    """Check that a part ends by itself only while a memory fault presses its device."""
    pressed: dict[str, float] = {}
    for record in records:
        if record["what"] == "press" and record["begins"]:
            pressed[record["node"]] = math.inf
        elif record["what"] == "release":  # the part may have been killed a moment before
            pressed[record["node"]] = record["at"] + SOON
        elif record["what"] == "exit":
            assert record["at"] <= pressed.get(record["node"], -math.inf), record


def _refuses_for_a_cause(records: list[PlainRecord]) -> None:
    """Check that only garbled messages are refused, and those that honest devices may send."""
    crashed = any(record["what"] == "recovered" for record in records)
    known = {record["node"] for record in records if record["what"] == "garble"}
    for record in records:
        if record["what"] == "refused":
            reason = record["reason"]
            excused = HONEST.search(reason) or (crashed and CROSSED in reason)
            assert excused or record["node"] in known, record
            if "diverged again" in reason:  # three of these within two seconds, and it is held off
                known.add(record["node"])
        elif record["what"] == "quarantine":
            assert record["node"] in known, record


def _takes_up_nothing_through_a_cut(records: list[PlainRecord], late: float) -> None:
    """Check that a device which is cut off answers only models that it was sent before the cut.

    Its push may wait at the server for a step. Models that the server sends to a device that is cut
    off reach it after the cut at the earliest, and so does its answer. A cut that came more than
    `late` seconds after its time is not looked at: a host that starves the device's supervisor so
    starves the packet box, too, and the box may close the link after the supervisor's record.
    """
    unanswered: Counter[str] = Counter()
    left: dict[str, int] = {}
    for record in records:
        what, node = record["what"], record.get("node", "")
        if what == "sever":
            if record["at"] - record["planned"] <= late:
                left.setdefault(node, unanswered[node])
        elif what == "mend":
            left.pop(node, None)
        elif what == "pull":
            unanswered[node] += 1
        elif what == "update":
            unanswered[node] -= 1
            if node in left:
                left[node] -= 1
                assert left[node] >= 0, record


def _counts_staleness_from_the_pull(records: list[PlainRecord]) -> None:
    """Check that an update is as stale as it has versions between its own and its device's pull."""
    asked: defaultdict[str, set[int]] = defaultdict(set)
    for record in records:  # a record of earlier pulls stands behind the update of the last of them
        if record["what"] == "pull":
            asked[record["node"]].add(record["version"])
    for record in records:
        if record["what"] == "update":
            assert record["version"] - 1 - record["staleness"] in asked[record["node"]], record


def _steps_with_each_device(text: str, records: list[PlainRecord]) -> None:
    """Check that a device which nothing struck has an update in each step of a barrier."""
    scenario = loads(text)
    policy = scenario.training.synchronization
    assert isinstance(policy, Barrier)
    if policy.quorum < 1:  # a step may be made without the slowest
        return
    struck = {record["node"] for record in records if record.get("begins") is True}
    struck |= {record["node"] for record in records if record["what"] in ("left_out", "exit")}
    made = Counter(record["node"] for record in records if record["what"] == "update")
    steps = max(made.values(), default=0)
    for device in scenario.nodes:
        assert device.name in struck or made[device.name] == steps, (device.name, made)
