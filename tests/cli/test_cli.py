"""The command line: help, typing errors, and commands that are refused on this host."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.cli.entry import commands
from tests.fakes.typed_commands import Emulate, scenario

NAMES = sorted(commands.commands)


def test_the_commands_at_a_glance(emulate: Emulate) -> None:
    result = emulate("--help")
    assert result.code == 0
    listed = result.out.partition("Commands:\n")[2].splitlines()
    shown = [name for name in NAMES if not commands.commands[name].hidden]
    assert sorted(line.split()[0] for line in listed) == shown
    assert set(NAMES) - set(shown) == {"node"}
    assert not any("..." in line for line in listed)
    assert all(len(line) <= 80 and line.endswith((".", "?")) for line in listed)
    assert emulate("-h").out == result.out


@pytest.mark.parametrize("name", NAMES)
def test_each_command_teaches_its_use(emulate: Emulate, name: str) -> None:
    result = emulate(name, "--help")
    assert result.code == 0
    for option in re.findall(r"^  (-.*)$", result.out, re.MULTILINE):
        assert re.search(r"\S  +\S", option) or option.endswith(("ID", "FOLDER")), option
    if name not in ("node", "doctor"):
        assert re.search(rf"^  emulate {name}\b", result.out, re.MULTILINE), "no example"


def test_the_entry_point(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("emulate"), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert re.fullmatch(r"emulate, version \d+\.\d+\.\d+\n", done.stdout)


def test_an_interrupt_before_the_command_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(name: str, *rest: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.__import__", interrupt)
    with pytest.raises(SystemExit) as ended:
        main()
    monkeypatch.undo()
    assert (ended.value.code, capsys.readouterr().err) == (130, "emulate: interrupted\n")


@pytest.mark.slow
def test_a_reader_that_has_gone_ends_a_command_as_a_signal_would(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("emulate"), "algorithms"]
    piped = subprocess.PIPE
    with subprocess.Popen(command, stdout=piped, stderr=piped, cwd=tmp_path) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(timeout=60) == 141
        assert running.stderr is not None
        assert running.stderr.read() == b""


INTERRUPTED = """
import os, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Interrupts())
from emulator.cli import main
main()
"""


@pytest.mark.mostly_slow(quick=4)
@pytest.mark.parametrize("module", ["emulator.cli.entry", "click", "emulator.errors"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_that_is_still_imported(
    number: signal.Signals, module: str
) -> None:
    """Each command begins with a second of imports; the signal comes as `module` is looked for."""
    script = INTERRUPTED.format(module=module, number=int(number))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "emulate: interrupted\n")


@pytest.mark.parametrize("words", [("fly",), ("run",), ("check", "a", "b"), ("list", "--fast")])
def test_a_slip_of_the_fingers(emulate: Emulate, words: tuple[str, ...]) -> None:
    result = emulate(*words)
    assert result.code == 2
    assert "Usage: emulate" in result.err


def test_a_node_is_nothing_for_the_host(emulate: Emulate) -> None:
    result = emulate("node")
    assert result.code == 1
    assert result.err.startswith("emulate: there is no /etc/emulate/node.json")


@pytest.mark.parametrize("words", [("--batch-size", 10**10), ("pair.yaml",)])
def test_a_batch_beyond_all_data_is_not_measured(
    emulate: Emulate, tmp_path: Path, words: tuple[object, ...]
) -> None:
    scenario(tmp_path, ("algorithm: adacomp", "algorithm: adacomp, batch_size: 10000000000"))
    result = emulate("calibrate", *words)
    assert result.code == 2
    assert (
        "a batch of 10,000,000,000 examples is too large: at most 60,000 are allowed" in result.err
    )
