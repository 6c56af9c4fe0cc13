"""The silences of TCP on a link that loses packets in bursts.

The chain of a loss model moves by packets, not by time: a sender that falls silent stays in the
burst. If a burst takes all packets that TCP may send before the next acknowledgement, no
acknowledgement comes, and TCP sends one packet at a time: a probe after two round trips (RFC 8985),
then the first segment after each time-out, which doubles (RFC 6298). So the rest of the burst,
beyond the window, costs a time-out for each packet.

The chain is drawn here for each packet of a message, in flights of a window. A flight of which an
acknowledgement tells the losses costs no silence; the mean cost of such a loss, and that of a
silence which the first probe ends, are in the rate (`tcp.py`).

Not modelled: acknowledgements of the opposite direction, which move the chain too; the packets of
other devices in the chain of a shared link.
"""

import math
from collections.abc import Iterator, Sequence
from random import Random

from ....world.links.loss_models import Chain
from .cubic import INITIAL, SEGMENT

LEAST_TIMEOUT = 0.2
LONGEST_TIMEOUT = 120.0
"""Seconds; Linux's TCP_RTO_MIN and TCP_RTO_MAX."""
_FIRST = INITIAL / SEGMENT
"""Packets in the first window."""
_WIDEST = (1 << 30) / SEGMENT
"""Packets in the widest window that TCP's header can tell (RFC 7323, section 2.3)."""
_KEPT = 0.7
"""Share of the window that is left after a loss (RFC 9438, section 4.6)."""
_MOST_TRIES = 10_000
"""Tries of a silence, two weeks: the chain may never let a packet pass."""


def tries(felt: float) -> Iterator[float]:
    """Yield the seconds after which TCP sends a packet into a silence, without end.

    `felt` is the round trip in seconds that TCP has measured.
    """
    attempt, timeout = 2 * felt, LEAST_TIMEOUT + felt
    while True:
        yield attempt
        attempt += timeout
        timeout = min(2 * timeout, LONGEST_TIMEOUT)


class BurstLosses:
    """The losses of a connection in a direction: chains that its packets move, and its window."""

    def __init__(self, chains: Sequence[Chain], rng: Random) -> None:
        """`chains` are those of the link's sides; `rng` draws their states."""
        self._walks = [_Walk(chain, rng) for chain in chains]
        self.reset()

    def reset(self) -> None:
        """Begin a new connection on the same link."""
        self._window, self._threshold = _FIRST, math.inf
        self._ahead = 0  # packets of the next message that have passed already

    def silence(self, packets: int, behind: int, rtt: float, pace: float) -> float:
        """Return the seconds of silence while `packets` full packets are sent, with `behind` more
        that wait behind them.

        `rtt` is the round trip in seconds, and `pace` the seconds of a packet on the link.
        """
        silent, left, reopening = 0.0, packets - self._ahead, False
        widest = max(_FIRST, (rtt + 0.25) / pace if pace else _WIDEST)
        while left > 0:
            size = min(left + behind, int(self._window))
            lost = self._lost(size)
            if reopening:  # one window in each round trip
                silent += max(0.0, rtt - size * pace)
            if True not in lost:
                left -= size
                slow = self._window >= self._threshold
                self._window = min(widest, self._window + (1 if slow else self._window))
                reopening = reopening and self._window < min(widest, self._threshold)
                continue
            first, passed = lost.index(True), lost.count(False)
            heard = passed > first
            fresh = min(first, left + behind - size)
            left -= passed
            if not heard and fresh:
                # acknowledgements of the packets before the loss let as many new ones follow
                more = self._lost(fresh).count(False)
                heard, left = more > 0, left - more
            self._threshold = max(2.0, _KEPT * self._window)
            self._window = self._threshold
            if not heard:
                silent += self._silent(max(rtt, size * pace))
                left -= 1
                self._window, reopening = 1.0, True
        self._ahead = -left
        return silent

    def _silent(self, felt: float) -> float:
        """Return the seconds from the first probe to the packet that passes."""
        first = 2 * felt
        for number, attempt in enumerate(tries(felt), 1):
            if True not in self._lost(1) or number == _MOST_TRIES:
                return attempt - first
        raise AssertionError("tries end")

    def _lost(self, count: int) -> list[bool]:
        """Send `count` packets; return which of them are lost."""
        lost = self._walks[0].lost(count)
        for walk in self._walks[1:]:
            lost = [one or other for one, other in zip(lost, walk.lost(count), strict=True)]
        return lost


class _Walk:
    """A chain on its way, drawn by sojourns: a state that lasts a thousand packets is one draw."""

    def __init__(self, chain: Chain, rng: Random) -> None:
        self._chain, self._rng = chain, rng
        self._enter(0)

    def _enter(self, state: int) -> None:
        """Enter `state`, and draw the number of packets that find it."""
        self._state, stay = state, self._chain.steps[state][state]
        self._left: float = math.inf
        if stay < 1:
            # a geometric number, by inversion
            draw = 1 - self._rng.random()
            self._left = 1 + int(math.log(draw) / math.log(stay)) if stay > 0 else 1

    def lost(self, count: int) -> list[bool]:
        """Return for each of the next `count` packets whether it is lost."""
        lost: list[bool] = []
        while len(lost) < count:
            if not self._left:
                steps = list(self._chain.steps[self._state])
                steps[self._state] = 0.0
                (state,) = self._rng.choices(range(len(steps)), steps)
                self._enter(state)
            run = int(min(count - len(lost), self._left))
            share = self._chain.losses[self._state]
            if 0 < share < 1:
                lost += [self._rng.random() < share for _ in range(run)]
            else:
                lost += [share >= 1] * run
            self._left -= run
        return lost
