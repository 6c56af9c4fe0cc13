"""Shell completion: what is offered for each argument, and one dialogue with a real bash."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class

from emulator.cli.entry import commands
from tests.fakes.typed_commands import Emulate, scenario
from tests.layers import ROOT

SHELLS = ("bash", "zsh", "fish")


def offered(*words: str, shell: str = "fish") -> list[str]:
    """Return the words that `shell` is offered for the last word, which is incomplete."""
    kind = get_completion_class(shell)
    assert kind is not None
    completer = kind(commands, {}, "emulate", "_EMULATE_COMPLETE")
    return [item.value for item in completer.get_completions([*words[:-1]], words[-1])]


@pytest.fixture
def here(emulate: Emulate, tmp_path: Path) -> Path:
    """A folder with the schema, a scenario, a profile and two runs."""
    scenario(tmp_path)
    (tmp_path / "notes.txt").write_text("")
    profile = tmp_path / "profiles" / "failures" / "night-shift.yaml"
    profile.parent.mkdir(parents=True)
    profile.write_text("faults: []")
    for name, run in (("pair", "20261123T100000Z-aaaaaa"), ("lab", "20261123T110000Z-bbbbbb")):
        devices = tmp_path / "runs" / name / run / "devices"
        devices.mkdir(parents=True)
        (devices.parent / "scenario.yaml").write_text("")
        (tmp_path / "runs" / name / "latest").symlink_to(run)
        for device in ("server", f"{name}-0"):
            (devices / f"{device}.log").write_text("")
    assert emulate("schema", "--install").code == 0
    return tmp_path


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "words, expected",
    [
        (["comp"], {"compare", "completion", "compose"}),
        (["run", ""], {"pair.yaml", "profiles/", "runs/", "cache/"}),
        (["check", "profiles/failures/n"], {"profiles/failures/night-shift.yaml"}),
        (["report", ""], {"pair", "lab", "aaaaaa", "bbbbbb"}),
        (["compare", "pair", "b"], {"bbbbbb"}),
        (["export", "b"], {"bbbbbb"}),
        (["run", "pair.yaml", "--replay", "p"], {"pair"}),
        (["logs", "aaaaaa", ""], {"server", "pair-0"}),
        (["logs", "lab", "l"], {"lab-0"}),
        (["logs", "nothing", ""], set()),
        (["profiles", "night"], {"night-shift"}),
        (["profiles", "li"], {"links"}),
        (["new", "x", "--from", "f"], {"fleet", "failures"}),
        (["run", "pair.yaml", "--set", "st"], {"stop."}),
        (["run", "pair.yaml", "--set", "devices[1].na"], {"devices[1].name="}),
        (["run", "--set", "training.algorithm=adacomp-r"], {"training.algorithm=adacomp-residual"}),
        (["run", "--set", "virtual.tcp="], {"virtual.tcp=true", "virtual.tcp=false"}),
        (["run", "--set", "no.such.key"], set()),
        (["run", "--on", "v"], {"virtual"}),
        (
            ["run", "--set", "devices[0].profile=raspberry-pi-4"],
            {"devices[0].profile=raspberry-pi-4"},
        ),
        (["run", "--set", "server.link=fi"], {"server.link=fios"}),
        (["link", "web", "--profile", "fi"], {"fios"}),
        (["schedule", "pair.yaml", "--device", ""], {"near", "far"}),
        (["schedule", "nothing.yaml", "--device", ""], set()),
        (["study", "p"], {"pulls"}),
        (["calibrate", "--model", "digits-"], {"digits-mlp", "digits-softmax"}),
        (["algorithms", "adacomp", "ada-"], {"ada-sgd"}),
        (["data", "fa"], {"fashion-mnist", "fa"}),
    ],
)
def test_what_is_offered(shell: str, words: list[str], expected: set[str]) -> None:
    assert set(offered(*words, shell=shell)) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_every_key_leads_to_keys_or_takes_a_value() -> None:
    """Walk all offers, to a depth of four keys, and end at keys that take a value."""
    pending, ends = [""], set()
    while pending:
        typed = pending.pop()
        for word in offered("run", "--set", typed):
            assert word.startswith(typed)
            assert word.endswith((".", "="))
            (ends.add if word.endswith("=") or word.count(".") > 3 else pending.append)(word)
    known = {"seed=", "training.batch_size=", "training.codec.keep=", "devices[0].link.up.rate="}
    assert known <= ends


@pytest.mark.parametrize("words", [["--set", "st"], ["--set", ""]])
def test_keys_need_the_schema_and_say_nothing_without(emulate: Emulate, words: list[str]) -> None:
    assert offered("run", *words) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_installed_where_the_shell_looks(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    result = emulate("completion", shell, "--install")
    assert result.code == 0
    places = {
        "bash": ".local/share/bash-completion/completions/emulate",
        "zsh": ".zfunc/_emulate",
        "fish": ".config/fish/completions/emulate.fish",
    }
    file = tmp_path / places[shell]
    assert result.out.startswith(f"wrote {file}\n")
    other = file.with_name(file.name.replace("emulate", "edge-emulate"))
    assert other.is_file() == (shell != "zsh")
    assert file.read_text() == emulate("completion", shell).out
    assert (tmp_path / "cache" / "scenario.schema.json").is_file()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_has_the_syntax_of_its_shell(emulate: Emulate, tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    script = tmp_path / "script"
    script.write_text(emulate("completion", shell).out)
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


_DIALOGUE = r"""
source <(emulate completion bash)
ask() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _emulate_completion emulate
    echo "${COMPREPLY[*]}"
}
compopt() { echo compopt "$@"; }
complete -p emulate
ask emulate logs pair p
ask emulate run pair.yaml --set training.algorithm = adacomp-r
ask emulate run pair.yaml --set virtual.tcp =
ask emulate run pair.yaml --set training.batch
ask emulate run pair.yaml --set seed = 3 --on v
ask emulate run --on = v
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_a_real_bash_is_answered(here: Path) -> None:
    """bash cuts `key=value` into three words, and takes back what follows the sign alone."""
    done = real_shell(["bash", "--norc", "-c", _DIALOGUE], here)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o nosort -F _emulate_completion emulate",
        "pair-0",
        "adacomp-residual",
        "true false",
        "compopt -o nospace",
        "training.batch_size=",
        "virtual",
        "virtual",
    ]


def real_shell(command: list[str], here: Path) -> subprocess.CompletedProcess[str]:
    """Run the shell `command` in the folder `here`, with the program `emulate` on its path."""
    binaries = here / "bin"
    binaries.mkdir()
    program = binaries / "emulate"
    code = "from emulator.cli import main; main()"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    program.chmod(0o755)
    path = {"PATH": f"{binaries}:{os.environ['PATH']}"}
    return subprocess.run(
        command,
        cwd=here,
        env={**os.environ, **path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


_FISH_DIALOGUE = """
emulate completion fish | source
complete -C "emulate ru"
complete -C "emulate report p"
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not here")
def test_fish_has_whole_descriptions(here: Path) -> None:
    """A description may have commas, which separate the kind of an offer from its word."""
    done = real_shell(["fish", "--no-config", "-c", _FISH_DIALOGUE], here)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "run\tPlay a scenario, in containers or in virtual time.",
        "pair\tlatest of pair",
    ]


_IMPORTED = """
import sys
from emulator.cli.entry import commands
from click.shell_completion import get_completion_class
completer = get_completion_class("fish")(commands, {}, "emulate", "_EMULATE_COMPLETE")
for words in (["run", "--set", "s"], ["run", ""], ["report", ""], ["profiles", ""], ["new", ""]):
    completer.get_completions(words[:-1], words[-1])
heavy = {"numpy", "pydantic", "yaml", "rich", "pandas", "tensorflow", "docker"}
print(heavy & set(sys.modules) or "none")
"""


def test_completing_imports_no_heavy_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTED],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "none\n", done.stderr
