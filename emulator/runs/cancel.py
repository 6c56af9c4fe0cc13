"""The signals that end a run, turned into the exception `Canceled`."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

AGAIN = 0.05
"""Seconds until a signal is sent again whose exception was lost."""

REASONS = {
    signal.SIGINT: "canceled",
    signal.SIGTERM: "canceled",
    signal.SIGHUP: "canceled",  # the terminal was closed
    signal.SIGUSR1: "stopped",  # by `emulate stop`
}
"""The signals, and the reason that the run's log gives for an end by each."""


class Canceled(BaseException):
    """A signal asked for the end of the run.

    Not an Exception, so that no handler of errors between the signal and the session takes it.
    """

    def __init__(self, reason: str = "canceled") -> None:
        super().__init__(reason)
        self.reason = reason


class Cancellation:
    """Raises Canceled at the first signal, and ignores signals from then on."""

    def __init__(self) -> None:
        self._over = False
        self._number = 0
        self.over: Callable[[], bool] = lambda: False
        """Tells whether the run has come to its own end: signals are ignored from then on."""

    def ignore(self) -> None:
        """Let no later signal end the run."""
        self._over = True

    def listen(self) -> None:
        """Raise Canceled at the next signal again."""
        self._over, self.over = False, lambda: False

    def take(self, number: int, frame: object) -> None:
        """Handle the signal `number`."""
        if not self._over and not self.over():
            self._over, self._number = True, number
            raise Canceled(REASONS[signal.Signals(number)])

    def again(self) -> None:
        """Send the signal again, to be taken as the first one: its exception reached nobody."""
        self._over = False
        timer = Timer(AGAIN, os.kill, (os.getpid(), self._number))
        timer.daemon = True
        timer.start()


@contextmanager
def canceling() -> Iterator[Cancellation]:
    """Raise Canceled in the main thread at the first of the signals in `REASONS`.

    Later signals are ignored: removing containers takes seconds, and a second Ctrl-C would leave
    them behind. SIGHUP stays ignored if it was, as under `nohup`.

    Python drops an exception that is raised in a finalizer (`__del__`) or in a callback from C. It
    says so to `sys.unraisablehook`, and then the signal is sent again.
    """
    cancellation = Cancellation()
    others = sys.unraisablehook

    def unraisable(lost: Any) -> None:
        if isinstance(lost.exc_value, Canceled):
            cancellation.again()
        else:
            others(lost)

    sys.unraisablehook = unraisable
    handled = set(REASONS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        handled.remove(signal.SIGHUP)
    before = {number: signal.signal(number, cancellation.take) for number in handled}
    try:
        yield cancellation
    finally:
        sys.unraisablehook = others
        for number, handler in before.items():
            signal.signal(number, handler)
