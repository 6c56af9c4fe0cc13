"""A sidecar: its verbs at the link, and its requests for the program in another container."""

from typing import Any

import pytest

from emulator.node.config import ProgramRole
from emulator.node.orders import ProgramDone, ProgramEnded, ReviveProgram, encode
from tests.fakes.node.supervised import Container, Make, done

DEVICE, SERVER = ProgramRole(device=True, server="x"), ProgramRole(device=False)


@pytest.fixture
def sidecar(make: Make) -> Container:
    container = make(role=DEVICE)
    container.hear("ready")
    return container


def say(container: Container, order: Any) -> None:
    container.write(encode(order).decode() + "\n")


def asked(container: Container, do: str) -> int:
    """Answer the next request of `container`, which is to `do` something; return the life."""
    report = container.hear("program")
    assert report["do"] == do
    say(container, ProgramDone(report["ask"]))
    return int(report["life"])


def test_a_crash_cuts_the_link_first_and_is_on_record_once_the_program_is_dead(
    sidecar: Container,
) -> None:
    sidecar.tell("kill", fault="crash", planned=15.0)
    heard = sidecar.hear_all("program")
    assert done(heard) == ["tc sever", "program"] and heard[-1]["do"] == "kill"
    sidecar.tell("sever", fault="partition")
    assert "kill" not in done(sidecar.hear_all("sever"))  # which nobody has done yet
    sidecar.tell("mend", fault="partition")
    sidecar.hear("mend")
    say(sidecar, ProgramDone(heard[-1]["ask"]))
    assert done(sidecar.hear_all("kill")) == ["kill"]
    sidecar.tell("start", fault="crash", planned=25.0)
    heard = sidecar.hear_all("program")
    assert done(heard) == ["tc mend", "program"]
    assert (heard[-1]["do"], heard[-1]["life"]) == ("start", 1)
    say(sidecar, ProgramDone(heard[-1]["ask"]))
    assert sidecar.hear("boot")["fault"] == "crash"


def test_a_paused_device_that_crashes_is_paused_again_when_it_boots(sidecar: Container) -> None:
    sidecar.tell("pause", fault="pause")
    assert asked(sidecar, "freeze") == 0
    sidecar.hear("pause")
    sidecar.tell("kill", fault="crash")
    asked(sidecar, "kill")
    sidecar.hear("kill")
    sidecar.tell("start", fault="crash")
    assert (asked(sidecar, "start"), asked(sidecar, "freeze")) == (1, 1)
    sidecar.hear("boot")
    sidecar.tell("resume", fault="pause")
    asked(sidecar, "thaw")
    sidecar.hear("resume")


def test_a_cut_asks_nothing_of_the_program(sidecar: Container) -> None:
    sidecar.tell("sever", fault="partition")
    assert done(sidecar.hear_all("sever")) == ["tc sever", "sever"]
    sidecar.tell("mend", fault="partition")
    assert done(sidecar.hear_all("mend")) == ["tc mend", "mend"]


def test_a_device_that_leaves_is_asked_to_end_and_joins_as_another_start(
    sidecar: Container,
) -> None:
    sidecar.tell("leave", fault="churn")
    heard = done(sidecar.hear_all("leave"))
    assert heard == ["program", "leave"]  # before the program has ended
    sidecar.tell("join", fault="churn")  # while it may still say goodbye
    assert (asked(sidecar, "kill"), asked(sidecar, "start")) == (0, 1)
    sidecar.hear("join")


@pytest.mark.parametrize("code", [0, 3, -9])
def test_a_program_that_ends_by_itself_has_an_exit_and_its_sidecar_stays(
    sidecar: Container, code: int
) -> None:
    say(sidecar, ProgramEnded(0, code, "limit" if code == -9 else ""))
    exit_report = sidecar.hear("exit")
    assert exit_report["code"] == code
    assert exit_report["cause"] == ("limit" if code == -9 else "")
    say(sidecar, ProgramEnded(0, code))  # heard twice, or of an earlier start: nothing
    say(sidecar, ReviveProgram())
    assert asked(sidecar, "start") == 1


def test_the_end_of_an_earlier_start_is_no_exit(sidecar: Container) -> None:
    sidecar.tell("kill", fault="crash")
    asked(sidecar, "kill")
    sidecar.tell("start", fault="crash")
    asked(sidecar, "start")
    say(sidecar, ProgramEnded(0, -9))
    for verb in ("sever", "mend"):  # by the second one the sidecar has looked at its program
        sidecar.tell(verb, fault="partition")
        assert "exit" not in done(sidecar.hear_all(verb))


def test_a_killed_server_keeps_its_link(make: Make) -> None:
    container = make(role=SERVER)
    container.hear("ready")
    container.tell("kill", fault="server-crash")
    heard = container.hear_all("program")
    assert done(heard) == ["program"]


def test_a_sidecar_ends_when_it_is_told_and_when_the_conductor_is_gone(make: Make) -> None:
    told = make(role=DEVICE)
    told.hear("ready")
    told.tell("stop")
    assert told.end()[0] == 0
    left = make(role=DEVICE)
    left.hear("ready")
    left.hang_up()
    assert left.end()[0] == 0
