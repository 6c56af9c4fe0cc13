"""Memory faults that begin in a container: the order of their steps, and each interruption."""

import itertools
import signal
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.node.config import GOODBYE, NodeConfig
from emulator.node.part import presser
from emulator.node.supervisor import Supervisor
from tests.fakes.node.supervised import NETWORK, WORKER, kind_of, order

STOP, CONT = signal.SIGSTOP, signal.SIGCONT
QUOTA = ("lift_quota", "lower_quota")


class Part:
    """A part that only notes what happens to it."""

    waits_for = None

    def __init__(self) -> None:
        self.stopped, self.down, self.keeps, self.pid = False, False, False, None
        self.signals: list[signal.Signals] = []
        self.exit: int | None = None

    def signal(self, number: signal.Signals) -> None:
        if not self.down:
            self.signals.append(number)
            self.stopped = {STOP: True, CONT: False}.get(number, self.stopped)

    def freeze(self) -> None:
        self.signal(STOP)

    def boot(self, anew: bool = True) -> None:
        self.down = self.stopped = False

    def kill(self) -> None:
        self.down = True

    def take_exit(self) -> int | None:
        code, self.exit = self.exit, None
        self.down |= code is not None
        return code

    def memory_cause(self) -> str:
        return "limit"


class Device:
    """A supervisor with its world made up: it is told orders, and steps of a press are done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[dict[str, Any]] = []
        self.now, self.holds = 100.0, False
        monkeypatch.setattr("emulator.node.part.part_powers.apply", lambda commands: None)
        monkeypatch.setattr("emulator.node.control_group.memory_limit", lambda: 256 << 20)
        for module in ("supervisor", "part.presser"):
            say = lambda report, _=None: self._say(kind_of(report), **report.facts())  # noqa: E731
            monkeypatch.setattr(f"emulator.node.{module}.say", say)
        monkeypatch.setattr(presser, "_NUMBERS", itertools.count(1))
        self.supervisor = Supervisor(NodeConfig("far", 9, WORKER, NETWORK))
        clock: Any = SimpleNamespace(now=lambda: self.now)
        self.supervisor.clock = self.supervisor.powers.clock = clock
        self.part: Any = Part()
        self.supervisor.part = self.supervisor.powers.part = self.part
        hand = self.supervisor.powers.presser
        monkeypatch.setattr(hand, "take", lambda size, user: self._say("takes", size=size))
        monkeypatch.setattr(hand, "held", lambda: self.holds)
        monkeypatch.setattr(hand, "release", lambda: self._say("gives back"))
        taken = property(lambda hand: self.whats.count("takes") > self.whats.count("gives back"))
        monkeypatch.setattr(presser.Presser, "runs", taken)

    def _say(self, what: str, **facts: Any) -> None:
        self.said.append({"what": what, "stopped": self.part.stopped, **facts})

    def tell(self, verb: str, **facts: Any) -> None:
        setting = {"setting": {"share": 0.5}} if verb == "press" else {}
        self.supervisor.obey(order(verb, fault="memory", **setting, **facts))

    def look(self) -> None:
        self.supervisor.powers.press_on()

    def answer(self, what: str, press: int = 1) -> None:
        self.tell(what, press=press)
        self.look()

    def hold(self) -> None:
        self.holds = True
        self.look()

    def answer_all(self) -> None:
        """Answer each request, also late, until no press or release is under way."""
        for number, what in itertools.product(range(1, 5), QUOTA):
            self.answer(what, number)
            self.hold()

    @property
    def whats(self) -> list[str]:
        return [each["what"] for each in self.said]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    yield Device(monkeypatch)


STEPS: dict[str, Callable[[Device], None]] = {
    "before the quota is lifted": lambda device: device.look(),
    "while memory is taken": lambda device: device.answer("lift_quota"),
    "before the quota is back": lambda device: (device.answer("lift_quota"), device.hold())[1],
}


def test_the_part_stands_still_from_before_the_quota_is_lifted_until_it_is_back(
    device: Device,
) -> None:
    device.tell("press", planned=5.0)
    device.look()
    assert device.whats == ["lift_quota"] and device.part.stopped
    device.answer("lift_quota")
    device.look()
    assert device.whats[1:] == ["takes"] and device.said[1]["size"] == 128 << 20
    device.hold()
    assert device.whats[2:] == ["press", "lower_quota"]
    assert device.said[2]["planned"] == 5.0 and device.said[2]["setting"] == {"share": 0.5}
    device.look()
    assert device.part.stopped
    device.answer("lower_quota")
    assert not device.part.stopped
    device.tell("release", planned=9.0)
    device.look()
    assert device.whats[4:] == ["lift_quota"] and device.part.stopped
    device.answer("lift_quota", press=2)
    assert device.whats[5:] == ["gives back", "release", "lower_quota"]
    assert device.said[6]["planned"] == 9.0 and device.part.stopped
    device.answer("lower_quota", press=2)
    assert device.part.signals == [STOP, CONT, STOP, CONT]


@pytest.mark.parametrize("step", STEPS)
def test_a_release_comes_behind_the_press_whichever_step_it_meets(
    device: Device, step: str
) -> None:
    device.tell("press")
    STEPS[step](device)
    device.tell("release")
    assert device.part.stopped
    device.answer_all()
    records = [what for what in device.whats if what not in QUOTA]
    taken = [] if step == "before the quota is lifted" else ["takes"]
    given = ["gives back"] if taken else []
    assert records == [*taken, "press", *given, "release"]
    assert device.whats.count("lift_quota") == device.whats.count("lower_quota")
    assert not device.part.stopped and device.supervisor.powers.pressing is None


@pytest.mark.parametrize("step", ["before the quota is lifted", "before the quota is back"])
def test_a_press_that_follows_a_release_at_once_comes_behind_it(device: Device, step: str) -> None:
    device.tell("press")
    device.answer_all()
    device.tell("release")
    if step == "before the quota is back":
        device.answer("lift_quota", press=2)
    device.tell("press")
    device.answer_all()
    records = [what for what in device.whats if what not in QUOTA]
    assert records == ["takes", "press", "gives back", "release", "takes", "press"]
    assert not device.part.stopped and device.supervisor.powers.pressing is None


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("verbs", "stands"),
    [
        (["pause"], True),
        (["pause", "resume"], False),
        (["kill"], None),
        (["kill", "start"], False),
        (["halt", "reboot"], False),
        (["leave", "join"], False),
        (["sever"], False),
        (["sever", "mend"], False),
        (["pause", "kill", "start"], True),
    ],
)
def test_no_other_fault_wakes_the_part_before_the_press_is_over(
    device: Device, step: str, verbs: list[str], stands: bool | None
) -> None:
    device.tell("press")
    STEPS[step](device)
    for verb in verbs:
        device.tell(verb)
        assert device.part.stopped or device.part.down
    device.answer("lift_quota")
    device.hold()
    device.answer("lower_quota")
    assert device.whats.count("press") == 1 and device.supervisor.powers.pressing is None
    assert device.part.down == (stands is None)
    assert device.part.down or device.part.stopped == stands


@pytest.mark.parametrize("step", STEPS)
def test_a_part_that_has_to_end_is_woken_in_every_step(device: Device, step: str) -> None:
    device.tell("press")
    STEPS[step](device)
    device.tell("stop", reason="canceled")
    assert not device.part.stopped
    device.tell("sever")
    assert not device.part.stopped


def test_a_device_that_leaves_during_a_press_says_goodbye_once_it_goes_on(device: Device) -> None:
    device.tell("press")
    device.tell("leave")
    assert device.part.signals == [STOP, GOODBYE]
    for step in STEPS.values():
        step(device)
    device.answer("lower_quota")
    assert device.part.signals[-1] == CONT and not device.part.down


def test_a_paused_device_is_pressed_and_stays_paused(device: Device) -> None:
    device.tell("pause")
    device.tell("press")
    device.answer("lift_quota")
    device.hold()
    device.answer("lower_quota")
    assert "press" in device.whats and device.part.stopped
    device.tell("resume")
    assert not device.part.stopped


def test_without_an_answer_each_step_comes_late_and_the_part_goes_on(device: Device) -> None:
    device.tell("press")
    for heard in (["lift_quota"], ["takes"], ["press", "lower_quota"], []):
        device.look()
        assert device.whats[-len(heard) :] == heard if heard else not device.part.stopped
        device.now += presser.LONGEST_STEP + 0.1
    assert device.whats == ["lift_quota", "takes", "press", "lower_quota"]


def test_a_late_answer_to_an_earlier_press_is_dropped(device: Device) -> None:
    device.tell("press")
    device.tell("release")  # nothing is taken
    device.tell("press")
    device.answer("lift_quota", press=1)
    device.answer("lower_quota", press=1)
    assert "takes" not in device.whats and device.part.stopped
    device.answer("lift_quota", press=2)
    device.hold()
    device.answer("lower_quota", press=2)
    assert device.whats.count("press") == 2 and not device.part.stopped


def test_a_second_press_meanwhile_is_an_overlap(device: Device) -> None:
    device.tell("press", planned=5.0)
    device.tell("press", planned=5.1)
    assert device.whats == ["lift_quota", "overlap"]
    device.answer("lift_quota")
    device.hold()
    device.tell("release")
    device.answer_all()
    assert device.whats.count("press") == 1 and "release" not in device.whats
    device.tell("release")
    device.answer_all()
    assert device.whats.count("release") == 1 and not device.part.stopped


@pytest.mark.parametrize("lasts", [4.0, None])
def test_a_drawn_press_lasts_from_when_it_is_held(device: Device, lasts: float | None) -> None:
    device.tell("press", lasts=lasts, end="release")
    device.answer("lift_quota")
    assert device.supervisor.later == []
    device.hold()
    ends = [end.verb for _, end in device.supervisor.later]
    assert ends == (["release"] if lasts else [])


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("lasts", [4.0, None])
def test_a_part_that_is_killed_during_a_press_returns_if_the_press_ends(
    device: Device, step: str, lasts: float | None
) -> None:
    device.tell("press", lasts=lasts, end="release")
    STEPS[step](device)
    device.part.exit = -9
    assert not device.supervisor._finished()
    assert device.said[-1]["what"] == "exit"
    assert device.said[-1]["returns"] == (lasts is not None)
    assert device.supervisor.powers.starved


def test_a_part_that_was_killed_boots_once_its_memory_is_released(device: Device) -> None:
    device.tell("press")
    device.answer("lift_quota")
    device.part.exit = -9
    assert not device.supervisor._finished() and device.supervisor.powers.starved
    device.tell("release")
    device.supervisor._revive()
    assert device.part.down
    device.part.exit = -9  # the kernel killed it, and nobody has looked yet
    device.answer_all()
    assert device.whats.index("release") > device.whats.index("gives back")
    device.supervisor._revive()
    assert not device.part.down and not device.part.stopped
