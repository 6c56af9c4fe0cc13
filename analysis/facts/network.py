"""The network of a run: its routers and links, and how busy each link was."""

from typing import Any, NamedTuple

import numpy as np

from ..quantities import figures
from ..reading.runs import Run, fact
from .bottlenecks import WAYS, Row, filled, used
from .devices import mbit
from .link_use import carried
from .traffic import rebin


class NetworkLine(NamedTuple):
    """A link between two routers."""

    name: str
    between: tuple[str, str]
    rates: dict[str, float | None]
    """Mbit/s of `tx`, from the first router to the second, and of `rx`; None without a rate."""


@fact
def network_lines(run: Run) -> list[NetworkLine]:
    """Return the links of the network of `run`, in the scenario's order; none without a network."""
    return [_line(entry) for entry in _section(run).get("links") or []]


def routers(run: Run) -> list[str]:
    """Return the routers of the network of `run`."""
    return [str(name) for name in _section(run).get("routers") or []]


def server_router(run: Run) -> str:
    """Return the router of the server; empty if the run does not tell."""
    return str((run.manifest.get("network") or {}).get("server", ""))


def attached(run: Run) -> dict[str, int]:
    """Return the number of devices at each router that has some."""
    known = (run.manifest.get("network") or {}).get("devices") or {}
    return {str(router): int(count) for router, count in known.items()}


def _section(run: Run) -> dict[str, Any]:
    return run.scenario.get("network") or {}


def _line(entry: dict[str, Any]) -> NetworkLine:
    rates = {way: mbit((entry.get(side) or {}).get("rate")) for way, side in WAYS.items()}
    first, second = (str(router) for router in [*(entry.get("between") or []), "", ""][:2])
    return NetworkLine(str(entry.get("name")), (first, second), rates)


@fact
def mean_loads(run: Run) -> dict[tuple[str, str], float]:
    """Return the mean Mbit/s from the begin to the end of `run`, by link and `tx` or `rx`, of the
    devices' traffic and of background traffic together."""
    names = {line.name for line in network_lines(run)}
    if run.end <= 0 or not names:
        return {}
    edges, own = np.array([0.0, run.end]), carried(run, names).groupby(["node", "what"])
    return {(str(node), str(way)): float(rebin(rows, edges)[0]) for (node, way), rows in own}


def rows(run: Run) -> list[Row]:
    """Return a row for each direction of a link that carried something or has a rate: link,
    direction, rate, mean rate and its share, the time for which it was full and its share."""
    known = network_lines(run)
    if not known:
        return []
    names = [line.name for line in known]
    means, own = mean_loads(run), dict(iter(carried(run, names).groupby(["node", "what"])))
    table: list[Row] = []
    for line in known:
        for way, rate in line.rates.items():
            mean = means.get((line.name, way))
            if not mean:
                continue
            goes = line.between if way == "tx" else line.between[::-1]
            name = f"{goes[0]} → {goes[1]}"
            if rate is None:
                table.append((line.name, name, "–", figures(mean), "–", "–", "–"))
            else:
                full = filled(own.get((line.name, way)), rate, run.end)
                table.append((line.name, name, figures(rate), *used(mean, rate), *full))
    return table
