"""The network of a plan: the load of each link while all devices send and receive at once."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..output import console, table
from ..read.analysis_package import analysis

if TYPE_CHECKING:
    from ...runtimes.virtual.links.full_load import LinkLoad
    from ...scenario import Scenario


def network_loads(scenario: "Scenario") -> "list[LinkLoad]":
    """Return the load of each direction of a link; nothing without a network."""
    if scenario.network is None:
        return []
    from ...runtimes.virtual.links.full_load import full_loads

    return full_loads(scenario)


def print_network(loads: "Sequence[LinkLoad]") -> None:
    """Print a table of the directions that carry something, if there are `loads`."""
    from ...units import Rate, three_digits
    from .overview_tables import MOST_ROWS

    used = [load for load in loads if load.rate and load.load]
    if not used:
        return
    title = "links of the network, while all devices send and receive at once"
    made = table("link", "direction", "rate", "used", "share", title=title)
    for link, way, rate, load in used[:MOST_ROWS]:
        if rate and load:
            rates = (str(Rate(three_digits(each))) for each in (rate, load))
            made.add_row(link, way, *rates, f"{load / rate:.0%}")
    if (more := len(used) - MOST_ROWS) > 0:
        made.add_row("…", f"{more:,} more", "(--json shows all)")
    console().print("", made, sep="\n")


def draw_network_plan(scenario: "Scenario", loads: "Sequence[LinkLoad]", figure: Path) -> None:
    """Draw the network of `scenario` with its `loads` into the file `figure`."""
    network = scenario.network
    if network is None:
        return
    graph = analysis("pictures.network_graph")
    shares = {
        (link, way): None if rate is None or load is None else load / rate
        for link, way, rate, load in loads
    }
    links = [
        graph.LoadedLink(*link.between, shares[link.name, "up"], shares[link.name, "down"])
        for link in network.links
    ]
    devices = Counter(route.routers[0] for route in scenario.route_of.values())
    drawn = graph.DrawnNetwork(network.routers, links, network.server_router, devices)
    title = f"{scenario.name}: load while all devices send and receive at once"
    graph.png(drawn, figure, title)
