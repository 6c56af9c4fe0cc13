"""Gathers the commands, and runs the one that is typed."""

import sys

import click

from ..errors import EmulatorError, ScenarioError
from ..runs.cancel import Canceled
from .calibrate import calibrate
from .check import check
from .clean import clean
from .compare import compare
from .doctor import doctor
from .list import list_
from .logs import logs
from .node import node
from .report import report
from .run import run
from .schema import schema
from .show_algorithms import algorithms
from .stop import stop
from .study import study
from .sweep import sweep

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(click.Group):
    """Lists its commands in the order in which one comes to need them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(package_name="edge-emulate", prog_name="emulate")
def commands() -> None:
    """What happens to this training when it runs on devices behind real networks that fail?

    A scenario (YAML) says what devices there are, behind which links, what they learn and what
    goes wrong. `emulate run` plays it in containers; what happened is a folder under runs/.

    \b
    emulate doctor                            what this machine has, and what it lacks
    emulate check scenarios/quickstart.yaml   what would be played, and does it fit here?
    emulate run scenarios/quickstart.yaml     play it
    emulate report quickstart                 its latest run as a page with figures
    """


for command in (
    doctor,
    calibrate,
    check,
    run,
    sweep,
    list_,
    logs,
    stop,
    clean,
    report,
    compare,
    schema,
    algorithms,
    study,
    node,
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
    except BrokenPipeError:  # as with `emulate logs RUN | head`
        sys.stderr.close()
        sys.exit(141)


def _complain(error: EmulatorError) -> None:
    # a scenario's mistakes begin with file:line, which editors and terminals can follow
    prefix = "" if isinstance(error, ScenarioError) else "emulate: "
    click.echo(f"{prefix}{error}", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(f"emulate: {note}", err=True)
