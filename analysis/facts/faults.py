"""The faults of a run: planned times, real times, and the outages of devices."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pandas as pd

from ..reading.runs import BOOTS, Run, fact

Key: TypeAlias = tuple[str, str]
"""A node and the verb with which a fault begins: faults of one verb that overlap are one fault."""
Done: TypeAlias = tuple[str, str, bool]
"""A node, the kind of a fault, and whether the fault begins."""
Spans: TypeAlias = dict[Key, list[tuple[float, float]]]
"""From when until when faults of each verb held each node."""

OUTAGE = ("node", "fault", "at", "until")
ACTION = ("fault", "node", "verb", "begins", "planned", "at", "drawn")
Row: TypeAlias = tuple[str, str, str, bool, float, float, bool]
"""As `ACTION` names its parts."""

EXIT = "exit"
"""Stands for the kind of fault where a process or container ended unasked."""
UNDOES = {
    "start": "kill",
    "boot": "kill",
    "reboot": "halt",
    "join": "leave",
    "mend": "sever",
    "restore": "reshape",
    "clear": "garble",
    "resume": "pause",
    "catch_up": "lag",
    "cool": "heat",
    "reform": "falsify",
    "unthrottle": "throttle",
    "release": "press",
}
"""The verbs that end a fault, and the records of such verbs, each with the verb that it undoes."""
_ENDINGS = frozenset(BOOTS.values())
SILENCING = frozenset({*_ENDINGS, "sever", "pause"})
"""The records of faults in which the server hears nothing from a device."""
_ROUNDING = 1e-3
"""Seconds: the log rounds its times."""


@fact
def outages(run: Run) -> pd.DataFrame:
    """Return the outages of every device, by faults and by processes that ended unasked.

    A row an outage: `node`, `fault` (its kind, `exit` for a process that ended unasked), `at`,
    `until`; an outage that nothing ended lasts until the run's end. A boot ends a crash and an
    `exit` at once: the two are one outage, called by the kind that came first. Whatever started a
    node again, its hello ends an `exit`, and so does the recovery of the server.
    """
    table = _outages(run).drop(columns="silent")
    return table.sort_values("at", ignore_index=True)


@fact
def _outages(run: Run) -> pd.DataFrame:
    """Return the outages as `outages` does, in no order, with `silent`: whether the server heard
    nothing from the node meanwhile."""
    rows: list[tuple[str, str, float, float, bool]] = []
    # a fault that ends a process has a key for each way of it: a crash may be `kill` and `halt`
    began: dict[tuple[str, str, str], tuple[float, bool]] = {}
    for what, node, fault, begins, _, at in _happened(run).itertuples(index=False):
        if begins:
            silent = what in SILENCING or what == EXIT
            began.setdefault((node, fault, what if what in _ENDINGS else ""), (at, silent))
            continue
        ended = [(node, fault, BOOTS.get(what, "")), *([(node, EXIT, "")] if what in BOOTS else [])]
        if since := {key: began.pop(key) for key in ended if key in began}:
            first = min(since, key=lambda key: since[key][0])
            rows.append((*first[:2], since[first][0], at, since[first][1]))
    rows += [(*key[:2], since, max(since, run.end), mute) for key, (since, mute) in began.items()]
    return pd.DataFrame(rows, columns=[*OUTAGE, "silent"])


@fact
def actions(run: Run) -> pd.DataFrame:
    """Return every action of a fault, planned or realised, with both times.

    Columns: `fault`, `node`, `verb` (the record's `what` if `drawn`), `begins`, `planned` (s),
    `at` (s; NaN if the action never happened), `drawn` (whether the device drew the fault, so
    that no timeline could hold the action), `late` (s), and `needless` (whether the action never
    happened because another fault of the same verb held the device: overlapping faults of a verb
    are one fault).
    """
    due: dict[Done, list[tuple[float, str]]] = defaultdict(list)
    planned_actions = run.timeline[["node", "fault", "begins", "at", "verb"]]
    for node, fault, begins, at, verb in planned_actions.itertuples(index=False):
        due[node, fault, bool(begins)].append((at, verb))
    rows: list[Row] = []
    for what, node, fault, begins, planned, at in _happened(run).itertuples(index=False):
        if fault == EXIT:
            continue
        verb = _strike_off(due, (node, fault, begins), planned)
        rows.append((fault, node, verb or what, begins, planned, at, verb is None))
    for (node, fault, begins), times in due.items():
        rows += [(fault, node, verb, begins, at, math.nan, False) for at, verb in times]
    table = pd.DataFrame(rows, columns=list(ACTION))
    table[["planned", "at"]] = table[["planned", "at"]].astype(float)
    table["late"] = table["at"] - table["planned"]
    table["needless"] = _needless(rows, _overlaps(run))
    return table.sort_values("planned", ignore_index=True, kind="stable")


@fact
def downtime(run: Run) -> pd.Series:
    """Return the seconds for which every device was gone: off, cut off or paused.

    Overlapping outages count once. A device with a slower core or link, or one that lies, is there.
    """
    sums: dict[str, float] = {}
    table = _outages(run)
    for node, own in table[table["silent"].eq(True)].groupby("node"):
        reached = float("-inf")
        for at, until in own.sort_values("at")[["at", "until"]].itertuples(index=False):
            sums[str(node)] = sums.get(str(node), 0.0) + max(0.0, until - max(at, reached))
            reached = max(reached, until)
    return pd.Series(sums, dtype=float)


def _overlaps(run: Run) -> Mapping[Key, list[float]]:
    """Return when a fault came under another one, by the node and the verb of both."""
    times: dict[Key, list[float]] = defaultdict(list)
    for node, verb, at in run.records("overlap")[["node", "verb", "at"]].itertuples(index=False):
        times[node, verb].append(at)
    return times


def _needless(rows: Sequence[Row], overlaps: Mapping[Key, list[float]]) -> list[bool]:
    """Return for each action whether a fault that held the node made the action needless."""
    spans = _drawn(rows, overlaps)
    return [
        math.isnan(at)
        and any(since <= planned <= until for since, until in spans.get(_key(node, verb), ()))
        for _, node, verb, _, planned, at, _ in rows
    ]


def _drawn(rows: Sequence[Row], overlaps: Mapping[Key, list[float]]) -> Spans:
    """Return the outages that a drawn or overlapping fault began, prolonged or ended.

    `rows` are in the order of `at`.
    """
    spans: Spans = defaultdict(list)
    gone: dict[Key, tuple[float, bool]] = {}

    def end(key: Key, until: float, drawn: bool) -> None:
        since, begun = gone.pop(key)
        if begun or drawn or any(since <= at <= until for at in overlaps.get(key, ())):
            spans[key].append((since, until))

    for _, node, verb, begins, _, at, drawn in rows:
        key = _key(node, verb)
        if math.isnan(at):
            continue
        if begins:
            gone[key] = at, drawn
        elif key in gone:
            end(key, at, drawn)
    for key in list(gone):
        end(key, math.inf, False)
    return spans


def _key(node: str, verb: str) -> Key:
    return node, UNDOES.get(verb, verb)


@fact
def _happened(run: Run) -> pd.DataFrame:
    """Return the faults that began or ended, and exits, with an end behind its beginning.

    An exit ends with each sign of life that the node gives later.

    Columns: `what`, `node`, `fault`, `begins`, `planned`, `at`, in the order of `at`.
    """
    columns = ["what", "node", "fault", "begins", "planned", "at"]
    exits = run.records(EXIT).assign(what=EXIT, fault=EXIT, begins=True)
    up_again = [
        run.records("hello").assign(what="hello"),
        run.records("recovered").assign(what="recovered", node="server"),
    ]
    frames = [
        run.faults,
        *(
            frame[frame["node"].isin(exits["node"])].reindex(columns=columns).astype(object)
            for frame in (exits, *(seen.assign(fault=EXIT, begins=False) for seen in up_again))
        ),
    ]
    frames = [frame for frame in frames if not frame.empty]
    if not frames:
        return pd.DataFrame(columns=columns)
    table = pd.concat(frames, ignore_index=True)
    # beginnings and ends take turns in the log: the turn of each orders those of one moment
    began = table["begins"].astype(bool)
    turn = 2 * table.groupby(["what", "node"]).cumcount() + ~began
    table = table.assign(begins=began, turn=turn).sort_values(["at", "turn"], ignore_index=True)
    return table[columns]


def _strike_off(
    due: dict[Done, list[tuple[float, str]]], done: Done, planned: float | None
) -> str | None:
    """Remove the realised action `done` from the `due` actions, and return its verb.

    None if no such action was due at `planned`.
    """
    same = due.get(done)
    if not same or planned is None:
        return None
    nearest = min(same, key=lambda action: abs(action[0] - planned))
    if abs(nearest[0] - planned) > _ROUNDING:
        return None
    same.remove(nearest)
    return nearest[1]
