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


@contextmanager
def canceling() -> Iterator[None]:
    """Raise Canceled in the main thread at the first of the signals in `REASONS`.

    Later signals are ignored: removing containers takes seconds, and a second Ctrl-C would leave
    them behind. SIGHUP stays ignored if it was, as under `nohup`.
    """
    received = False

    def cancel(number: int, frame: object) -> None:
        nonlocal received
        if not received:
            received = True
            raise Canceled(REASONS[signal.Signals(number)])

    handled = set(REASONS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        handled.remove(signal.SIGHUP)
    before = {number: signal.signal(number, cancel) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
