"""Whether a part that died is started again: by the times of its deaths, as docs/durability.md says
them."""

from typing import Any

import msgspec
import pytest

from emulator.core.plan import Durability
from emulator.node.config import EvaluatorRole
from emulator.node.supervisor import Revivals
from tests.fakes.node.supervised import SERVER, WORKER

PLAN = msgspec.structs.replace(SERVER.plan, durability=Durability())
DURABLE = msgspec.structs.replace(SERVER, plan=PLAN)
EVALUATOR = EvaluatorRole(WORKER.connection, 1)


def lives(part: Any, deaths: list[float]) -> list[bool]:
    """Return for each of `deaths` whether `part` is started again."""
    revivals = Revivals()
    return [revivals.allows(part, at) for at in deaths]


@pytest.mark.parametrize("part, within", [(DURABLE, 20.0), (EVALUATOR, 60.0)])
def test_five_deaths_within_some_seconds_are_the_last(
    part: Any, within: float, capsys: pytest.CaptureFixture[str]
) -> None:
    four = [within * share for share in (0.0, 0.1, 0.2, 0.3)]
    assert lives(part, [*four, within]) == [True] * 4 + [False]
    words = f"it died 5 times within {within:g} s, and is not started again\n"
    assert capsys.readouterr().err == words
    # four in a moment, and any number that come slowly enough, are not
    assert all(lives(part, [*four, within + 0.1]))
    assert all(lives(part, [number * within / 3.9 for number in range(30)]))
    assert capsys.readouterr().err == ""
    # the last five count, however long the part lived before
    late = [1000.0 + at for at in (*four, within)]
    assert lives(part, [0.0, *late]) == [True] * 5 + [False]


@pytest.mark.parametrize("part", [SERVER, WORKER])
def test_a_part_whose_state_is_lost_stays_down(part: Any) -> None:
    assert not Revivals().allows(part, 0.0)
