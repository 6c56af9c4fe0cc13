"""The verbs of a supervisor: what its part and its network do at each, alone and overlapping."""

import json
import time
from typing import Any

import pytest

from emulator.node.config import NodeConfig
from emulator.node.orders import AnyOrder, Do, encode
from emulator.node.part.part_powers import PARTING
from emulator.node.supervisor import Supervisor
from tests.fakes.node.supervised import (
    BORN,
    NETWORK,
    WORKER,
    Make,
    alive,
    await_stopped,
    born,
    done,
    kind_of,
    stopped,
    whats,
)


def test_a_killed_device_goes_silent_first_and_comes_back_as_another(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    first = born(container, 0)
    container.tell("kill", fault="crash", planned=15.0)
    reports = container.hear_all("kill")
    assert done(reports) == ["tc sever", "kill"]
    assert (reports[-1]["fault"], reports[-1]["planned"]) == ("crash", 15.0)
    assert not alive(first)
    container.tell("start", fault="crash", planned=25.0)
    reports = container.hear_all("boot")
    assert done(reports) == ["tc mend", "boot"]
    assert born(container, 1) != first


def test_faults_that_overlap_are_one_and_end_with_the_last(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    born(container, 0)
    for verb in ("start", "kill", "kill", "start", "sever", "start"):
        container.tell(verb, fault="crash")
    heard = done(container.hear_all("boot"))
    assert heard == ["tc sever", "kill", "tc sever", "sever", "boot"]  # still cut off
    born(container, 1)
    assert not (container.folder / "born-2").exists()


def test_a_severed_device_lives_on(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    pid = born(container, 0)
    container.tell("sever", fault="partition", planned=1.0)
    assert done(container.hear_all("sever")) == ["tc sever", "sever"]
    assert alive(pid)
    container.tell("mend", fault="partition", planned=2.0)
    assert done(container.hear_all("mend")) == ["tc mend", "mend"]
    assert not stopped(pid)  # it stood still only while it was cut off


def test_a_cut_holds_from_its_one_record_to_the_other(make: Make) -> None:
    """Else a push that leaves between the end of a cut and its report seems to pass the cut."""
    container = make(part=BORN)
    container.hear("ready")
    container.tell("sever", fault="partition")
    cut, severed = container.hear_all("sever")[-2:]
    container.tell("mend", fault="partition")
    passes, mended = container.hear_all("mend")[-2:]
    assert cut["now"] <= severed["now"] <= mended["now"] <= passes["now"]


def test_a_device_that_boots_while_it_is_cut_off_is_still_cut_off(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    born(container, 0)
    for verb in ("sever", "kill", "start"):
        container.tell(verb)
    assert done(container.hear_all("boot")) == ["tc sever", "sever", "tc sever", "kill", "boot"]
    container.tell("mend")
    assert done(container.hear_all("mend")) == ["tc mend", "mend"]


def test_a_partition_that_ends_while_the_power_is_off_leaves_it_off(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    born(container, 0)
    for verb in ("sever", "kill", "mend"):
        container.tell(verb)
    heard = done(container.hear_all("mend"))
    assert heard == ["tc sever", "sever", "tc sever", "kill", "mend"]
    container.tell("start")
    assert done(container.hear_all("boot")) == ["tc mend", "boot"]


@pytest.mark.parametrize("verb", ["sever", "mend"])
def test_a_paused_device_stands_still_until_it_is_resumed(make: Make, verb: str) -> None:
    """A cut, too, lets the part stand still, and must not wake a part that is paused."""
    container = make(part=BORN)
    container.hear("ready")
    pid = born(container, 0)
    assert not stopped(pid)
    container.tell("sever", fault="partition")
    container.tell("pause", fault="pause", planned=1.0)
    report = container.hear_all("pause")[-1]
    assert (report["fault"], report["verb"], report["planned"]) == ("pause", "pause", 1.0)
    await_stopped(pid)
    container.tell("mend", fault="partition")
    container.hear("mend")
    if verb == "sever":
        container.tell("sever", fault="partition")
        assert done(container.hear_all("sever")) == ["tc sever", "sever"]
    assert stopped(pid)
    container.tell("resume", fault="pause", planned=2.0)
    assert container.hear("resume")["verb"] == "resume"
    await_stopped(pid, False)


@pytest.mark.slow
def test_a_device_that_boots_while_it_is_paused_is_still_paused(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    first = born(container, 0)
    for verb in ("pause", "kill", "start"):
        container.tell(verb)
    assert done(container.hear_all("boot"))[-2:] == ["tc mend", "boot"]
    assert not alive(first)
    container.hear("traffic")
    assert not (container.folder / "born-1").exists()
    container.tell("resume")
    assert alive(born(container, 1))


def test_a_device_that_is_killed_while_it_is_paused_boots_awake_after_it(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    born(container, 0)
    for verb in ("pause", "kill", "resume", "start"):
        container.tell(verb)
    container.hear("boot")
    assert not stopped(born(container, 1))


@pytest.mark.parametrize("cut", [1, 9, 20])
def test_an_order_may_come_in_pieces(make: Make, cut: int) -> None:
    container = make()
    container.hear("ready")
    text = "".join(encode(Do(verb, "partition")).decode() + "\n" for verb in ("sever", "mend"))
    container.write(text[:cut])
    time.sleep(0.05)
    container.write(text[cut:])
    container.hear("sever")
    container.hear("mend")


@pytest.mark.slow
def test_a_device_may_draw_its_own_faults(make: Make) -> None:
    draws = f"""
import json, os, signal, sys
from emulator.node.part.part_process import CONTROL
if sys.argv[1] == "0":
    report = {{"what": "drawn", "fault": "crash", "begin": "kill", "end": "start", "lasts": 0.3}}
    os.write(int(os.environ[CONTROL]), json.dumps(report).encode() + b"\\n")
    signal.pause()
{BORN}
"""
    container = make(part=draws)
    down, up = container.hear("kill"), container.hear("boot")
    assert down["fault"] == up["fault"] == "crash"
    assert down["planned"] is None
    assert 0.2 < up["now"] - down["now"] < 0.8
    born(container, 1)


@pytest.mark.slow
def test_so_may_it_draw_a_pause_and_goes_on_by_itself(make: Make) -> None:
    draws = f"""
import json, os
from emulator.node.part.part_process import CONTROL
report = {{"what": "drawn", "fault": "pause", "begin": "pause", "end": "resume", "lasts": 0.3}}
os.write(int(os.environ[CONTROL]), json.dumps(report).encode() + b"\\n")
{BORN}
"""
    container = make(part=draws)
    still, on = container.hear("pause"), container.hear("resume")
    assert (still["verb"], on["verb"], still["planned"]) == ("pause", "resume", None)
    assert 0.2 < on["now"] - still["now"] < 0.8
    await_stopped(born(container, 0), False)


def test_a_fault_that_a_device_draws_for_good_is_told_as_such(make: Make) -> None:
    """The verb alone does not say whether anything will undo it."""
    draws = f"""
import json, os, signal
from emulator.node.part.part_process import CONTROL
report = {{"what": "drawn", "fault": "partition", "begin": "sever", "end": "mend", "lasts": None}}
os.write(int(os.environ[CONTROL]), json.dumps(report).encode() + b"\\n")
{BORN}
"""
    container = make(part=draws)
    assert done(container.hear_all("lost"))[-3:] == ["tc sever", "sever", "lost"]


def test_a_fault_that_is_drawn_under_another_of_its_verb_is_reported(make: Make) -> None:
    """The second would leave no trace, though it goes on when the first has ended."""
    draws = f"""
import json, os, signal
from emulator.node.part.part_process import CONTROL
report = {{"what": "drawn", "fault": "flap", "begin": "sever", "end": "mend"}}
for lasts in (60.0, 90.0, None, 60.0):
    line = json.dumps({{**report, "lasts": lasts}}).encode() + b"\\n"
    os.write(int(os.environ[CONTROL]), line)
{BORN}
"""
    container = make(part=draws)
    reports = container.hear_all("lost")
    first, second = [each for each in reports if each["what"] == "overlap"]
    assert (first["fault"], first["verb"], first["lasts"]) == ("flap", "sever", 90.0)
    assert second["lasts"] is None


def test_a_planned_fault_under_another_of_its_verb_is_reported_with_its_time(make: Make) -> None:
    """It begins nothing, and the run's log would have no trace of a fault of the timeline."""
    container = make(part=BORN)
    container.hear("ready")
    container.tell("sever", fault="energy")  # of a battery: in no timeline
    container.tell("sever", fault="partition", planned=5.0)
    container.tell("mend", fault="partition", planned=9.0)  # no fault begins
    container.tell("mend", fault="energy")
    reports = container.hear_all("mend")
    (overlap,) = [each for each in reports if each["what"] == "overlap"]
    told = overlap["fault"], overlap["verb"], overlap["planned"]
    assert told == ("partition", "sever", 5.0)


def test_sigterm_between_two_ends_that_are_due_drops_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    supervisor = Supervisor(NodeConfig("far", 9, WORKER, NETWORK))
    ends = [Do("mend"), Do("resume")]
    supervisor.later = [(1.0, end) for end in ends]
    obeyed = []

    def obey(order: dict[str, Any]) -> None:
        obeyed.append(order)
        supervisor._close()

    monkeypatch.setattr(supervisor, "obey", obey)
    supervisor._end_due(2.0)
    assert (obeyed, supervisor.later) == (ends[:1], [])


def test_an_end_that_is_not_due_stays_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = Supervisor(NodeConfig("far", 9, WORKER, NETWORK))
    supervisor.later = [(3.0, Do("mend")), (1.0, Do("resume"))]
    obeyed: list[AnyOrder] = []
    monkeypatch.setattr(supervisor, "obey", obeyed.append)
    supervisor._end_due(2.0)
    assert (obeyed, supervisor.later) == ([Do("resume")], [(3.0, Do("mend"))])


@pytest.mark.slow
def test_records_of_a_part_are_passed_on_and_nothing_else(make: Make) -> None:
    """Long ones too, and the last ones before the part ends; a part cannot speak as supervisor."""
    writes = """
import json, os
from emulator.node.part.part_process import CONTROL
def tell(what, **facts):
    left = json.dumps({"what": what, **facts}).encode() + b"\\n"
    while left:
        left = left[os.write(int(os.environ[CONTROL]), left):]
tell("failed", detail="nothing")
tell("drawn", fault="crash", begin="fly", end="land", lasts=None)
os.write(int(os.environ[CONTROL]), b"not JSON\\n")
tell("record", record={"what": "plan", "at": 1.5, "node": "far", "times": [0.25] * 30_000})
tell("record", record={"what": "iteration", "iteration": 7})
"""
    container = make(part=writes)
    code, heard = container.end()
    assert code == 0
    assert {"failed", "kill"}.isdisjoint(whats(heard))
    plan, iteration = [
        json.loads(bytes(each["record"])) for each in heard if each["what"] == "record"
    ]
    assert (plan["what"], plan["at"], plan["times"]) == ("plan", 1.5, [0.25] * 30_000)
    assert iteration["iteration"] == 7
    assert container.process.stderr
    said = container.process.stderr.read().decode().splitlines()
    assert len(said) == 3 and all(line.startswith("no report of a part (") for line in said)


# A part that says goodbye when it is asked, after a while, and leaves word of it.
PARTS = """
import signal, sys, time
from pathlib import Path
def part(number, frame):
    time.sleep(0.2)
    Path(__file__).with_name("said").touch()
    sys.exit(0)
signal.signal(signal.SIGUSR2, part)
"""


@pytest.mark.slow
def test_a_device_leaves_in_order_and_comes_back_as_another(make: Make) -> None:
    container = make(part=PARTS + BORN)
    container.hear("ready")
    first = born(container, 0)
    container.tell("leave", fault="leave", planned=15.0)
    report = container.hear_all("leave")[-1]
    assert (report["fault"], report["verb"], report["planned"]) == ("leave", "leave", 15.0)
    time.sleep(0.6)
    assert (container.folder / "said").exists() and not alive(first)
    container.tell("join", fault="leave", planned=25.0)
    assert done(container.hear_all("join")) == ["join"]  # no exit, and the link was never cut
    assert born(container, 1) != first


@pytest.mark.slow
def test_a_part_that_does_not_say_goodbye_in_time_is_killed(make: Make) -> None:
    deaf = f"import signal\nsignal.signal(signal.SIGUSR2, signal.SIG_IGN)\n{BORN}"
    container = make(part=deaf)
    container.hear("ready")
    pid = born(container, 0)
    container.tell("leave", fault="leave")
    container.hear("leave")
    time.sleep(0.5)
    assert alive(pid)
    container.tell("join", fault="leave")  # a boot does not wait for a goodbye
    container.hear("join")
    assert not alive(pid)
    second = born(container, 1)
    container.tell("leave", fault="leave")
    until = time.monotonic() + PARTING + 2
    while alive(second):
        assert time.monotonic() < until
        time.sleep(0.05)
    container.tell("join", fault="leave")
    assert done(container.hear_all("join")) == ["leave", "join"]


def test_a_device_that_is_paused_says_no_goodbye(make: Make) -> None:
    container = make(part=PARTS + BORN)
    container.hear("ready")
    pid = born(container, 0)
    for verb in ("pause", "leave"):
        container.tell(verb)
    container.hear("leave")
    assert not alive(pid) and not (container.folder / "said").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verbs", "heard"),
    [
        (("leave", "kill", "join"), ["leave", "tc sever", "kill", "join"]),
        (("kill", "leave", "start"), ["tc sever", "kill", "leave", "tc mend", "boot"]),
    ],
)
def test_a_device_that_is_killed_and_has_left_boots_when_both_are_over(
    make: Make, verbs: tuple[str, ...], heard: list[str]
) -> None:
    container = make(part=PARTS + BORN)
    container.hear("ready")
    born(container, 0)
    for verb in verbs:
        container.tell(verb)
    last = {"join": "join", "start": "boot"}[verbs[-1]]
    assert done(container.hear_all(last)) == heard
    container.hear("traffic")
    assert not (container.folder / "born-1").exists()
    container.tell("start" if verbs[-1] == "join" else "join")
    born(container, 1)


@pytest.mark.slow
def test_a_device_that_was_halted_goes_on_from_its_state_and_a_killed_one_does_not(
    make: Make,
) -> None:
    says = "import sys\nfrom pathlib import Path\n"
    says += "Path(__file__).with_name(f'kept-{sys.argv[1]}-{sys.argv[2:]}').touch()\n"
    container = make(part=says + BORN)
    container.hear("ready")
    born(container, 0)
    container.tell("halt", fault="crash", planned=5.0)
    report = container.hear_all("halt")[-1]
    assert (report["fault"], report["verb"], report["planned"]) == ("crash", "halt", 5.0)
    container.tell("reboot", fault="crash")
    assert done(container.hear_all("reboot")) == ["tc mend", "reboot"]
    born(container, 1)
    for verb in ("halt", "kill", "reboot", "start"):
        container.tell(verb, fault="crash")
    container.hear("boot")
    born(container, 2)
    for verb in ("kill", "halt", "start", "reboot"):
        container.tell(verb, fault="crash")
    container.hear("reboot")
    born(container, 3)
    names = sorted(path.name for path in container.folder.glob("kept-*"))
    assert names == ["kept-0-[]", "kept-1-['kept']", "kept-2-[]", "kept-3-[]"]


def starved(monkeypatch: pytest.MonkeyPatch) -> tuple[Supervisor, list[str]]:
    """A supervisor under pressure whose part the kernel has killed; the calls that it makes."""
    supervisor, calls = Supervisor(NodeConfig("far", 9, WORKER, NETWORK)), []
    monkeypatch.setattr("emulator.node.part.part_powers.apply", lambda commands: None)
    monkeypatch.setattr(
        "emulator.node.supervisor.say", lambda report, _=None: calls.append(kind_of(report))
    )
    monkeypatch.setattr(supervisor.powers, "boot", lambda: calls.append("boots"))
    monkeypatch.setattr(
        "emulator.node.control_group.memory_limit", lambda: None
    )  # so a press is done at once
    supervisor.obey(Do("press", setting={"share": 0.5}))
    supervisor.powers.starved = True
    assert calls == ["press"]
    calls.clear()
    return supervisor, calls


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        (["release"], ["release", "boots"]),
        (["kill", "start"], ["kill", "boot"]),
        (["kill", "start", "release"], ["kill", "boot", "release", "boots"]),
        (["kill", "release"], ["kill", "release"]),
        (["leave", "release"], ["leave", "release"]),
        (["leave", "join"], ["leave", "join"]),
        (["release", "press"], ["release", "boots", "press"]),
    ],
)
def test_a_part_without_memory_boots_when_it_is_released(
    monkeypatch: pytest.MonkeyPatch, orders: list[str], expected: list[str]
) -> None:
    supervisor, calls = starved(monkeypatch)
    for verb in orders:
        supervisor.obey(Do(verb, setting={"share": 0.5}))
    supervisor._revive()
    assert calls == expected
