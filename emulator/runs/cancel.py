"""Ctrl-C and its kin, turned into one exception, once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

REASONS = {
    signal.SIGINT: "canceled",
    signal.SIGTERM: "canceled",
    signal.SIGHUP: "canceled",  # the terminal was closed
    signal.SIGUSR1: "stopped",  # by `emulate stop`
}


class Canceled(BaseException):
    """Someone asked for the end. Not an Exception: no handler on the way may eat it."""

    def __init__(self, reason: str = "canceled") -> None:
        super().__init__(reason)
        self.reason = reason


@contextmanager
def canceling() -> Iterator[list[str]]:
    """Raise Canceled at the first of these signals; yields where the reason will be.

    Later ones are ignored: taking the world down takes seconds, and what an impatient end
    would leave behind takes a person longer. SIGHUP stays ignored if it was, as under `nohup`.
    """
    reason: list[str] = []

    def cancel(number: int, frame: object) -> None:
        if not reason:
            reason.append(REASONS[signal.Signals(number)])
            raise Canceled(reason[0])

    heard = set(REASONS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        heard.remove(signal.SIGHUP)
    before = {number: signal.signal(number, cancel) for number in heard}
    try:
        yield reason
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
