"""Checks of what a runtime cannot play, such as a network of routers in containers."""

from collections.abc import Iterator

from ..scenario import Scenario
from ..scenario.sections.server_section import NONE, UPDATE
from .finding import Finding, Situation, refusal


def shards_in_containers(scenario: Scenario, swarm: bool) -> Iterator[Finding]:
    """Refuse shards of the server on several hosts, and those that lose updates together, which
    virtual time alone plays."""
    if scenario.server.shards < 2:
        return
    if scenario.server.durability not in (NONE, UPDATE):
        yield refusal(
            "server.durability",
            "in containers a shard comes back alone, and an older state would not fit those of the "
            "others: write update, or play the scenario with --on virtual",
        )
    if swarm:
        yield refusal(
            "server.shards",
            "the shards tell each other of messages over sockets of one host: leave it out, or "
            "play the scenario with --on docker or --on virtual",
        )


def routers_in_containers(scenario: Scenario) -> Iterator[Finding]:
    """Refuse networks in containers: virtual time alone plays them."""
    if scenario.network is not None:
        yield refusal(
            "network",
            "containers have gateways of bottlenecks, and no routers that forward over several "
            "links: play the scenario with --on virtual, or write the narrowest links as "
            "bottlenecks",
        )


def background_in_containers(scenario: Scenario) -> Iterator[Finding]:
    """Refuse background traffic in containers: virtual time alone plays it."""
    places = [
        *((f"devices[{n}]", each.background) for n, each in enumerate(scenario.devices)),
        *((f"bottlenecks[{n}]", each.background) for n, each in enumerate(scenario.bottlenecks)),
    ]
    for place, background in places:
        if background is not None:
            yield refusal(
                f"{place}.background",
                "no container sends beside the devices: leave it out, or play the scenario with "
                "--on virtual",
            )


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
