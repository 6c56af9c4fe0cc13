"""The byte tables of a report, as rows of plain text for the page's template."""

import math

from ..facts.message_bytes import (
    both_bytes,
    byte_models,
    cut_bytes,
    dense_both_bytes,
    dense_pull_bytes,
    dense_push_bytes,
    pulled_bytes,
    pushed_by_kind,
)
from ..facts.reconcile import reconcile
from ..quantities import figures, percent, size
from ..reading.runs import Run

Row = tuple[str, ...]


def kinds(run: Run) -> list[Row]:
    """Return the push bytes by kind, as (style, kind, bytes, share, bytes per update)."""
    sums = pushed_by_kind(run)
    total, count = int(sums.sum()), len(run.records("update"))
    rows = [("", *row) for row in sums.items()] + [("sum", "total", total)]
    return [
        (
            *(style, str(kind), f"{held:,}", percent(held / total)),
            f"{held / count:,.1f}" if count else "–",
        )
        for style, kind, held in (rows if total else [])
    ]


def directions(run: Run) -> list[Row]:
    """Return the bytes of each direction and of both, as (style, direction, bytes, dense, ratio).

    A ratio is that of dense messages to those sent; there is none for activations.
    """
    crossed = cut_bytes(run).total
    rows = [
        ("", "pushed", int(pushed_by_kind(run).sum()), dense_push_bytes(run)),
        ("", "pulled by devices", pulled_bytes(run), dense_pull_bytes(run)),
        *([("", "activations", crossed, float(crossed))] if crossed else []),
        ("sum", "both directions", both_bytes(run), dense_both_bytes(run)),
    ]
    return [
        (style, name, f"{sent:,}", *(_dense(dense, sent) if dense else ("–", "–")))
        for style, name, sent, dense in rows
        if rows[-1][2]
    ]


def _dense(dense: float, sent: int) -> tuple[str, str]:
    return f"{dense:,.0f}", figures(dense / sent) if sent else "–"


def at_the_cut(run: Run) -> list[Row]:
    """Return the bytes at the cut of the model, as (direction, bytes, bytes per update).

    Empty without a cut.
    """
    crossed, count = cut_bytes(run), len(run.records("activations"))
    rows = [
        ("up: activations, labels or gradients by outputs", crossed.up),
        ("down: gradients by activations, outputs", crossed.down),
        ("both", crossed.total),
    ]
    each = ((name, held, f"{held / count:,.1f}" if count else "–") for name, held in rows)
    return [(name, f"{held:,}", mean) for name, held, mean in each if crossed.total]


def models(run: Run) -> list[Row]:
    """Return the compression under each byte model, as (model, bytes, ratio)."""
    table = byte_models(run)
    return [
        (model, f"{held:,}", figures(ratio)) for model, held, ratio in table.itertuples(index=False)
    ]


def bytes_reconciled(run: Run) -> list[Row]:
    """Return the sums from the application's bytes to the interface's.

    Columns: (style, name, rx, tx, both, share).
    """
    sums = reconcile(run)
    if sums is None:
        return []
    ways = (sums.rx, sums.tx, sums.both)
    spared = sums.both.rest < 0 and not run.virtual
    rows = [
        ("", _counted(run), [way.application for way in ways]),
        ("", "server's interface", [way.interface for way in ways]),
        ("sum", "difference", [way.difference for way in ways]),
        ("part", "headers of data, one for each frame", [way.headers for way in ways]),
        ("part", "acknowledgements, one for two frames", [way.acknowledgements for way in ways]),
        ("part", "requests, one for each pull", [way.requests for way in ways]),
        ("part", "handshakes of TCP and ZMTP", [way.connections for way in ways]),
    ]
    # virtual time has no handshakes, and ideal links no acknowledgements: their rows are left out
    rows = [row for row in rows if row[0] != "part" or row[2][2]]
    rows.append(("part", _SPARED if spared else _LEFT, [way.rest for way in ways]))
    whole = sums.both.application
    return [
        (style, name, *(f"{size:,}" for size in sizes), percent(sizes[2] / whole, 2))
        for style, name, sizes in rows
    ]


def _counted(run: Run) -> str:
    if cut_bytes(run).total:
        return "application: pushes applied, models sent, activations and their gradients"
    return "application: pushes applied, models sent"


_SPARED = "headers saved by segmentation offload, and the rest"
_LEFT = "the rest"


def remainder(run: Run) -> str:
    """Return sentences on the last row of `bytes_reconciled`, depending on the row's sign."""
    sums = reconcile(run)
    if sums is None:
        return ""
    if run.virtual:
        return (
            "Virtual time counts frames by these sizes. The rest is messages on their way when the "
            "run ended, and messages that a fault cut off after a part of the bytes had passed."
        )
    rest = (
        "heartbeats, retransmissions, and messages that a fault or the run's end cut off after a "
        "part of their bytes had crossed the interface"
    )
    if sums.both.rest >= 0 or math.isinf(sums.data_a_header):
        return f"The rest is {rest}."
    return (
        "The interface counted fewer headers than estimated: one for about "
        f"{size(sums.data_a_header)} of model instead of 1,448 B. The kernel hands segments of up "
        "to 64 kB to the interface in one piece (segmentation offload) and cuts them into frames "
        f"of 1,514 B later; shaping charges for every frame. The rest is {rest}."
    )
