"""The pauses of a device in virtual time: during a pause, messages and finished work wait."""

from collections.abc import Callable
from typing import Any, TypeAlias

from ..clock import Heap

Call: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]


class Standstill:
    """Keeps the calls to a paused device, and the times of the pauses."""

    __slots__ = ("_clock", "_since", "_spans", "_waiting")

    def __init__(self, clock: Heap) -> None:
        self._clock = clock
        self._since: float | None = None  # when the present pause began; None: the device runs
        self._spans: list[tuple[float, float]] = []  # begin and end of each past pause
        self._waiting: list[Call] = []

    @property
    def paused(self) -> bool:
        """Whether the device is paused now."""
        return self._since is not None

    def begin(self) -> None:
        """Begin a pause."""
        self._since = self._clock.now

    def end(self) -> list[Call]:
        """End the pause; return the kept calls, in the order of their arrival."""
        if self._since is not None:
            self._spans.append((self._since, self._clock.now))
            self._since = None
        waiting, self._waiting = self._waiting, []
        return waiting

    def forget(self) -> None:
        """Drop the kept calls, as after the death of the device."""
        self._waiting.clear()

    def delays(self, call: Callable[..., None], *arguments: Any) -> bool:
        """Keep `call` until the pause ends, and return True; return False if there is no pause."""
        if self._since is None:
            return False
        self._waiting.append((call, arguments))
        return True

    def delays_work(
        self, began: float, end: float, call: Callable[..., None], *arguments: Any
    ) -> bool:
        """Return whether pauses delay work, planned from `began` to `end`.

        Call this at `end` or later. If delayed, `call` is called again once the device has worked
        for as long as it stood still.
        """
        if self.delays(call, *arguments):
            return True
        due = end + self._lost(began)
        if due <= self._clock.now:
            return False
        self._clock.at(due, call, *arguments)
        return True

    def lost(self, began: float) -> float:
        """Return the seconds of standstill since `began`, with those of a pause that lasts."""
        present = 0.0 if self._since is None else self._clock.now - max(self._since, began)
        return self._lost(began) + present

    def _lost(self, began: float) -> float:
        """Return the seconds of past pauses since `began`."""
        lost = 0.0
        for begin, end in reversed(self._spans):
            if end <= began:
                break
            lost += end - max(begin, began)
        return lost
