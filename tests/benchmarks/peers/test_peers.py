"""The comparison with peers: whose processor time counts, and the table."""

import subprocess
import sys

import pytest

from emulator.errors import EmulatorError
from tests.benchmarks import books
from tests.benchmarks.peers import __main__ as peers

SLEEP = "import time; time.sleep(60)"
CHILD = f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}])"
FAMILY = f"""
import subprocess, sys, threading
thread = threading.Thread(target=lambda: {CHILD})
thread.start(); thread.join()
child = {CHILD}
print("ready", flush=True)
sys.stdin.readline()
"""


def test_descendants_are_found_whichever_thread_started_them() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        found = books.descendants(parent.pid)
        for process in found:
            subprocess.run(["kill", "-9", str(process)], check=True)
        parent.communicate("\n")
    assert len(found) == 2


def test_a_peer_that_ends_before_it_was_measured_is_told_with_its_last_words() -> None:
    program = [sys.executable, "-c", "print('begin'); raise SystemExit('no port')"]
    with pytest.raises(EmulatorError, match=r"fake ended before it was measured:\nno port"):
        peers.measured("fake", program)


def test_the_table_has_the_median_of_each_beside_that_of_our_own() -> None:
    assert peers.lines({peers.REFERENCE: [7.0, 5.0, 6.0], "Flower": [12.0, 30.0, 15.0]}) == [
        "ms of a core for an update        median   ratio   each",
        "emulate run, adacomp                6.00    1.00   7.00 5.00 6.00",
        "Flower                             15.00    2.50   12.00 30.00 15.00",
    ]
