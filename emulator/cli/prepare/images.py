"""`emulate images`: build the image that every container runs from, and send it to engines."""

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Any

import click


@click.command(short_help="Build the image of all containers; send it to other engines.")
@click.option(
    "--to",
    "endpoints",
    multiple=True,
    metavar="ENDPOINT",
    help="Send the image to this engine, too, unless the engine has it: the name of a Docker "
    "context, or an address that begins with unix://, tcp:// or ssh://. Repeatable.",
)
def images(endpoints: tuple[str, ...]) -> None:
    """Build the node image from this package's code, unless the Docker engine has it already.

    The images below it are made first if they are missing: Debian with Python and the tools that
    shape links, pulled or built from Debian's archive, and TensorFlow's C library. The wheels of
    the image are downloaded to `$EMULATE_CACHE`, or else `emulate` in `$XDG_CACHE_HOME` or in
    `~/.cache`, and removed again.

    With --to the image is packed once and loaded by all engines that lack it at once: by the
    engines' own APIs, without a file and without a registry.

    \b
    emulate images
    emulate images --to build-host --to ssh://me@198.51.100.7
    """
    from ...runtimes.docker.engine.client import connect, refusals
    from ...runtimes.docker.images.node_image import name, provide

    started, client = time.monotonic(), connect()
    with closing(client):
        with refusals("building the image"):
            done = "built" if provide(client) else "up to date"
        click.echo(f"images: {name()} {done} ({time.monotonic() - started:.1f} s)")
        if endpoints:
            _send(client, name(), [*dict.fromkeys(endpoints)])


def _send(client: Any, image: str, endpoints: Sequence[str]) -> None:
    """Send the `image` to the engines at `endpoints`, and say which of them lacked it."""
    from ...runtimes.docker.engine.client import connected
    from ...runtimes.docker.engine.endpoint import named
    from ...runtimes.docker.images.image_transfer import send
    from ..watching.sent_bytes import SentBytes

    started = time.monotonic()
    with ExitStack() as stack:
        targets = {each: stack.enter_context(connected(named(each, "--to"))) for each in endpoints}
        lacking = send(client, targets, image, stack.enter_context(SentBytes("each engine")))
    for each in endpoints:
        done = "sent to" if each in lacking else "is known to"
        click.echo(f"images: {image} {done} {each} ({time.monotonic() - started:.1f} s)")
