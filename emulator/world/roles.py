"""Names of the server and the evaluator, which every run has. A device may not use these names."""

SERVER = "server"
EVALUATOR = "evaluator"
CONDUCTOR = "the_conductor"
"""Name of the process that conducts a run, among the members of the run. No device can have it, for
the sake of the `_`."""


def shard_name(number: int) -> str:
    """Return the name of a shard of the server, counted from 0; no device can have it, either."""
    return f"{SERVER}_{number + 1}"
