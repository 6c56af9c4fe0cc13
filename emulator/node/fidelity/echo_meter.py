"""Delay, jitter and loss of each direction of a link, from echoes. Pure: no socket, no clock.

The mean and the deviation are taken of the differences from the requested delay, so that a link
may change meanwhile. An echo that comes much too late was delayed by the host, not by the link: it
is counted, and left out of the mean.
"""

import math
from dataclasses import dataclass, field

from .echo_wire import Answer

MOST_OPEN = 256
"""Questions without an answer that are remembered."""
LATE_JITTERS, LATE = 8.0, 0.02
"""An echo is late beyond so many jitters and seconds above the requested delay."""


@dataclass
class Delays:
    """Sums over the echoes of a direction. Times are in seconds."""

    count: int = 0
    late: int = 0
    """Echoes that came much too late; not in the other numbers."""
    total: float = 0.0
    """Sum of the delays."""
    requested: float = 0.0
    """Sum of the requested delays."""
    squares: float = 0.0
    """Sum of the squares of the differences between both."""
    jitters: float = 0.0
    """Sum of the squares of the requested jitters."""

    def add(self, delay: float, requested: float, jitter: float) -> None:
        """Add an echo with a `delay` on a path with the `requested` delay and `jitter`."""
        if delay > requested + LATE_JITTERS * jitter + LATE:
            self.late += 1
            return
        self.count += 1
        self.total += delay
        self.requested += requested
        self.squares += (delay - requested) ** 2
        self.jitters += jitter**2

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def deviation(self) -> float:
        """Standard deviation of the delays around the requested ones, shifted by their mean."""
        shift = (self.total - self.requested) / self.count
        return math.sqrt(max(0.0, self.squares / self.count - shift**2))


@dataclass
class Lost:
    """Packets sent in a direction, and those that were lost."""

    packets: int = 0
    lost: int = 0
    expected: float = 0.0
    """Packets that should have been lost."""
    bursts: bool = False
    """Whether a model should have lost them in bursts."""

    def add(self, found: "Lost", share: float, *, bursts: bool) -> None:
        """Add the packets of a time in which the link was to lose `share` of them.

        Once a share is above zero, packets of times without a loss are left out.
        """
        if share and not self.expected:
            self.packets = self.lost = 0
        if share or not self.expected:
            self.packets += found.packets
            self.lost += found.lost
            self.expected += share * found.packets
            self.bursts = self.bursts or (bursts and share > 0)


@dataclass
class _Session:
    """A series of questions with a common name."""

    name: bytes
    sent: int = 0
    answered: int = 0
    last: tuple[int, int, int] = (0, 0, 0)
    """Of the latest answer: its number, questions heard by then, answers by then."""
    told: tuple[int, int, int] = (0, 0, 0)
    """The same when the losses were last taken."""


@dataclass
class Asked:
    """A question under way."""

    at: int
    """When it left, in nanoseconds since 1970."""
    state: object
    """What the asker wants to be reminded of with the answer."""


@dataclass
class EchoMeter:
    """The questions of a node and the answers to them."""

    session: _Session
    open: dict[int, Asked] = field(default_factory=dict)

    @classmethod
    def named(cls, name: bytes) -> "EchoMeter":
        """Return a meter whose session bears `name`."""
        return cls(_Session(name))

    def renew(self, name: bytes) -> None:
        """Begin another session: the link was cut, and what is under way counts as neither."""
        self.session, self.open = _Session(name), {}

    def ask(self, at: int, state: object) -> int:
        """Return the number of a question that leaves at the time `at`."""
        if len(self.open) >= MOST_OPEN:
            del self.open[next(iter(self.open))]  # the oldest
        self.session.sent += 1
        self.open[self.session.sent] = Asked(at, state)
        return self.session.sent

    def take(self, answer: Answer) -> Asked | None:
        """Return the question of `answer`; None if the meter has asked no such question.

        An answer that comes twice counts once.
        """
        if answer.session != self.session.name:
            return None
        asked = self.open.pop(answer.number, None)
        if asked is None:
            return None
        session = self.session
        session.answered += 1
        if answer.number > session.last[0] and session.answered <= answer.heard <= answer.number:
            session.last = answer.number, answer.heard, session.answered
        return asked

    def losses(self) -> tuple[Lost, Lost]:
        """Return the losses up and down since the last call."""
        number, heard, answered = (
            now - then for now, then in zip(self.session.last, self.session.told, strict=True)
        )
        self.session.told = self.session.last
        up = Lost(number, max(0, number - heard))
        return up, Lost(max(0, heard), max(0, heard - answered))
