"""What an engine does wrong by itself, so that no test may blame a run for it."""

from typing import Any

from docker.errors import APIError


def counts_the_gone(client: Any, network: str) -> bool:
    """Return whether the engine refuses to remove the `network` without a container.

    Docker 20.10 may count a container that is gone, and then keeps the network of that container
    until the engine starts anew. A network that can be removed is removed.
    """
    try:
        if client.api.inspect_network(network)["Containers"]:
            return False
        client.api.remove_network(network)
    except APIError as error:
        return "active endpoints" in str(error)
    return False
