"""Faults that a device draws by itself: the actions and their ends."""

from typing import Any

from emulator.core.worker.fault_draws import FaultDraws
from emulator.world.verbs import Action

CRASH: dict[str, Any] = {
    "kind": "crash",
    "begin": "kill",
    "end": "start",
    "setting": None,
    "per_iteration": 1.0,
    "lasts": {"fixed": 2.0},
}


def test_a_drawn_fault_says_what_begins_and_ends_it() -> None:
    drawn = FaultDraws([CRASH], 7, "a", 0).draw()
    assert drawn == (Action("kill", "a", "crash"), Action("start", "a", "crash"), 2.0)


def test_a_fault_without_a_duration_lasts_for_good() -> None:
    drawn = FaultDraws([{**CRASH, "lasts": None}], 7, "a", 0).draw()
    assert drawn is not None
    assert drawn.lasts is None


def test_each_incarnation_draws_anew() -> None:
    def strikes(incarnation: int) -> list[bool]:
        draws = FaultDraws([{**CRASH, "per_iteration": 0.5}], 7, "a", incarnation)
        return [draws.draw() is not None for _ in range(64)]

    assert strikes(0) == strikes(0) != strikes(1)
    assert FaultDraws([], 7, "a", 0).draw() is None
