"""The pace of repeated questions: at once, and ever more rarely until an answer comes."""

from itertools import pairwise

import pytest

from emulator.core.worker.garbled_question_pace import (
    LONGEST_PAUSE,
    PAUSE,
    SHORTEST_PAUSE,
    QuestionPace,
)


def _asked(pace: QuestionPace, now: float, until: float) -> list[float]:
    """Return the times at which a device repeats questions, all of which fail at once."""
    times = []
    while (now := pace.due(now)) < until:
        pace.ask(now)
        times.append(now)
    return times


def test_an_hour_of_failures_is_ten_questions_a_second() -> None:
    times = _asked(QuestionPace(), 0.0, 3600.0)
    gaps = [after - before for before, after in pairwise(times)]
    assert times[0] == 0.0
    assert gaps[:3] == pytest.approx([SHORTEST_PAUSE, 2 * SHORTEST_PAUSE, 4 * SHORTEST_PAUSE])
    assert max(gaps) == pytest.approx(LONGEST_PAUSE)
    assert len(times) < 36_020


def test_after_an_answer_the_next_question_leaves_at_once() -> None:
    pace = QuestionPace()
    now = _asked(pace, 0.0, 10.0)[-1]
    assert pace.due(now) == pytest.approx(now + LONGEST_PAUSE)
    pace.answer()
    assert pace.due(now) == now
    pace.ask(now)
    assert pace.due(now) == now + SHORTEST_PAUSE


def test_after_a_pause_the_pace_begins_anew() -> None:
    pace = QuestionPace()
    later = _asked(pace, 0.0, 10.0)[-1] + PAUSE
    assert pace.due(later) == later
    pace.ask(later)
    assert pace.due(later) == later + SHORTEST_PAUSE
