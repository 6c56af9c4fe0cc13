"""The group of all commands, and the entry point that runs the typed command."""

import os
import sys
from typing import Any

import click

from ..errors import EmulatorError, ScenarioError
from ..runs.cancel import Canceled
from .calibrate import calibrate
from .check import check
from .clean import clean
from .compare import compare
from .completion import completion
from .compose import compose
from .data import data
from .doctor import doctor
from .export_run import export
from .foreign_link import link
from .images import images
from .list import list_
from .logs import logs
from .new import new
from .node import node
from .predict import predict
from .report import report
from .resume import resume
from .run import run
from .schema import schema
from .show_algorithms import algorithms
from .show_model import model
from .show_plan import plan
from .show_profiles import profiles
from .show_schedules import schedule
from .show_trace import trace
from .stop import stop
from .study import study
from .sweep import sweep
from .test_codec import test_codec
from .tune import tune

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
            sink = os.open(os.devnull, os.O_WRONLY)  # takes the interpreter's last flush
            os.dup2(sink, sys.stdout.fileno())
            sys.exit(141)


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(package_name="edge-emulate", prog_name="emulate")
def commands() -> None:
    """Run distributed training on emulated edge devices with shaped links and injected faults.

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
    *(new, check, plan, schedule, predict, run, resume, sweep, tune, study),
    *(list_, logs, stop, clean),
    export,
    *(report, compare),
    *(algorithms, model, test_codec, profiles, trace, schema),
    *(completion, compose, link, node),
):
    commands.add_command(command)


def main() -> None:
    """Run a command; what we raise on purpose is printed bare, and ends with its exit code."""
    try:
        commands(prog_name="emulate", standalone_mode=False)
    except EmulatorError as error:
        _complain(error)
        sys.exit(error.exit_code)
    except (click.exceptions.Abort, Canceled):
        click.echo("emulate: interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)


def _complain(error: EmulatorError) -> None:
    # a scenario's mistakes begin with file:line, which editors and terminals can follow
    prefix = "" if isinstance(error, ScenarioError) else "emulate: "
    click.echo(f"{prefix}{error}", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(f"emulate: {note}", err=True)
