"""`emulate clean`: remove the containers, networks and volumes of dead runs."""

import sys
from shlex import quote
from typing import TYPE_CHECKING

import click

from ...runs.folder import conductor
from ..options import JSON_OPTION
from ..output import emit
from ..read.pages import short

if TYPE_CHECKING:
    from ...runtimes.docker.engine.owners import Owner


@click.command(short_help="Remove the containers, networks and volumes of dead runs.")
@click.option("--run", "run", default=None, metavar="ID", help="Clean up after this run only.")
@click.option("--force", is_flag=True, help="Clean up after runs that are being played too.")
@JSON_OPTION
def clean(run: str | None, force: bool, as_json: bool) -> None:
    """Remove the containers, networks and volumes that dead runs have left in the Docker engine.

    Where the engine manages a swarm, what is left at its other hosts is removed, too. The links
    that `emulate link` has made are undone. The emulator's label marks all of it;
    nothing without the label is touched. Containers of a run that is being played stay, as do those
    of a run whose lock this user cannot see, and all run folders. The exit code is 1 if something
    could not be removed.

    \b
    emulate clean
    """
    from ...runtimes.docker.engine.client import connect
    from ...runtimes.docker.engine.owners import owners, remove
    from ...runtimes.swarm.other_hosts import clean_other_hosts

    client = connect()
    wanted = [owner for owner in owners(client) if run in (None, owner.run)]
    living = [owner for owner in wanted if not (owner.dead or owner.link)]
    spared = [] if force else living
    counts = dict.fromkeys(("containers", "networks", "volumes"), 0)
    left: list[str] = []
    for owner in wanted:
        if owner not in spared:
            removed = remove(client, owner)
            counts = {kind: count + getattr(removed, kind) for kind, count in counts.items()}
            left += removed.left
    there = clean_other_hosts(client, lambda each: run in (None, each), force)
    counts = {kind: count + getattr(there.removed, kind) for kind, count in counts.items()}
    left += there.removed.left
    here = [owner.run for owner in spared]
    there_only = [name for name in dict.fromkeys(there.spared) if name not in here]

    def show() -> None:
        if run is not None and not (wanted or any(counts.values()) or there.spared):
            click.echo(f"the engine has nothing of a run {run}: `emulate list` names runs")
        click.echo("removed " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
        for owner in spared:
            click.echo(f"left alone: run {owner.run} {_life(owner)}")
        for name in there_only:
            click.echo(f"left alone: run {name} may be alive, and has things at other hosts only")
        for why in left:
            click.echo(f"emulate: {why}", err=True)

    content = {**counts, "spared": [*here, *there_only], "left": left}
    emit(as_json, content, show, indent=None)
    sys.exit(1 if left else 0)


def _life(owner: "Owner") -> str:
    """Return the reason for which the containers of `owner` stay, and the way to end the run."""
    if owner.conductor is None:
        return (
            "may be alive, as its lock cannot be seen from here "
            f"({owner.lock or 'the label is missing'}): end the run as the user and on the machine "
            f"that started it; `emulate clean --run {owner.run} --force` removes it all the same"
        )
    if owner.folder is None:
        return f"is just starting (process {owner.conductor})"
    if conductor(owner.folder) is None:
        return (
            f"is being played, in a folder that was moved from {owner.folder}: `emulate stop` "
            "ends it, given the folder's new place"
        )
    return f"is being played; `emulate stop {quote(str(short(owner.folder)))}` ends it"
