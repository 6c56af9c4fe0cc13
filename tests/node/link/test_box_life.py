"""The first process of the box's container, with a sleeper in the place of the box."""

import signal
import subprocess
import sys

HARNESS = """
import os, sys
from emulator.node.link import box_life

def execv(path, words):
    assert words[1:] == ["-m", "emulator.shaping.box", "--seed", "7"]
    os.write(1, b"box\\n")
    os.read(os.pipe()[0], 1)

os.execv = execv
box_life.main()
"""


def test_the_box_ends_with_standard_input_and_not_before() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, "--seed", "7"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as box:
        assert box.stdin
        assert box.stdout
        assert box.stdout.readline() == b"box\n"
        box.stdin.write(b"nothing is an order\n")
        box.stdin.flush()
        assert box.poll() is None
        box.stdin.close()
        assert box.wait(timeout=10) == -signal.SIGTERM
