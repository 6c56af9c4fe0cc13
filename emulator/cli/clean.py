"""`emulate clean`: remove what dead runs have left in the engine."""

import json
import sys
from shlex import quote
from typing import TYPE_CHECKING

import click

from ..runs.folder import conductor
from .options import JSON_OPTION
from .pages import short

if TYPE_CHECKING:
    from ..runtimes.docker.owners import Owner


@click.command(short_help="Remove what dead runs have left in the engine.")
@click.option(
    "--run", "run", default=None, metavar="ID", help="Only what this run (its id) has left."
)
@click.option("--force", is_flag=True, help="Also what belongs to runs that are being played.")
@JSON_OPTION
def clean(run: str | None, force: bool, as_json: bool) -> None:
    """Remove every container, network and volume that runs have left behind.

    They are found by their label; nothing without it is touched. What belongs to a run that is
    being played is left alone. Run folders stay. The exit code is 1 if something could not be
    removed.

    \b
    emulate clean
    """
    from ..runtimes.docker.client import connect
    from ..runtimes.docker.owners import owners, remove

    client = connect()
    wanted = [owner for owner in owners(client) if run in (None, owner.run)]
    spared = [] if force else [owner for owner in wanted if not owner.abandoned]
    counts = dict.fromkeys(("containers", "networks", "volumes"), 0)
    left: list[str] = []
    for owner in wanted:
        if owner not in spared:
            swept = remove(client, owner)
            counts = {what: count + getattr(swept, what) for what, count in counts.items()}
            left += swept.left
    if as_json:
        told = {**counts, "spared": [owner.run for owner in spared], "left": left}
        click.echo(json.dumps(told))
        sys.exit(1 if left else 0)
    click.echo("removed " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    for owner in spared:
        click.echo(f"left alone: run {owner.run} {_life(owner)}")
    for why in left:
        click.echo(f"emulate: {why}", err=True)
    sys.exit(1 if left else 0)


def _life(owner: "Owner") -> str:
    """Return why what belongs to the owner stays, and what ends it."""
    if owner.conductor is None:
        return (
            "has containers that run, and its lock cannot be seen from here "
            f"({owner.lock or 'its label is missing'}): end it where it was started"
        )
    if owner.folder is None:
        return f"is just starting (process {owner.conductor})"
    if conductor(owner.folder) is None:
        return (
            f"is being played, in a folder that was moved from {owner.folder}: `emulate stop` "
            "ends it, given the folder's new place"
        )
    return f"is being played; `emulate stop {quote(str(short(owner.folder)))}` ends it"
