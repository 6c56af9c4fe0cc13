"""`emulate images`: build the image that every container runs from."""

import time

import click


@click.command(short_help="Build the image that every container runs from.")
def images() -> None:
    """Build the node image from this package's code, unless the Docker engine has it already.

    The images below it are made first if they are missing: Debian with Python and the tools that
    shape links, pulled or built from Debian's archive, and TensorFlow's C library. The wheels of
    the image are downloaded to `$EMULATE_CACHE`, or else `emulate` in `$XDG_CACHE_HOME` or in
    `~/.cache`, and removed again.

    \b
    emulate images
    """
    from ...runtimes.docker.engine.client import connect, refusals
    from ...runtimes.docker.images.node_image import name, provide

    started, client = time.monotonic(), connect()
    with refusals("building the image"):
        done = "built" if provide(client) else "up to date"
    click.echo(f"images: {name()} {done} ({time.monotonic() - started:.1f} s)")
