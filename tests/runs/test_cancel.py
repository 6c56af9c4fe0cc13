"""Signals that end a run: each of them arrives, once."""

import os
import signal
import sys
import time

import pytest

from emulator.runs.cancel import Canceled, canceling


class Finalized:
    """An object whose finalizer a signal strikes."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)  # Python handles the signal here at the latest


def test_a_signal_that_strikes_a_finalizer_is_not_lost() -> None:
    with pytest.raises(Canceled, match="canceled"), canceling():
        struck = Finalized()
        del struck
        time.sleep(5)
        pytest.fail("the signal was lost")


def test_what_else_a_finalizer_raises_is_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __del__(self) -> None:
            raise ValueError("broken")

    told: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(str(lost.exc_value)))
    with canceling():
        broken = Broken()
        del broken
    assert told == ["broken"]
