"""The network's graph with the mean load of each link."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..facts.network import attached, mean_loads, network_lines, routers, server_router
from ..pictures.network_graph import DrawnNetwork, LoadedLink, draw_network
from ..pictures.theme import nothing
from ..reading.labels import stack
from ..reading.runs import Run

TITLE = "Load of the network"
CAPTION = (
    "Routers (squares: the server's; filled: with devices, and their number) and links. Each half "
    "of a link has the colour of the mean load of the direction that leaves the router at its end, "
    "as a share of the rate of that direction over the whole run; grey without a rate. Of several "
    "runs the first is drawn."
)

_COLUMNS = ["kind", "name", "first", "second", "server", "devices", "up", "down"]


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for each router and each link: `run`, `kind` (`router` or `link`), `name`,
    `first` and `second` router of a link, whether a router is the `server`'s, its number of
    `devices`, and the mean load of a link `up` (first to second) and `down` as shares of 1 (NaN
    without a rate)."""
    return stack(runs, _rows, _COLUMNS)


def _rows(run: Run) -> pd.DataFrame:
    lines = network_lines(run)
    counts, server, means = attached(run), server_router(run), mean_loads(run)
    own = [
        {"kind": "router", "name": router, "server": router == server}
        | {"first": "", "second": "", "devices": counts.get(router, 0)}
        for router in routers(run)
    ]
    links = [
        {"kind": "link", "name": line.name, "server": False, "devices": 0}
        | {"first": line.between[0], "second": line.between[1]}
        | {
            side: means.get((line.name, way), 0.0) / rate if (rate := line.rates[way]) else None
            for way, side in (("tx", "up"), ("rx", "down"))
        }
        for line in lines
    ]
    return pd.DataFrame([*own, *links], columns=_COLUMNS)


def shown(runs: Sequence[Run]) -> bool:
    return any(network_lines(run) for run in runs)


def height(table: pd.DataFrame) -> float:
    return 4.5 + min(2.5, len(table) / 20)  # rows are routers and links


def draw(table: pd.DataFrame, ax: Axes) -> None:
    own = table[table["run"] == table["run"].iloc[0]] if not table.empty else table
    nodes, links = own[own["kind"] == "router"], own[own["kind"] == "link"]
    if nodes.empty:
        nothing(ax, "the run has no network")
        return
    shares = links[["up", "down"]].astype(float)
    loads = [
        tuple(None if share != share else share for share in pair)  # NaN
        for pair in shares.itertuples(index=False)
    ]
    drawn = [
        LoadedLink(str(first), str(second), *load)
        for first, second, load in zip(links["first"], links["second"], loads, strict=True)
    ]
    names = list(map(str, nodes["name"]))
    server = next((n for n, own in zip(names, nodes["server"], strict=True) if own), "")
    counts = {
        name: int(count) for name, count in zip(names, nodes["devices"], strict=True) if count
    }
    draw_network(DrawnNetwork(names, drawn, server, counts), ax)
