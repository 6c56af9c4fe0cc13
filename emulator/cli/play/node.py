"""`emulate node`: the command that every container runs."""

import click

from ...errors import HostError


@click.command(hidden=True, short_help="What every container runs; not for you to type.")
def node() -> None:
    """Be a node, as /etc/emulate/node.json says: what every container runs.

    It shapes the container's own network, so it has no business anywhere else.
    """
    from ...node.config import PATH
    from ...node.supervisor import main

    if not PATH.is_file():
        raise HostError(f"there is no {PATH}: a node runs in a container that `emulate run` made")
    main()
