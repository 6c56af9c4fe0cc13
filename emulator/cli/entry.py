"""The group of all commands, and the entry point that runs the typed command."""

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..errors import EmulatorError, HostError, ScenarioError, unplaced
from ..runs.cancel import Canceled
from .output import (
    FULL,
    discard_output,
    echo_json,
    flush_output,
    json_echoed,
    renaming,
    take_every_letter,
    unwritable,
)
from .plan.check import check
from .plan.predict import predict
from .plan.show_algorithms import algorithms
from .plan.show_plan import plan
from .plan.show_profiles import profiles
from .plan.show_schedules import schedule
from .plan.show_trace import trace
from .play.clean import clean
from .play.cluster import cluster
from .play.foreign_link import link
from .play.node import node
from .play.resume import resume
from .play.run import run
from .play.stop import stop
from .play.study import study
from .play.sweep import sweep
from .play.tune import tune
from .prepare.calibrate import calibrate
from .prepare.completion import COMPLETE, completion
from .prepare.compose import compose
from .prepare.data import data
from .prepare.doctor import doctor
from .prepare.images import images
from .prepare.new import new
from .prepare.schema import schema
from .prepare.show_model import model
from .prepare.test_codec import test_codec
from .read.compare import compare
from .read.export_run import export
from .read.list import list_
from .read.logs import logs
from .read.report import report

_JSON = "--json"
_OTHER_NAME = "edge-emulate"
_EXAMPLE = re.compile(
    r"(?<=`)emulate(?= [a-zA-Z-])|(?:(?<=^    )|(?<=^  )|^)emulate(?= [a-z])", re.MULTILINE
)
"""The program's name in an example, or in a sentence that names a command."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(click.Group):
    """A group that lists commands in the order of their use, not of the alphabet."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, context: click.Context) -> Any:
        """Run the command; end as by SIGPIPE if nobody reads on, as with `emulate logs RUN | head`.

        click would end with exit code 1, the one of errors.
        """
        try:
            return super().invoke(context)
        except BrokenPipeError:
            discard_output()
            sys.exit(141)


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(package_name="edge-emulate", prog_name="emulate")
def commands() -> None:
    """Run distributed training on emulated edge devices with shaped links and injected faults.

    In zsh, the shell of macOS, `emulate` is a builtin of the shell: type `edge-emulate` there.
    `python -m emulator` is the same command, too.

    A scenario (YAML) names the devices, their links, the model and data to train on, and the
    faults. `emulate run` plays it in Docker containers, or in virtual time without Docker. A run is
    a folder under runs/ with a log of everything that happened.

    \b
    emulate doctor           check whether this machine can play runs
    emulate new lab          write the scenario lab.yaml, from a template with comments
    emulate check lab.yaml   show the plan, and whether this host can carry it
    emulate run lab.yaml     play it in containers; `--on virtual` needs no Docker
    emulate report lab       draw its latest run as a page with figures
    """


for command in (
    *(doctor, data, images, calibrate),
    *(new, check, plan, schedule, predict, run, resume, sweep, tune, study, cluster),
    *(list_, logs, stop, clean),
    export,
    *(report, compare),
    *(algorithms, model, test_codec, profiles, trace, schema),
    *(completion, compose, link, node),
):
    commands.add_command(command)


def program() -> str:
    """Return the words by which the user called this program: `emulate` unless they differ."""
    name = Path(sys.argv[0]).name
    if name == "__main__.py":
        return f"{Path(sys.executable).name} -m emulator"
    return _OTHER_NAME if name == _OTHER_NAME else "emulate"


def _call_by(name: str) -> None:
    """Let the examples of every help begin with `name`, in place of `emulate`."""
    if name != "emulate":
        for command in (commands, *commands.commands.values()):
            options = (each for each in command.params if isinstance(each, click.Option))
            shown: Any
            for shown in (command, *options):
                shown.help = _EXAMPLE.sub(name, shown.help or "")


def main() -> None:
    """Run the typed command; deliberate errors are printed bare, and end with their exit code.

    The program's examples and remedies begin with the name by which the user called it.
    """
    name = program()
    _call_by(name)
    take_every_letter()
    json_echoed(forget=True)
    with nullcontext() if name == "emulate" else renaming(partial(_EXAMPLE.sub, name)):
        _answer()


def _answer() -> None:
    """Run the typed command, and print a deliberate error. Exits for a code that is not 0."""
    try:
        _run()
        flush_output()
    except EmulatorError as error:
        _complain(error)
        sys.exit(error.exit_code)
    except UnicodeEncodeError as error:
        _complain(HostError(_unwritten(error)))
        sys.exit(1)
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        discard_output()
        _complain(unwritable(error))
        sys.exit(1)


def _run() -> None:
    """Run the typed command. Exits for a code that is not 0."""
    try:
        commands(prog_name=program(), complete_var=COMPLETE, standalone_mode=False)
    except (click.exceptions.Abort, Canceled):
        click.echo("emulate: interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        if _awaits_json():
            _print_mistakes([error.format_message()])
        sys.exit(error.exit_code)
    except click.exceptions.Exit as done:
        flush_output()
        sys.exit(done.exit_code)
    except SystemExit:
        flush_output()
        raise


def _complain(error: EmulatorError) -> None:
    """Print `error` in words, and after `--json` as JSON, unless the command has printed its JSON.

    A scenario's mistakes in JSON need no words.
    """
    mistakes = error.mistakes if isinstance(error, ScenarioError) else ()
    if _awaits_json():
        _print_mistakes([*mistakes] or [str(error)])
        if mistakes:
            return
    # a scenario's mistakes begin with file:line, which editors and terminals can follow
    prefix = "" if isinstance(error, ScenarioError) else "emulate: "
    click.echo(f"{prefix}{error}", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(f"emulate: {note}", err=True)


def _awaits_json() -> bool:
    """Return whether the user asked for JSON, and the command has not printed it."""
    return _JSON in sys.argv and not json_echoed()


def _print_mistakes(mistakes: Sequence[str | Mapping[str, Any]]) -> None:
    """Print `mistakes` as the JSON that every command with `--json` gives for them."""
    listed = [
        unplaced(mistake) if isinstance(mistake, str) else dict(mistake) for mistake in mistakes
    ]
    with suppress(OSError):
        echo_json({"mistakes": listed})


def _unwritten(error: UnicodeEncodeError) -> str:
    """Return the message for a file name that the locale's encoding lacks."""
    name = error.object.encode("ascii", "backslashreplace").decode()
    return (
        f"{name!r} cannot be a file name in the encoding of this locale, {error.encoding}: "
        "set LC_ALL=C.UTF-8"
    )
