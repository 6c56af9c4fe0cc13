"""What went wrong in a run, when it was planned and when it really happened."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import pandas as pd

from .runs import Run

Done: TypeAlias = tuple[str, str, str]
"""A fault's kind, the node that it struck, and the verb."""

OUTAGE = ("node", "fault", "at", "until")
ACTION = ("fault", "node", "verb", "planned", "at", "drawn")
Row: TypeAlias = tuple[str, str, str, float, float, bool]
"""As `ACTION` names its parts."""
Spans: TypeAlias = dict[tuple[str, str], list[tuple[float, float]]]
"""For each node and the verb that begins an outage: from when until when."""

_CLOSES = {"kill": "boot", "exit": "boot", "sever": "mend"}
_ROUNDING = 1e-3
"""Seconds: the log rounds its times."""
_BEGINNING = {"kill": "kill", "start": "kill", "sever": "sever", "mend": "sever"}
"""The verb that begins what each verb begins or ends."""
_VERBS = {"kill": "kill", "boot": "start", "sever": "sever", "mend": "mend"}
"""What the log calls an action, and the verb that the timeline has for it."""


def outages(run: Run) -> pd.DataFrame:
    """When each device was gone: from `kill` or `exit` to `boot`, from `sever` to `mend`.

    A row an outage: `node`, `fault` (its kind, `exit` for a container that ended unasked),
    `at`, `until`; one that nothing ended lasts until the run's end.
    """
    happened = _happened(run)
    rows = []
    gone: dict[tuple[str, str], tuple[str, float]] = {}
    for what, node, fault, at in happened[["what", "node", "fault", "at"]].itertuples(index=False):
        if what in _CLOSES:
            gone.setdefault((node, _CLOSES[what]), (fault, at))
        elif (node, what) in gone:
            kind, since = gone.pop((node, what))
            rows.append((node, kind, since, at))
    rows += [(node, kind, since, max(since, run.end)) for (node, _), (kind, since) in gone.items()]
    return pd.DataFrame(rows, columns=list(OUTAGE)).sort_values("at", ignore_index=True)


def actions(run: Run) -> pd.DataFrame:
    """Each action, planned and realised: what the schedule wanted and what came of it.

    Columns: `fault`, `node`, `verb`, `planned` (s), `at` (s; NaN if it never happened),
    `drawn` (whether the device drew it for itself, so that no timeline could hold it), `late`
    (s), and `needless` (whether it never happened because a fault that the device drew held the
    device at that time: faults of one kind that overlap are one).
    """
    happened = _happened(run)
    happened = happened[happened["what"].isin(_VERBS)]
    due: dict[Done, list[float]] = defaultdict(list)
    for *done, at in run.timeline[["fault", "node", "verb", "at"]].itertuples(index=False):
        due[tuple(done)].append(at)
    rows = []
    for what, node, fault, planned, at in happened.itertuples(index=False):
        drawn = not _strike_off(due, (fault, node, _VERBS[what]), planned)
        rows.append((fault, node, _VERBS[what], planned, at, drawn))
    rows += [(*one, at, float("nan"), False) for one, times in due.items() for at in times]
    table = pd.DataFrame(rows, columns=list(ACTION))
    table[["planned", "at"]] = table[["planned", "at"]].astype(float)
    table["late"] = table["at"] - table["planned"]
    table["needless"] = _needless(rows)
    return table.sort_values("planned", ignore_index=True, kind="stable")


def downtime(run: Run) -> pd.Series:
    """Seconds for which each device was gone, overlapping outages counted once."""
    sums: dict[str, float] = {}
    for node, own in outages(run).groupby("node"):
        reached = float("-inf")
        for at, until in own.sort_values("at")[["at", "until"]].itertuples(index=False):
            sums[str(node)] = sums.get(str(node), 0.0) + max(0.0, until - max(at, reached))
            reached = max(reached, until)
    return pd.Series(sums, dtype=float)


def _needless(rows: Sequence[Row]) -> list[bool]:
    """Return for each action whether it was left undone as a drawn fault held the node."""
    spans = _drawn(rows)
    return [
        math.isnan(at)
        and any(
            since <= planned <= until for since, until in spans.get((node, _BEGINNING[verb]), ())
        )
        for _, node, verb, planned, at, _ in rows
    ]


def _drawn(rows: Sequence[Row]) -> Spans:
    """Return the outages that a drawn fault began or ended; `rows` are in the order of `at`."""
    spans: Spans = defaultdict(list)
    gone: dict[tuple[str, str], tuple[float, bool]] = {}
    for _, node, verb, _, at, drawn in rows:
        if math.isnan(at):
            continue
        held = node, _BEGINNING[verb]
        if verb == _BEGINNING[verb]:
            gone[held] = at, drawn
        elif held in gone:
            since, begun = gone.pop(held)
            if begun or drawn:
                spans[held].append((since, at))
    for held, (since, begun) in gone.items():
        if begun:
            spans[held].append((since, math.inf))
    return spans


def _happened(run: Run) -> pd.DataFrame:
    """Return what was done to devices, in order: of one moment, too, an end follows its beginning.

    Beginnings and ends take turns in the log, so the `turn` of each orders those of one moment.
    """
    columns = ["what", "node", "fault", "planned", "at", "turn"]
    frames = [
        frame.assign(
            what=what, turn=2 * frame.groupby("node").cumcount() + (what in _CLOSES.values())
        ).reindex(columns=columns)
        for what in ("kill", "boot", "sever", "mend", "exit")
        if not (frame := run.records(what)).empty
    ]
    if not frames:
        return pd.DataFrame(columns=columns[:-1])
    table = pd.concat([frame.astype(object) for frame in frames], ignore_index=True)
    table["fault"] = table["fault"].where(table["what"] != "exit", "exit")
    return table.sort_values(["at", "turn"], ignore_index=True).drop(columns="turn")


def _strike_off(due: dict[Done, list[float]], done: Done, planned: float | None) -> bool:
    """Take the action that was done off those that were due; False if none was."""
    same = due.get(done)
    if not same or planned is None:
        return False
    nearest = min(same, key=lambda at: abs(at - planned))
    if abs(nearest - planned) > _ROUNDING:
        return False
    same.remove(nearest)
    return True
