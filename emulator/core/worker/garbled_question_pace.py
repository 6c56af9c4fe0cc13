"""Pace of the questions that a device repeats, while all its messages have flipped bits.

A repeated question leaves at once after a pause. Without a good answer the least time to the next
one doubles, as a socket's does that reconnects: on a link without a delay an exchange takes next to
no time, and a device would ask thousands of times a second.
"""

import math

SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.1
"""Least and largest of the least times between two repeated questions, in seconds."""
PAUSE = 1.0
"""Seconds without a repeated question after which the next one is the first again."""


class QuestionPace:
    """The times at which one device may repeat questions."""

    def __init__(self) -> None:
        self.asked = -math.inf
        """Time of the last repeated question, which may be to come."""
        self._least = 0.0

    def due(self, now: float) -> float:
        """Return the time, `now` or later, at which the device may repeat a question."""
        return max(now, self.asked + self._least)

    def ask(self, at: float) -> None:
        """Note that the device repeats a question at the time `at`."""
        again = self._least > 0 and at < self.asked + PAUSE
        self._least = min(LONGEST_PAUSE, 2 * self._least) if again else SHORTEST_PAUSE
        self.asked = at

    def answer(self) -> None:
        """Note that a message without flipped bits has come: the next question leaves at once."""
        self._least = 0.0
