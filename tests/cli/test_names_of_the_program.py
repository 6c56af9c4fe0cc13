"""The names by which the program is called: `emulate`, `edge-emulate` and `python -m emulator`."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from emulator.cli import entry
from emulator.cli.entry import commands
from tests.fakes.typed_commands import Emulate
from tests.fakes.virtual_world import digits
from tests.layers import ROOT

BIN = Path(sys.executable).parent
LAB = """\
name: lab
training: {dataset: digits, model: digits-mlp, codec: dense, batch_size: 10}
virtual: {learner: none, step: 10ms, serve: 1ms, boot: 1s}
stop: {updates: 5}
devices: [{name: home, count: 2}]
"""


def test_a_wheel_has_a_name_that_no_shell_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["edge-emulate"] == project["scripts"]["emulate"]


def test_the_first_words_under_install_and_the_help_say_what_to_type_in_zsh(
    emulate: Emulate,
) -> None:
    install = (ROOT / "README.md").read_text().partition("## Install\n\n")[2]
    assert install.startswith("**In zsh, the shell of macOS, type `edge-emulate`")
    assert "type `edge-emulate`" in emulate("--help").out
    assert "type `edge-emulate`" in (ROOT / "docs" / "README.md").read_text()


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_help_has_the_name_that_was_typed(
    emulate: Emulate, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = (commands, *commands.commands.values())
    options = (each for command in named for each in command.params if hasattr(each, "help"))
    kept = {each: each.help for each in (*named, *options)}
    monkeypatch.setattr(entry, "program", lambda: "edge-emulate")
    try:
        shown = emulate(name, "--help").out
    finally:
        for each, text in kept.items():
            each.help = text
    examples = [line for line in shown.splitlines() if line.startswith(f"  emulate {name}")]
    assert shown.startswith(f"Usage: edge-emulate {name}") and examples == []
    assert "`emulate " not in shown


def _named(text: str) -> set[str]:
    return set(re.findall(r"[\w-]*emulate(?= [a-z])", text))


def test_remedies_have_the_name_that_was_typed(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    with digits():
        assert emulate("run", "lab.yaml", "--on", "virtual", "--no-report").code == 0
    monkeypatch.setattr(entry, "_call_by", lambda name: None)
    monkeypatch.setattr(entry, "program", lambda: "edge-emulate")
    remedies = [
        emulate("stop", "lab").err,  # of an error
        emulate("stop", "lab", "--runs", "nowhere").err,
        emulate("list", "--runs", "nowhere").out,
        emulate("new", "other").out,
        emulate("check", "lab.yaml", "--set", "devices[0].link.up.delay=3ms").out,
    ]
    for text in remedies:
        assert _named(text) == {"edge-emulate"}, text


@pytest.mark.slow
@pytest.mark.parametrize("program", [[BIN / "edge-emulate"], [sys.executable, "-m", "emulator"]])
def test_each_name_runs_the_program(program: list[str | Path], tmp_path: Path) -> None:
    done = subprocess.run([*program, "algorithms"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "adacomp" in done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is missing: apt-get install zsh")
@pytest.mark.parametrize(
    "words",
    ["edge-emulate algorithms", "python -m emulator algorithms", "command emulate algorithms"],
)
def test_a_real_zsh_runs_the_program(words: str, tmp_path: Path) -> None:
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}

    def typed(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["zsh", "-fc", line], capture_output=True, text=True, cwd=tmp_path, env=environment
        )

    assert typed("emulate doctor; echo $?").stdout == "0\n"  # the builtin
    done = typed(words)
    assert done.returncode == 0 and "adacomp" in done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is missing: apt-get install zsh")
def test_a_real_zsh_completes_both_names(tmp_path: Path) -> None:
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    environment["EMULATE_CACHE"] = str(tmp_path / "cache")
    line = (
        "edge-emulate completion zsh --install >/dev/null; fpath=(~/.zfunc $fpath); "
        "autoload -Uz compinit && compinit -u; print $_comps[edge-emulate] $_comps[emulate]"
    )
    done = subprocess.run(
        ["zsh", "-fc", line], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.stdout == "_emulate _emulate\n", done.stderr
