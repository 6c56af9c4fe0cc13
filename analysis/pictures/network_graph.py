"""A picture of a network: routers, and links in the colour of the load of each direction.

Each half of a link belongs to the router at its end, and shows the packets that leave this router.
Routers lie as far from each other as the links between them are many, by classical scaling
(Torgerson, 1952).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap
from matplotlib.patheffects import withStroke

from .picture_file import sheet
from .theme import INK, QUIET

_MOST_NAMES, _MOST_SHARES = 60, 45
"""Largest numbers of routers with a name, and of links with the shares of their load."""
_LEAST = 0.005
"""Smallest share that is written: less is 0%, and the colour says so."""
_UNRATED = "#BBBBBB"
_COLOURS = ListedColormap(colormaps["YlOrRd"](np.linspace(0.15, 1, 256)), name="load")
"""Colours of no load to all of the rate; the palest are too pale for a line."""
_HALO = (withStroke(linewidth=3, foreground="white"),)
"""Around words, which may stand on a line."""
_SIZE = (9.0, 6.0)


class LoadedLink(NamedTuple):
    """A link between two routers with the shares of its rate that are used."""

    first: str
    second: str
    up: float | None
    """Share, from 0, of the direction from the first router to the second; None without a rate."""
    down: float | None


class DrawnNetwork(NamedTuple):
    """Routers and links of a network."""

    routers: Sequence[str]
    links: Sequence[LoadedLink]
    server: str
    devices: Mapping[str, int]
    """Number of devices at each router that has some."""


def png(network: DrawnNetwork, path: Path, title: str = "") -> Path:
    """Draw `network` into the file at `path`; return `path`."""
    with sheet(path, *_SIZE) as figure:
        ax = figure.subplots()
        draw_network(network, ax)
        ax.set_title(title, loc="left")
    return path


def draw_network(network: DrawnNetwork, ax: Axes) -> None:
    """Draw `network` in place of the axes of `ax`."""
    places = _places(network)
    for link in network.links:
        first, second = places[link.first], places[link.second]
        middle = (first + second) / 2
        for end, share in ((first, link.up), (second, link.down)):
            ax.plot(*zip(end, middle, strict=True), color=_colour(share), linewidth=3, zorder=1)
            if share is not None and share >= _LEAST and len(network.links) <= _MOST_SHARES:
                # a third of the way to the other router, beside the name of neither
                ax.annotate(
                    f"{share:.0%}",
                    end + (middle - end) * 0.66,
                    ha="center",
                    va="center",
                    fontsize="x-small",
                    path_effects=_HALO,
                    zorder=3,
                )
    for router in network.routers:
        own = router == network.server
        count = network.devices.get(router, 0)
        ax.plot(
            *places[router],
            marker="s" if own else "o",
            markersize=10 if own else 7,
            color=INK if own else QUIET if count else "white",
            markeredgecolor=INK,
            zorder=2,
        )
        if len(network.routers) <= _MOST_NAMES:
            words = [router, "server" if own else "", f"{count:,}" if count else ""]
            ax.annotate(
                " · ".join(filter(None, words)),
                (float(places[router][0]), float(places[router][1])),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize="small",
                path_effects=_HALO,
                zorder=4,
            )
    ax.margins(0.12)
    ax.set_aspect("equal", adjustable="datalim")  # routers in a row stay in a row
    ax.set_axis_off()
    if any(share is not None for link in network.links for share in (link.up, link.down)):
        bar = ax.figure.colorbar(ScalarMappable(cmap=_COLOURS), ax=ax, fraction=0.03, pad=0.02)
        bar.set_label("share of the rate")


def _colour(share: float | None) -> object:
    if share is None:
        return _UNRATED
    return _COLOURS(min(1.0, share))


def _places(network: DrawnNetwork) -> dict[str, np.ndarray]:
    """Return a place in the plane for each router."""
    count = len(network.routers)
    numbers = {router: number for number, router in enumerate(network.routers)}
    hops = np.full((count, count), np.inf)
    np.fill_diagonal(hops, 0)
    for link in network.links:
        first, second = numbers[link.first], numbers[link.second]
        hops[first, second] = hops[second, first] = 1
    for between in range(count):  # Floyd & Warshall
        np.minimum(hops, hops[:, between, None] + hops[None, between], out=hops)
    hops[np.isinf(hops)] = count
    centred = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centred @ hops**2 @ centred)
    flat = np.zeros((count, 2))
    for column, index in enumerate(np.argsort(values)[::-1][:2]):
        vector = vectors[:, index]
        # the sign of an eigenvector is arbitrary: that of its largest entry is positive here
        vector = vector * np.sign(vector[np.argmax(np.abs(vector))] or 1.0)
        flat[:, column] = vector * np.sqrt(max(0.0, values[index]))
    return dict(zip(network.routers, flat, strict=True))
