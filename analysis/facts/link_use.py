"""The use of links: rates that the links were charged with, beside the requested rates."""

from collections.abc import Collection
from typing import Any

import pandas as pd

from ..reading.runs import Run, fact
from .allowance import HEADERS, PAYLOAD
from .devices import devices
from .traffic import background_rates, busiest, rates

SATURATED = 0.9
"""Share of the requested rate from which a link counts as saturated."""
TOO_FAST = 1.05
"""Share of the requested rate above which the rate counts as exceeded, allowed bursts aside."""
TOO_MUCH = "above the requested rate"
"""Verdict on the rate of a device that sends faster than requested."""

_FRAME = PAYLOAD + HEADERS
_SLACK = 2e-3
"""Seconds of traffic that a shaper after a pause lets pass as a burst, in addition to one frame."""
_LATE = 0.1
"""Largest delay in seconds between a busy host's readings of a counter and of the clock."""
_WINDOWS = {"tx": 0.5, "rx": 5.0}
"""Least length of a stretch in seconds; readings are about 1 s apart."""
_FRAMES = 20
"""Least length of a stretch in frames: on a slow link a single frame would show as a peak."""


@fact
def link_use(run: Run) -> pd.DataFrame:
    """Return a row for every device and direction of `run` with a requested rate.

    Columns: `group`, `node`, `what` (`tx` up, `rx` down), `requested`, `busiest` (Mbit/s), `share`,
    `verdict`. `busiest` is the highest mean rate, for rx over five seconds, without the
    acknowledgements that virtual time does not charge to the link. Verdicts: `saturated`, `never
    saturated`, `above the requested rate` (tx only), `a burst above it` (rx), `no traffic`.
    """
    intervals = dict(iter(charged(run).groupby(["node", "what"])))
    rows = [
        (
            device.group,
            device.name,
            way,
            requested,
            *_busiest(intervals, device.name, way, requested),
        )
        for device in devices(run)
        for way in _WINDOWS
        if (requested := device.rate(way)) is not None
    ]
    columns = ["group", "node", "what", "requested", "busiest", "beyond"]
    table = pd.DataFrame(rows, columns=columns)
    table["share"] = table["busiest"] / table["requested"]
    verdicts = map(_verdict, table["what"], table["share"], table["beyond"] / table["requested"])
    return table.drop(columns="beyond").assign(verdict=list(verdicts))


@fact
def charged(run: Run) -> pd.DataFrame:
    """Return the rates of `run` without the acknowledgements that its links did not carry.

    Virtual time counts an acknowledgement for every two full frames in the other direction, but
    charges the link for the frames of messages only.
    """
    table = rates(run)
    if not run.virtual or run.manifest.get("tcp") == "ideal":
        return table
    other = table["what"].map({"rx": "tx", "tx": "rx"})
    back = table.assign(what=other, back=table["bytes"])[["node", "what", "at", "until", "back"]]
    table = table.merge(back, how="left", on=["node", "what", "at", "until"])
    # solve for the frames of each direction: bytes = frames + answer * frames of the other one
    answer = HEADERS / 2 / _FRAME
    frames = (table["bytes"] - answer * table["back"].fillna(0)) / (1 - answer**2)
    mbit = frames * 8 / 1e6 / (table["until"] - table["at"])
    return table.assign(bytes=frames, mbit=mbit).drop(columns="back")


def carried(run: Run, names: Collection[str]) -> pd.DataFrame:
    """Return the rates of the bottlenecks and links of the network in `names`: those of `charged`
    and those of background traffic together."""
    parts = [charged(run), background_rates(run)]
    table = pd.concat([part for part in parts if not part.empty] or parts[:1], ignore_index=True)
    table = table[table["node"].isin(names)]
    keys = ["node", "what", "at", "until"]
    return table.groupby(keys, sort=False, as_index=False)[["bytes", "mbit"]].sum()


def _busiest(
    intervals: dict[Any, pd.DataFrame], node: str, way: str, requested: float
) -> tuple[float, float]:
    """Return the highest mean rate in Mbit/s, and the same without an allowed burst."""
    own = intervals.get((node, way))
    if own is None:
        return 0.0, 0.0
    rate = requested * 1e6 / 8  # bytes a second
    window = max(_WINDOWS[way], _FRAMES * _FRAME / rate)
    return busiest(own, window), busiest(own, window, _FRAME + (_SLACK + _LATE) * rate)


def _verdict(way: str, share: float, beyond: float) -> str:
    if share == 0:
        return "no traffic"
    if beyond > TOO_FAST:
        return TOO_MUCH if way == "tx" else "a burst above it"
    return "saturated" if share >= SATURATED else "never saturated"
