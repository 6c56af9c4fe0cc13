"""The tables of a report that are about bytes, as rows of plain text for the page's template."""

import math

from . import pushes
from .quantities import figures, percent, size
from .reconcile import reconcile
from .runs import Run

Row = tuple[str, ...]


def kinds(run: Run) -> list[Row]:
    """Push bytes by kind, as (style, kind, bytes, share, bytes an update)."""
    sums = pushes.by_kind(run)
    total, count = int(sums.sum()), len(run.records("update"))
    rows = [("", *row) for row in sums.items()] + [("sum", "total", total)]
    return [
        (
            *(style, str(kind), f"{held:,}", percent(held / total)),
            f"{held / count:,.1f}" if count else "–",
        )
        for style, kind, held in (rows if total else [])
    ]


def models(run: Run) -> list[Row]:
    """Compression under each byte model, as (model, bytes, ratio)."""
    table = pushes.models(run)
    return [
        (model, f"{held:,}", figures(ratio)) for model, held, ratio in table.itertuples(index=False)
    ]


def bytes_reconciled(run: Run) -> list[Row]:
    """From the application's bytes to the interface's, as (style, what, rx, tx, both, share)."""
    sums = reconcile(run)
    if sums is None:
        return []
    ways = (sums.rx, sums.tx, sums.both)
    spared = sums.both.rest < 0 and not run.virtual
    rows = [
        ("", "application: pushes applied, models sent", [way.application for way in ways]),
        ("", "server's interface", [way.interface for way in ways]),
        ("sum", "difference", [way.difference for way in ways]),
        ("part", "headers of data, one for each frame", [way.headers for way in ways]),
        ("part", "acknowledgements, one for two frames", [way.acknowledgements for way in ways]),
        ("part", "requests, one a pull", [way.requests for way in ways]),
        ("part", "handshakes of TCP and ZMTP", [way.connections for way in ways]),
    ]
    # what is not played has no row: no acknowledgements on ideal links, no handshakes
    rows = [row for row in rows if row[0] != "part" or row[2][2]]
    rows.append(("part", _SPARED if spared else _LEFT, [way.rest for way in ways]))
    whole = sums.both.application
    return [
        (style, what, *(f"{one:,}" for one in held), percent(held[2] / whole, 2))
        for style, what, held in rows
    ]


_SPARED = "spared by offload, and the rest"
_LEFT = "the rest"


def remainder(run: Run) -> str:
    """What the last row of that table is made of, given its sign."""
    sums = reconcile(run)
    if sums is None:
        return ""
    if run.virtual:
        return (
            "Virtual time counts frames exactly so; the rest is what was on its way when the run "
            "ended, and messages that a fault cut off, whose bytes passed in part."
        )
    rest = (
        "heartbeats, retransmissions, and messages that a fault or the run's end cut off, "
        "whose bytes crossed the interface in part"
    )
    if sums.both.rest >= 0 or math.isinf(sums.data_a_header):
        return f"The rest is {rest}."
    return (
        f"Fewer were counted: one header for about {size(sums.data_a_header)} of model, not for "
        "1,448 B. The kernel hands segments of up to 64 kB to the interface in one piece "
        "(segmentation offload) and cuts them into frames of 1,514 B only later; shaping does "
        f"charge for each of those. The rest is {rest}."
    )
