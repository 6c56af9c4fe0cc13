"""An engine by SSH is a socket on this machine, while something is asked of it."""

import os
import socket
from pathlib import Path

import pytest

from emulator.errors import HostError
from emulator.runtimes.docker.engine.ssh_forward import forwarded

CONNECTS = """#!/usr/bin/env python3
import os, socket, sys, time
open(os.environ["SAID"], "w").write(" ".join([*sys.argv[1:], str(os.getpid())]))
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[sys.argv.index("-L") + 1].partition(":")[0])
listening.listen()
time.sleep(60)
"""
FAILS = "#!/bin/sh\necho 'me@far: Permission denied (publickey).' >&2; exit 255\n"


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the arguments and the process of the program `ssh`, which only connects."""
    monkeypatch.setenv("SAID", str(tmp_path / "said"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program(tmp_path, CONNECTS)
    return tmp_path / "said"


def program(folder: Path, text: str) -> None:
    (folder / "ssh").write_text(text)
    (folder / "ssh").chmod(0o755)


@pytest.mark.parametrize(
    ("address", "arguments"),
    [
        ("ssh://far", ":/var/run/docker.sock -- far"),
        ("ssh://me@far:2222/", ":/var/run/docker.sock -l me -p 2222 -- far"),
        ("ssh://me@far/run/user/1000/docker.sock", ":/run/user/1000/docker.sock -l me -- far"),
    ],
)
def test_the_socket_is_there_during_the_block(said: Path, address: str, arguments: str) -> None:
    with forwarded(address) as found:
        path = Path(found.removeprefix("unix://"))
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
        words, _, process = said.read_text().rpartition(" ")
        assert words.endswith(f"{path}{arguments}")
        assert "BatchMode=yes" in words
    assert not path.parent.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)


def test_a_machine_that_lets_nobody_in(said: Path) -> None:
    program(said.parent, FAILS)
    with (
        pytest.raises(HostError, match=r"^ssh://me@far cannot be reached: me@far: Permission den"),
        forwarded("ssh://me@far"),
    ):
        pass


@pytest.mark.parametrize("address", ["ssh://", "ssh://me:secret@far", "ssh://far:port"])
def test_addresses_of_no_engine(said: Path, address: str) -> None:
    with pytest.raises(HostError, match="is no address of an engine"), forwarded(address):
        pass


def test_without_ssh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="no program `ssh`"), forwarded("ssh://far"):
        pass
