"""The command line: `emulate run scenario.yaml`, and what helps before and after it."""

import sys

import click

from ..errors import EmulatorError
from . import after, before, play, world

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="edge-emulate", prog_name="emulate")
def commands() -> None:
    """What happens to this training when it runs on devices behind real networks that fail?

    A scenario (YAML) says what devices there are, behind which links, what they learn and what
    goes wrong. `emulate run` plays it in containers; what happened is a folder under runs/.

    \b
    emulate check scenarios/quickstart.yaml     what would be played, and does it fit here?
    emulate run scenarios/quickstart.yaml       play it
    emulate report quickstart                   its latest run as a page with figures
    emulate doctor                              what this machine has, and what it lacks
    """


for command in (
    play.run,
    before.check,
    before.schema,
    before.doctor,
    world.list_,
    world.logs,
    world.stop,
    world.clean,
    after.report,
    after.compare,
    play.node,
):
    commands.add_command(command)


def main() -> None:
    """Run a command; what we raise on purpose is printed bare, and ends with its exit code."""
    try:
        commands(standalone_mode=False)
    except EmulatorError as error:
        click.echo(f"emulate: {error}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
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
