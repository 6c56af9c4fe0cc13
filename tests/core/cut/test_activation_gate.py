"""The gate before the server's layers: who waits for whom, and for how long."""

from emulator.core.cut.activation_gate import ActivationGate

GROUPS = ("abc", "de")


def gate() -> ActivationGate[str]:
    return ActivationGate(GROUPS, patience=10)


def test_a_group_passes_when_its_last_member_has_arrived() -> None:
    waiting = gate()
    assert waiting.arrive("a", "a1", 0) is waiting.arrive("b", "b1", 1) is None
    assert waiting.arrive("d", "d1", 2) is None and waiting.deadline() == 10
    assert waiting.arrive("c", "c1", 3) == ["a1", "b1", "c1"]
    assert waiting.deadline() == 12 and waiting.arrive("e", "e1", 4) == ["d1", "e1"]
    assert waiting.deadline() is None


def test_who_has_no_group_passes_at_once() -> None:
    assert gate().arrive("stranger", "s1", 0) == ["s1"]


def test_the_absent_are_given_up_once() -> None:
    waiting = gate()
    waiting.arrive("a", "a1", 0)
    assert waiting.tick(9) is None and waiting.tick(10) == ["a1"]
    assert waiting.arrive("a", "a2", 11) == ["a2"]
    assert waiting.arrive("b", "b1", 12) is None  # back: others wait for it, and it for others
    assert waiting.arrive("a", "a3", 13) == ["b1", "a3"]


def test_time_outs_of_the_living_do_not_renew_the_patience_with_the_dead() -> None:
    waiting = gate()
    for now in (0, 6):
        waiting.arrive("a", f"a{now}", now)
        waiting.arrive("b", f"b{now}", now)
        waiting.withdraw("a")
        waiting.withdraw("b")
    assert waiting.tick(10) is None and waiting.deadline() is None  # c is given up
    assert waiting.arrive("a", "a12", 12) is None
    assert waiting.arrive("b", "b12", 12) == ["a12", "b12"]


def test_a_member_that_withdrew_and_stays_away_is_given_up_next() -> None:
    waiting = gate()
    for node in "ab":
        waiting.arrive(node, f"{node}1", 0)
    waiting.withdraw("b")
    assert waiting.tick(10) is None and waiting.deadline() == 20
    assert waiting.tick(20) == ["a1"]


def test_only_the_expected_are_waited_for() -> None:
    waiting = gate()
    waiting.expect(["a", "b"])
    assert waiting.arrive("a", "a1", 0) is None
    assert waiting.arrive("b", "b1", 0) == ["a1", "b1"]
    assert waiting.arrive("c", "c1", 0) is None  # it is among the members again
    waiting.expect(["a"])
    assert waiting.arrive("a", "a2", 0) == ["c1", "a2"]


def test_nothing_is_kept_behind_the_end() -> None:
    waiting = gate()
    waiting.arrive("a", "a1", 0)
    waiting.clear()
    assert waiting.deadline() is None and waiting.tick(99) is None
