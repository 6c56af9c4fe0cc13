"""A punctual thread has a real-time priority, for as long as it asks for it."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from emulator.machine.punctual import PRIORITY, punctual

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root, to ask for a real-time priority"
)


def policy() -> int:
    return os.sched_getscheduler(0)


def test_threads_are_punctual_for_the_block_and_those_that_it_starts() -> None:
    with ThreadPoolExecutor(1) as earlier, ThreadPoolExecutor(1) as started:
        assert earlier.submit(policy).result() == policy() == os.SCHED_OTHER
        with punctual():
            assert policy() == os.SCHED_RR
            assert os.sched_getparam(0).sched_priority == PRIORITY
            assert started.submit(policy).result() == os.SCHED_RR
            assert earlier.submit(policy).result() == os.SCHED_OTHER
            with punctual():
                assert policy() == os.SCHED_RR
            assert policy() == os.SCHED_RR
        assert policy() == os.SCHED_OTHER


def test_an_error_leaves_no_priority_behind() -> None:
    with pytest.raises(ZeroDivisionError), punctual():
        raise ZeroDivisionError
    assert policy() == os.SCHED_OTHER


def test_where_the_kernel_refuses_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*asked: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with punctual():
        assert policy() == os.SCHED_OTHER


def test_a_system_without_such_priorities_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setscheduler")
    with punctual():
        assert policy() == os.SCHED_OTHER
