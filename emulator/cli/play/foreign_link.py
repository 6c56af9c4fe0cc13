"""`emulate link`: put any running container behind an access link, or take it out again."""

import sys
from typing import TYPE_CHECKING

import click

from ...errors import EmulatorError, ScenarioError
from ..options import JSON_OPTION, SHAPING_OPTION
from ..output import emit
from ..prepare.completed_words import link_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...shaping.features import Delay
    from ...world.links.link import Link

_WORLD = """
name: link
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {updates: 1}
devices: [{name: foreign}]
"""
"""The smallest scenario, whose device has the link."""
_PLACE = "devices[0].link"


@click.command(short_help="Put any running container behind an access link.")
@click.argument("container")
@click.option(
    "--profile",
    metavar="NAME",
    shell_complete=link_names,
    help="Link profile, as `emulate profiles links` lists.",
)
@click.option(
    "--up", metavar="KEYS", help="What the container sends, as {rate: 1mbit, delay: 25ms}."
)
@click.option("--down", metavar="KEYS", help="What the container receives, in the same keys.")
@SHAPING_OPTION
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="Seed of jitter and loss. Default: 0."
)
@click.option("--remove", is_flag=True, help="Give the container its own network back.")
@JSON_OPTION
def link(
    container: str,
    profile: str | None,
    up: str | None,
    down: str | None,
    shaping: "Delay | None",
    seed: int | None,
    remove: bool,
    as_json: bool,
) -> None:
    """Put the running CONTAINER, by its name or id, behind an access link of its own.

    CONTAINER may be any Docker container with one network; it needs no capability, and is not
    changed. A sidecar shares its network and shapes it. The keys are those of a device's `link` in
    a scenario but for `setup`, `steps` and `trace`; --up and --down come in the place of a side of
    the profile. Packets are delayed in the kernel, or else by a second container behind TAP
    devices. Without netem and without /dev/net/tun no link can have a delay. Links carry IPv4: a
    container on a network with IPv6 is refused.

    The link stays until --remove, or until `emulate clean`. A container that is started again has
    lost the link, and may be put behind another one. Where the second container delays, --seed and
    the container's name fix which packets are lost.

    \b
    emulate link web --profile dsl
    emulate link web --up '{rate: 1mbit, delay: 25ms}' --down '{rate: 8mbit, delay: 25ms}'
    emulate link web --remove
    """
    given = {"profile": profile, "up": up, "down": down, "shaping": shaping, "seed": seed}
    keys = {name: value for name, value in given.items() if value is not None}
    if remove:
        if keys:
            raise click.UsageError(f"--remove takes no --{next(iter(keys))}")
        _remove(container, as_json=as_json)
    elif not keys.keys() - {"shaping", "seed"}:
        raise click.UsageError("name a link: --profile, --up or --down; or --remove")
    else:
        wanted = read_link(profile, up, down)
        _put_behind(container, wanted, shaping, seed or 0, as_json=as_json)


def read_link(profile: str | None, up: str | None, down: str | None) -> "Link":
    """Return the link of the options. Raises ScenarioError with all mistakes."""
    from ...scenario import loads
    from ...scenario.reading.typed_values import Override

    given = [("--profile", "", profile), ("--up", ".up", up), ("--down", ".down", down)]
    overrides = [
        Override(f"{_PLACE}{way}={text}", option) for option, way, text in given if text is not None
    ]
    try:
        link = loads(_WORLD, overrides).nodes[0].link
    except ScenarioError as error:
        raise ScenarioError(str(error).replace("devices[0].", "")) from None
    if mistakes := list(_unplayable(link)):
        raise ScenarioError("\n".join(mistakes))
    return link


def _unplayable(link: "Link") -> "Iterator[str]":
    """Yield a line for each key of `link` that a foreign container's link cannot have."""
    from ...shaping.playable_link import out_of_bounds

    for way, side in (("up", link.up), ("down", link.down)):
        if side.setup:
            yield f"link.{way}.setup: a foreign container's messages have no set-up: leave it out"
        for key in ("steps", "trace"):
            if getattr(side, key):
                yield f"link.{way}.{key}: a foreign container's link does not change: leave it out"
        yield from (f"link.{way}.{sentence}" for sentence in out_of_bounds(side))


def _put_behind(
    container: str, wanted: "Link", shaping: "Delay | None", seed: int, *, as_json: bool
) -> None:
    from ...checks.links import short_limit
    from ...runtimes.docker.engine.client import connect
    from ...runtimes.docker.engine.probing import described
    from ...runtimes.docker.images import node_image
    from ...runtimes.docker.network.foreign_links import put_behind

    client = connect()
    image = node_image.require(client).id
    backend = put_behind(client, image, container, wanted, shaping, seed)
    for way, side in (("up", wanted.up), ("down", wanted.down)):
        if reason := short_limit(side):
            click.echo(f"emulate: link.{way}.limit: {reason}", err=True)
    text = (
        f"link: {container} is behind it: {described(backend.plain())}\n"
        f"`emulate link {container} --remove` undoes it"
    )
    content = {"container": container, "shaping": backend.plain()}
    emit(as_json, content, lambda: click.echo(text), indent=None)


def _remove(container: str, *, as_json: bool) -> None:
    from ...runtimes.docker.engine.client import connect, refusals
    from ...runtimes.docker.network.link_removal import departure, linked, remove_link

    client = connect()
    with refusals(f"removing the link of {container}"):
        run = linked(client, container)
        if not run:
            raise EmulatorError(f"{container} has no link")
        lost = departure(client, run)
        removed = remove_link(client, run)

    def show() -> None:
        if lost:
            click.echo(f"link: {container} {lost}: what was left of its link is removed")
        elif not removed.left:
            click.echo(f"link: {container} has its own network back")
        for why in removed.left:
            click.echo(f"emulate: {why}", err=True)

    facts = {"container": container, "lost": lost, "left": list(removed.left)}
    emit(as_json, facts, show, indent=None)
    sys.exit(1 if removed.left else 0)
