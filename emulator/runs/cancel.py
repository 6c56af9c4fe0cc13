"""The signals that end a run, turned into the exception `Canceled`."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

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

    def ignore(self) -> None:
        """Let no later signal end the run."""
        self._over = True

    def take(self, number: int, frame: object) -> None:
        """Handle the signal `number`."""
        if not self._over:
            self._over = True
            raise Canceled(REASONS[signal.Signals(number)])


@contextmanager
def canceling() -> Iterator[Cancellation]:
    """Raise Canceled in the main thread at the first of the signals in `REASONS`.

    Later signals are ignored: removing containers takes seconds, and a second Ctrl-C would leave
    them behind. SIGHUP stays ignored if it was, as under `nohup`.
    """
    cancellation = Cancellation()
    handled = set(REASONS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        handled.remove(signal.SIGHUP)
    before = {number: signal.signal(number, cancellation.take) for number in handled}
    try:
        yield cancellation
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
