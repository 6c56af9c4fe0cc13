"""`emulate compose`: lay down the folder that `docker-compose.yml` mounts."""

from pathlib import Path

import click

from ..options import FILE


@click.command(short_help="Lay down a scenario for `docker compose up`.")
@FILE
@click.argument("folder", type=click.Path(path_type=Path))
def compose(file: Path, folder: Path) -> None:
    """Lay down in FOLDER the files that docker-compose.yml mounts, to play the scenario FILE.

    Docker Compose plays no faults and no changes of links, and starts no process that holds
    packets: on a kernel without netem, delays are applied to whole messages, by their receiver. The
    server ends the run at a stop condition. FOLDER has the form of a run folder: `emulate logs
    FOLDER` reads it.

    FOLDER must be new, empty, or made by this command: files of an earlier call are replaced, and
    no other file is.

    \b
    emulate compose lab.yaml build/compose
    docker compose up
    """
    from ...runtimes.docker.configs.compose_file import lay_down
    from ...runtimes.docker.engine.probing import described
    from ...scenario import load

    backend = lay_down(load(file), folder, file)
    click.echo(f"compose: {folder} holds the files that docker-compose.yml mounts")
    click.echo(f"shaping: {described(backend.plain())}")
