"""The pace of this host beside a run: how much slower than before its own work was meanwhile."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeVar

Case = TypeVar("Case")
Found = TypeVar("Found")

TRIES = 2
"""Tries at most of a measurement on a host that other work may disturb."""
SPAN = 1.0
"""Seconds of a measurement."""

_WORK = f"""
import time
begun = time.monotonic()
while time.monotonic() < begun + {SPAN}:
    sum(range(1000))
print((time.monotonic() - begun) / time.process_time())
"""

_SLEEPS = """
import sys, time
told, lost, begun = 0, 0.0, time.monotonic()
print(flush=True)
while time.monotonic() < begun + 600:
    due = time.monotonic() + 0.001
    time.sleep(0.001)
    now = time.monotonic()
    lost += max(0.0, now - due - 0.002)
    told += 1
    if told % 10 == 0:  # to tell takes longer than to sleep
        print(lost / (now - begun), flush=True)
"""
"""A link makes good 2 ms of lateness: its bucket holds as much. What is beyond is lost for good."""
MOST_LOST = 0.25
"""Largest share of the time that a host may have lost, of which a measurement is excused."""
MOST_TAKEN = 1.05
"""Factor by which the machine below may have made a run slower, of which it is not excused."""
CALM, PATIENCE = 0.01, 60.0
"""Share of the time that a calm host loses at most, and seconds to wait for a calm one."""


class Pace(NamedTuple):
    """Factors of at least 1 by which the host itself explains a difference between two runs."""

    step: float
    """Of a training step on an idle core, measured before and after a run."""
    wait: float
    """By which a process took longer than its core did: other work, or another machine, had the
    rest."""

    def explains(self, slower: float, promised: float) -> bool:
        """Return whether a run that was by the share `slower` slower than it should be has kept
        what is `promised`, on this host: other work makes a run slower, and never faster."""
        return (1 - promised) / self.step < 1 + slower < (1 + promised) * self.step * self.wait


def judged(
    play: Callable[[], Found], bound: Callable[[Found, float], bool], tries: int = TRIES
) -> Found:
    """Return the findings of `play` once they keep the `bound`; a miss gets another of the `tries`.

    `bound(found, longer)` judges a try: `longer` is the factor of at least 1 by which the host made
    transfers longer during this try. Facts that no host excuses are assertions in `play`: they fail
    at once. Each try is printed, and if all miss, one AssertionError names all.
    """
    (found,) = judged_each(lambda _: [play()], [None], bound, tries)
    return found


def judged_each(
    play: Callable[[list[Case]], Iterable[Found]],
    cases: Iterable[Case],
    bound: Callable[[Found, float], bool],
    tries: int = TRIES,
) -> list[Found]:
    """Return findings that keep the `bound`, one for each of `cases`, as `judged` does for one.

    `play` gets the cases that have not kept it yet, and returns a finding for each in their order.
    """
    missing, kept, said = dict(enumerate(cases)), dict[int, Found](), list[str]()
    for number in range(1, tries + 1):
        if number > 1:
            await_calm()
        with lateness() as lost:
            findings = list(play(list(missing.values())))
            longer = _longer(lost())
        for place, found in zip(list(missing), findings, strict=True):
            if in_bound := bound(found, longer):
                kept[place] = found
                del missing[place]
            verdict = "kept" if in_bound else "missed"
            said.append(f"try {number} {verdict}, {longer:.3f} times as long by the host: {found}")
            print(said[-1])
        if not missing:
            return [kept[place] for place in sorted(kept)]
    raise AssertionError("\n".join([f"missed {tries} times in a row", *said]))


def at_once(play: Callable[[Case], Found]) -> Callable[[list[Case]], list[Found]]:
    """Return what plays all cases at the same time, for `judged_each`; `play` plays one of them.

    Measurements that wait for links rather than for this host take no longer together.
    """

    def played(cases: list[Case]) -> list[Found]:
        with ThreadPoolExecutor(len(cases)) as threads:
            return list(threads.map(play, cases))

    return played


def _longer(lost: float) -> float:
    """Return the factor by which a host that has `lost` this share of the time made transfers
    longer.

    A time in which nobody sends is lost to a link, and as much again while TCP finds back to its
    rate: a host that lost a tenth of the time explains transfers that took 1.25 times as long.
    """
    return 1 / (1 - 2 * min(lost, MOST_LOST))


def await_calm() -> None:
    """Wait until this host wakes a sleeping process in time, or `PATIENCE` is over."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not calm():
        pass


def calm() -> bool:
    """Return whether this host wakes a sleeping process in time, for a second."""
    with lateness() as lost:
        time.sleep(SPAN)
        return lost() < CALM


@contextmanager
def other_work() -> Iterator[Callable[[], bool]]:
    """Yield what returns, after the block's run, whether the host had other work beside it.

    The load that the run itself makes is no excuse for the run: the host is looked at before and
    after it, and meanwhile for what the machine below took away.
    """
    before = calm()
    with stolen() as taken:
        yield lambda: not before or taken() > MOST_TAKEN or not calm()


def wait() -> float:
    """Return the mean time that a second of a core takes with a process on each core, at least 1.

    Nothing of the tests may run meanwhile but the sleeper of `lateness`.
    """
    cores = len(os.sched_getaffinity(0))
    command = [sys.executable, "-c", _WORK]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(cores)]
    told = [float(process.communicate()[0]) for process in running]
    return max(1.0, sum(told) / cores)


@contextmanager
def stolen() -> Iterator[Callable[[], float]]:
    """Yield what returns the factor, at least 1, by which processes took longer since then because
    the machine below this one ran another in the meantime (`steal` in proc(5))."""
    busy, taken = _processor_time()

    def factor() -> float:
        now_busy, now_taken = _processor_time()
        return 1 + (now_taken - taken) / max(1, now_busy - busy)

    yield factor


def _processor_time() -> tuple[int, int]:
    """Return the ticks that all cores have worked, and those that were stolen from them."""
    user, nice, system, _, _, interrupts, soft, steal, *_ = map(
        int, Path("/proc/stat").read_text().split()[1:10]
    )
    return user + nice + system + interrupts + soft, steal


@contextmanager
def lateness() -> Iterator[Callable[[], float]]:
    """Yield what returns the share of the time since then that a link of this host lost.

    A process that only sleeps for a millisecond is woken late by as much as a link is.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _SLEEPS], stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        told: list[float] = [0.0]
        reading = Thread(target=lambda: told.extend(map(float, process.stdout or ())), daemon=True)
        reading.start()
        try:
            yield lambda: told[-1]
        finally:
            process.kill()
            reading.join()


def pace(result: Mapping[str, Any], *waits: float) -> Pace:
    """Return the pace beside a comparison of runtimes with `result`, and the largest of `waits`."""
    steps = [result[key] for key in ("step_before_s", "step_after_s") if key in result]
    return Pace(max(steps) / min(steps) if steps else 1.0, max(waits))
