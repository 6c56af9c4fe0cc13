"""A capture of all bytes of a run: with `server.encrypt` no name, key or tensor is among them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from emulator.learning import models
from tests.containers.conftest import EMULATE, TINY, running, until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(120)]

CAPTURE = """
import socket, sys, threading
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
raw.settimeout(0.1)
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
print("ready", flush=True)
with open(sys.argv[1], "wb") as kept:
    while not over.is_set():
        try:
            kept.write(raw.recv(1 << 17))
        except OSError:
            pass
"""
"""Writes all bytes of all frames of a network namespace to a file."""

SLICE = 64
"""Bytes of a tensor that are looked for, at many places: a frame holds some of them whole."""


@pytest.mark.parametrize("encrypt", [False, True], ids=["plain", "encrypted"])
def test_what_a_capture_of_a_run_shows(client, ours, tmp_path: Path, encrypt: bool) -> None:
    """The plain run holds all that the encrypted one must not hold: the search finds it."""
    seen = _captured(client, tmp_path, TINY + f"server: {{encrypt: {str(encrypt).lower()}}}\n")
    tensor = models.find("digits-mlp").initial(0).astype(np.float32).tobytes()
    slices = {tensor[at : at + SLICE] for at in range(0, len(tensor) - SLICE, 4 * SLICE)}
    shown = {
        "a tensor": any(part in seen for part in slices if any(part)),
        "a device's name": b"left" in seen,
        "the mechanism": b"PLAIN" in seen,
    }
    assert len(seen) > 100_000
    assert shown == dict.fromkeys(shown, not encrypt)
    assert (b"CURVE" in seen) == encrypt


def _captured(client, folder: Path, text: str) -> bytes:
    """Play `text` in `folder`; return all bytes that the server's network carried from then on."""
    (folder / "scenario.yaml").write_text(text.replace("time: 60s", "time: 8s"))
    command = [EMULATE, "run", "scenario.yaml", "--no-report"]
    captured = folder / "frames"
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as run:
        until(lambda: running(client, folder, role="server") or run.poll() is not None, 60)
        pid = running(client, folder, role="server")[0].attrs["State"]["Pid"]
        words = ["nsenter", "-t", str(pid), "-n", sys.executable, "-I", "-S", "-c", CAPTURE]
        with subprocess.Popen(
            [*words, str(captured)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as capture:
            assert capture.stdout is not None
            assert capture.stdout.readline() == "ready\n"
            said, _ = run.communicate()
            capture.communicate()
    assert run.returncode == 0, said
    return captured.read_bytes()
