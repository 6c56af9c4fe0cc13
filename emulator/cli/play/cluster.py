"""`emulate cluster`: a cluster on this machine, for trying what plays on clusters."""

from typing import Literal

import click

from ...errors import HostError
from ..options import JSON_OPTION
from ..output import emit


@click.command(short_help="Start a small Dask cluster on this machine, or end it.")
@click.argument("action", type=click.Choice(["up", "down"]), required=False)
@click.option(
    "--local",
    type=click.IntRange(min=1, max=256),
    metavar="N",
    help="Start N workers, each of which plays one point at a time.",
)
@click.option("--dask", is_flag=True, help="Start a Dask scheduler with its workers.")
@JSON_OPTION
def cluster(
    action: Literal["up", "down"] | None, local: int | None, dask: bool, as_json: bool
) -> None:
    """Start a Dask cluster on this machine for `--cluster` (up), or end it (down).

    It shows how sweeps, studies and tunings play on a cluster; on one machine nothing is sooner.
    Without an action, say what is up. A real cluster is any Dask scheduler with workers that have
    the emulator installed, in the version of this machine. Whoever reaches a scheduler can run code
    on its workers: keep it in a network of your own, or let Dask use TLS.

    \b
    emulate cluster up --local 3 --dask
    emulate sweep lab.yaml --seeds 24 --cluster tcp://127.0.0.1:PORT
    emulate cluster down
    """
    if (action == "up") != (local is not None and dask):
        raise click.UsageError("write `emulate cluster up --local N --dask`")
    from ...sweeps.cluster import local_cluster as on_this_machine

    if action == "up":
        assert local is not None
        on_this_machine.up(local)
    if action == "down":
        ended = on_this_machine.down()
        if ended is None:
            raise HostError("no cluster is up on this machine")
        emit(as_json, {"ended": ended.address}, lambda: click.echo(f"ended {ended.address}"))
        return
    known = on_this_machine.current()
    content = None if known is None else {"address": known.address, "workers": known.workers}
    words = "no cluster is up on this machine"
    if known is not None:
        words = f"{known.workers} workers, one point each: --cluster {known.address}"
    emit(as_json, content, lambda: click.echo(words))
