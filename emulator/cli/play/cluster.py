"""`emulate cluster`: clusters on this machine, for trying what plays on clusters."""

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from ...runs.cancel import canceling
from ..options import JSON_OPTION
from ..output import emit

if TYPE_CHECKING:
    from ...runtimes.swarm.local_engines import LocalEngines
    from ...sweeps.cluster.local_cluster import LocalCluster


@click.command(short_help="Start engines of a Swarm, or Dask, on this machine; end them.")
@click.argument("action", type=click.Choice(["up", "down"]), required=False)
@click.option(
    "--local",
    type=click.IntRange(min=1, max=250),
    metavar="N",
    help="Start N Docker engines, or with `--dask` N workers, each of which plays one point at a "
    "time.",
)
@click.option("--dask", is_flag=True, help="Start a Dask scheduler with its workers, no engines.")
@JSON_OPTION
def cluster(
    action: Literal["up", "down"] | None, local: int | None, dask: bool, as_json: bool
) -> None:
    """Start a cluster on this machine (up), or end all of its clusters (down).

    N Docker engines are one Swarm, for `emulate run --on swarm`: each has a network namespace, an
    address and the node image of its own, as N hosts would; this needs root. A Dask cluster is for
    `--cluster` of sweeps, studies and tunings. Both show how these play on several machines; on one
    machine nothing is sooner.

    Without an action, say what is up. A real Dask cluster is any scheduler with workers that have
    the emulator installed, in the version of this machine. Whoever reaches a scheduler can run code
    on its workers: keep it in a network of your own, or let Dask use TLS.

    \b
    emulate cluster up --local 3
    emulate cluster up --local 3 --dask
    emulate sweep lab.yaml --seeds 24 --cluster tcp://127.0.0.1:PORT
    emulate cluster down
    """
    if (action == "up") != (local is not None) or (dask and action != "up"):
        raise click.UsageError("write `emulate cluster up --local N`, with or without `--dask`")
    if action == "down":
        _down(as_json)
    elif local is None:
        _show(as_json)
    elif dask:
        _up_with_dask(local, as_json)
    else:
        _up_with_engines(local, as_json)


def _up_with_dask(workers: int, as_json: bool) -> None:
    from ...sweeps.cluster import local_cluster

    known = local_cluster.up(workers)
    emit(as_json, _plain_dask(known), lambda: click.echo(_dask_words(known)))


def _up_with_engines(number: int, as_json: bool) -> None:
    from ...runtimes.swarm import local_engines
    from ..watching.sent_bytes import SentBytes

    with canceling(), SentBytes("the first engine") as sent:
        known = local_engines.up(number, partial(click.echo, err=True), sent)

    def show() -> None:
        click.echo(f"export DOCKER_HOST={known.engines[0].socket}")
        click.echo("emulate run FILE --on swarm")

    emit(as_json, known.plain(), show)


def _down(as_json: bool) -> None:
    """End what is up, of both kinds, and remove what is left of it."""
    from ...runtimes.swarm import local_engines
    from ...sweeps.cluster import local_cluster

    dask, engines = local_cluster.down(), local_engines.down()
    ended = ([f"the Dask cluster {dask.address}"] if dask else []) + ["the engines"] * engines
    words = f"ended {' and '.join(ended)}" if ended else "no cluster is up on this machine"
    plain = {"dask": _plain_dask(dask), "engines": engines}
    emit(as_json, {"ended": plain}, lambda: click.echo(words))


def _show(as_json: bool) -> None:
    """Say what is up, of both kinds."""
    from ...runtimes.swarm import local_engines
    from ...sweeps.cluster import local_cluster

    dask, swarm = local_cluster.current(), local_engines.current()
    engines = _plain_engines(swarm)
    lines = [_dask_words(dask)] if dask else []
    if engines is not None:
        lines += [f"{one['name']} {one['state']}, {one['socket']}" for one in engines["engines"]]
        lines += (
            [] if engines["engines"] else ["engines that are half made: `emulate cluster down`"]
        )
    content = {"dask": _plain_dask(dask), "swarm": engines}
    text = "\n".join(lines or ["no cluster is up on this machine"])
    emit(as_json, content, lambda: click.echo(text))


def _plain_dask(known: "LocalCluster | None") -> dict[str, Any] | None:
    return None if known is None else {"address": known.address, "workers": known.workers}


def _dask_words(known: "LocalCluster") -> str:
    return f"{known.workers} workers, one point each: --cluster {known.address}"


def _plain_engines(known: "LocalEngines | None") -> dict[str, Any] | None:
    """Return the engines, each with its state now."""
    if known is None:
        return None
    content = known.plain()
    for engine, plain in zip(known.engines, content["engines"], strict=True):
        plain["state"] = "up" if engine.up() else "down"
    return content
