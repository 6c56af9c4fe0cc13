"""A figure of predicted hardware efficiency: seconds per group update against compute groups."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from .line_styles import series
from .picture_file import sheet
from .theme import QUIET

_MODELS = ("formula", "queue")
"""Names of the models, which are the keys of their seconds."""


def draw(rows: Sequence[Mapping[str, float]], saturation: int | None, ax: Axes) -> None:
    """Draw `rows`, each with `groups` and the seconds of both models, on logarithmic axes.

    A dashed line marks the `saturation` point, if the axis reaches it.
    """
    groups = [row["groups"] for row in rows]
    for key, style in zip(_MODELS, series(len(_MODELS)), strict=True):
        times = [row[key] for row in rows]
        ax.plot(groups, times, label=key, **style.marked(len(rows)))
    if saturation is not None and saturation <= max(groups):
        ax.axvline(saturation, color=QUIET, linestyle="--", label=f"saturation: {saturation}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(groups, [str(number) for number in groups])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("compute groups")
    ax.set_ylabel("seconds per group update")
    ax.legend(frameon=False)


def png(rows: Sequence[Mapping[str, float]], saturation: int | None, path: Path) -> Path:
    """Write the figure of `rows` to `path`, making its folder; return `path`."""
    with sheet(path, 6.4, 3.8) as figure:
        draw(rows, saturation, figure.subplots())
    return path
