"""`emulate completion`: print or install what a shell needs to complete commands."""

import os
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from ...errors import HostError
from ...machine.made_files import require_marked
from .schema import install_schema, schema_file

COMPLETE = "_EMULATE_COMPLETE"
"""Variable by which a script asks for completions; each script has its name."""

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' response type value completion
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \
%(complete_var)s=bash_complete $1)
    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                # more must follow: a value, a key, or a name in a folder
                [[ $value == *[=./] ]] && compopt -o nospace ;;
        esac
    done
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s edge-emulate
"""


class JoinedBashComplete(BashComplete):
    """Completion in bash of words with `=`, which bash cuts into three words."""

    name = "bash"
    source_template = _BASH
    _cut = ""
    """The part of the incomplete word that bash takes for earlier words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words = split_arg_string(os.environ["COMP_WORDS"])
        position = int(os.environ["COMP_CWORD"])
        incomplete = words[position] if position < len(words) else ""
        args: list[str] = []
        before = words[1:position]
        if incomplete == "=":
            before, incomplete = [*before, "="], ""
        elif not incomplete:
            before.append("")
        for word in before:
            if args and (word == "=" or args[-1].endswith("=")):
                args[-1] += word
            elif word:
                args.append(word)
        # the word before the cursor goes on, unless a space ended it
        if args and args[-1].endswith("=") and before[-1] == "=":
            self._cut = args.pop()
            incomplete = self._cut + incomplete
        return args, incomplete

    def format_completion(self, item: "CompletionItem[str]") -> str:
        return f"{item.type},{item.value.removeprefix(self._cut)}"


_ZSH = """\
#compdef %(prog_name)s edge-emulate

%(complete_func)s() {
    local type value about
    local -a response words_alone words_told open_alone open_told
    (( $+commands[%(prog_name)s] )) || return 1
    response=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \
%(complete_var)s=zsh_complete %(prog_name)s)}")
    for type value about in $response; do
        case $type in
            dir) _path_files -/ ;;
            file) _path_files -f ;;
            plain)
                # more must follow some words: a value, a key, or a name in a folder
                if [[ $about == _ && $value == *[=./] ]]; then open_alone+=($value)
                elif [[ $about == _ ]]; then words_alone+=($value)
                elif [[ $value == *[=./] ]]; then open_told+=("$value:$about")
                else words_told+=("$value:$about")
                fi ;;
        esac
    done
    (( $#words_told )) && _describe -V words words_told -U
    (( $#open_told )) && _describe -V keys open_told -U -S ''
    (( $#words_alone )) && compadd -U -V unsorted -a words_alone
    (( $#open_alone )) && compadd -U -V unsorted -S '' -a open_alone
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s edge-emulate
fi
"""


class OpenZshComplete(ZshComplete):
    """Completion in zsh that adds no space behind a word that goes on."""

    name = "zsh"
    source_template = _ZSH


_FISH = """\
function %(complete_func)s
    for completion in (env COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) \
%(complete_var)s=fish_complete %(prog_name)s)
        set -l typed (string split --max 1 , -- $completion)
        switch $typed[1]
            case dir
                __fish_complete_directories $typed[2]
            case file
                __fish_complete_path $typed[2]
            case plain
                echo $typed[2]
        end
    end
end

complete --no-files --keep-order --command %(prog_name)s --command edge-emulate \
--arguments "(%(complete_func)s)"
"""


class WholeFishComplete(FishComplete):
    """Completion in fish of words and descriptions with commas, in the order of the offers."""

    name = "fish"
    source_template = _FISH


add_completion_class(JoinedBashComplete)
add_completion_class(OpenZshComplete)
add_completion_class(WholeFishComplete)


@click.command(short_help="Print or install the completion of commands for a shell.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.option("--install", is_flag=True, help="Write the script where the shell finds it.")
def completion(shell: str, install: bool) -> None:
    """Print the script by which SHELL completes commands, options, scenario files, keys of
    scenarios after --set, runs, devices, profiles, templates, data sets, models and studies.

    Keys come from the schema that `emulate schema --install` writes; this command writes it too, if
    it is not here.

    \b
    emulate completion bash --install
    edge-emulate completion zsh --install     in zsh, `emulate` is a builtin
    eval "$(emulate completion bash)"         in this shell alone
    emulate completion fish | source          in this shell alone
    """
    kind = get_completion_class(shell)
    assert kind is not None
    commands = click.get_current_context().find_root().command
    script = kind(commands, {}, "emulate", COMPLETE).source()
    if install or not schema_file().exists():
        install_schema()
    if not install:
        click.echo(script, nl=False)
        return
    files, remark = _places(shell)
    for file in files:
        require_marked(file, COMPLETE)
    try:
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(script, encoding="utf-8")
    except OSError as error:
        raise HostError(f"cannot write {file}: {error.strerror}") from error
    for file in files:
        click.echo(f"wrote {file}")
    click.echo(remark)


def _places(shell: str) -> tuple[list[Path], str]:
    """Return the files in which `shell` looks for completions, a file for each name of the
    program, and a remark."""
    home = Path.home()
    if shell == "bash":
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
        folder = data / "bash-completion" / "completions"
        return [folder / "emulate", folder / "edge-emulate"], (
            "New shells load it where the package bash-completion is installed; elsewhere put\n"
            f"    source {folder / 'emulate'}\ninto ~/.bashrc."
        )
    if shell == "fish":
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish/completions"
        return [folder / "emulate.fish", folder / "edge-emulate.fish"], "New shells load it."
    return [home / ".zfunc" / "_emulate"], (
        "Put these lines at the end of ~/.zshrc. In zsh `emulate` is a builtin: type\n"
        "`edge-emulate`.\n"
        "    fpath=(~/.zfunc $fpath)\n"
        "    autoload -Uz compinit && compinit"
    )
