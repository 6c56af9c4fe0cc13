"""Names of the server and the evaluator, which every run has. A device may not use these names."""

SERVER = "server"
EVALUATOR = "evaluator"
CONDUCTOR = "the_conductor"
"""Name of the process that conducts a run, among the members of the run. No device can have it, for
the sake of the `_`."""


SHARD = f"{SERVER}_"
"""Begin of the names of the server's shards; no device can have it, either."""


def shard_name(number: int) -> str:
    """Return the name of a shard of the server, counted from 0."""
    return f"{SHARD}{number + 1}"


def is_server(name: str) -> bool:
    """Return whether `name` is the server's, or that of one of its shards."""
    return name == SERVER or name.startswith(SHARD)


def server_names(shards: int) -> list[str]:
    """Return the names of the containers of a server with `shards`: that of the first, which leads
    the others, is the server's."""
    return [SERVER, *(shard_name(number) for number in range(1, shards))]
