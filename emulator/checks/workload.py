"""Checks of workloads: the runtimes that play them."""

from collections.abc import Iterator

from .finding import Finding, Situation, refusal


def workload_in_containers(situation: Situation) -> Iterator[Finding]:
    """Refuse a workload on a runtime that cannot run its programs."""
    if not situation.works:
        return
    if situation.on == "virtual":
        yield refusal(
            "workload",
            "virtual time has no containers, and no program of others can run in it: play it with "
            "--on docker",
        )
    elif situation.swarm:
        yield refusal(
            "workload",
            "its sidecars share a network with its programs on one host: play it with --on docker",
        )
