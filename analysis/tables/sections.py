"""The tables of a report, as rows of plain text for the page's template."""

import math
from collections.abc import Iterator
from typing import Any

from ..facts.devices import devices
from ..facts.faults import actions
from ..facts.held_model import count_updates, held_evaluations
from ..facts.message_bytes import (
    both_bytes,
    cut_bytes,
    dense_both_bytes,
    dense_pull_bytes,
    dense_push_bytes,
    held_evaluations_with_bytes,
    pulled_bytes,
    push_ratio,
    pushed_by_kind,
    traffic_ratio,
)
from ..facts.metrics import MAIN, metrics
from ..facts.momentum import momentum_sentence
from ..quantities import figures, percent, seconds, size
from ..reading.protocol import is_regression
from ..reading.runs import Run

Row = tuple[str, ...]

MOST_ACTIONS = 400
"""Largest number of actions that the table of faults lists."""


def headline(run: Run) -> list[Row]:
    """Return the main results of `run`, as (name, value, remark)."""
    if run.workload:
        return _of_workload(run)
    updates = count_updates(run)
    lost = len(run.records("update")) and len(run.records("update")) - updates
    speed = [f"{figures(updates / run.end)} / s"] if run.end > 0 else []
    gone = [f"{figures(lost)} more lost with the server"] if lost else []
    return [
        _score(run),
        ("updates", figures(updates), ", ".join(speed + gone)),
        ("duration", seconds(run.end), "emulated"),
        ("pushed", size(pushed_by_kind(run).sum()), _against("pushes", dense_push_bytes(run))),
        ("pulled", size(pulled_bytes(run)), _against("pulls", dense_pull_bytes(run))),
        *_crossed(run),
        (
            "both directions",
            size(both_bytes(run)),
            _against("", dense_both_bytes(run)),
        ),
        ("ratio of pushes", _ratio(push_ratio(run)), "dense over pushed"),
        ("ratio of both", _ratio(traffic_ratio(run)), "dense over pushed and pulled"),
        ("faults", *_faults(run)),
    ]


def _of_workload(run: Run) -> list[Row]:
    """Return the main results of a workload: the last metrics of the whole, and the traffic."""
    printed = metrics(run)
    main = printed[printed["node"].isin(MAIN)]
    rows = [
        (
            f"{name} ({node})",
            figures(own["value"].iloc[-1]),
            f"least {figures(own['value'].min())}, largest {figures(own['value'].max())}",
        )
        for (node, name), own in main.groupby(["node", "name"], sort=False)
    ]
    up, down = (run.summary.get(f"server_{way}_bytes") or 0 for way in ("rx", "tx"))
    traffic = [("to the server", up), ("from the server", down), ("both directions", up + down)]
    return [
        *rows[:MOST_METRICS],
        ("duration", seconds(run.end), ""),
        *((name, size(sent), "at its interface") for name, sent in traffic),
        ("faults", *_faults(run)),
    ]


MOST_METRICS = 8
"""Largest number of metrics among the main results."""


def _score(run: Run) -> Row:
    """Return the row of the last and the best accuracy, or mean absolute error of a regression."""
    if is_regression(run):
        error = held_evaluations(run)["error"].dropna()
        last, best = (figures(value) for value in (error.iloc[-1], error.min()))
        return "mean absolute error", last, f"best {best}, on the test set"
    accuracy = held_evaluations(run)["accuracy"].dropna()
    best = f"best {percent(accuracy.max(), 2)}" if len(accuracy) else "not measured"
    return "test accuracy", percent(accuracy.iloc[-1], 2) if len(accuracy) else "–", best


def _crossed(run: Run) -> list[Row]:
    """Return the row of the activations; none without a cut."""
    crossed = cut_bytes(run)
    ways = f"{size(crossed.up)} up, {size(crossed.down)} down"
    return [("activations", size(crossed.total), ways)] if crossed.total else []


def _against(way: str, dense: float | None) -> str:
    return f"dense{f' {way}' if way else ''}: {size(dense)}" if dense else ""


def _ratio(ratio: float | None) -> str:
    return figures(ratio) if ratio else "–"


def _faults(run: Run) -> tuple[str, str]:
    summary = run.summary
    due = summary.get("faults_planned")
    if due is None:
        return str(run.faults_begun), "realised"
    begun = f"{summary.get('faults_realised', run.faults_begun)} / {due}"
    if overlapped := summary.get("faults_overlapped"):
        return begun, f"realised / planned, {overlapped} under others"
    return begun, "realised / planned"


def facts(run: Run) -> list[Row]:
    """Return the facts of `run` for the table at the page's end, as (name, value)."""
    summary, manifest = run.summary, run.manifest
    host = manifest.get("host") or {}
    memory = f", {host['memory'] / 2**30:.0f} GiB" if host.get("memory") else ""
    rows: list[Any] = [
        ("scenario", run.name),
        ("outcome", run.outcome),
        *_targets(run),
        ("ended by", ended_by(run)),
        ("runtime", "virtual time" if run.virtual else run.runtime),
        ("started", manifest.get("started")),
        ("run", manifest.get("id")),
        ("devices", summary.get("devices") or len(devices(run)) or None),
        ("links shaped by", _shaping(run)),
        ("time dilation", manifest.get("dilation")),
        ("TCP", manifest.get("tcp")),
        ("host", f"{host.get('cores', '?')} cores{memory}" if host else None),
        ("kernel", manifest.get("kernel")),
        ("engine", manifest.get("engine")),
        ("versions", _pairs(manifest.get("versions"))),
        ("image", _image(manifest.get("image"))),
        ("on the wire", _encrypted(manifest.get("encrypted"))),
        ("implicit momentum", momentum_sentence([run])),
        *(("keys not kept", f"{', '.join(row['keys'])}: {row['why']}") for row in _unkept(run)),
    ]
    return [(name, str(value)) for name, value in rows if value]


def _unkept(run: Run) -> list[dict[str, Any]]:
    """Return the keys of the scenario that the runtime ignored, with reasons, by the manifest."""
    rows = run.manifest.get("not_kept")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _targets(run: Run) -> list[Row]:
    """Return the cost of reaching each target accuracy; empty for a run without an accuracy."""
    targets = run.summary.get("targets")
    if (
        not isinstance(targets, list)
        or held_evaluations_with_bytes(run).empty
        or is_regression(run)
    ):
        return []
    return [(f"{100 * target['accuracy']:.9g} % reached", _cost(target)) for target in targets]


def _cost(target: dict[str, Any]) -> str:
    if target["time"] is None:
        return "never"
    spent = f"after {seconds(target['time'])}"
    if target["updates"] is not None:
        spent = f"after {figures(target['updates'])} updates, {seconds(target['time'])}"
    pushed, pulled = target["bytes"], target.get("pulled")
    if pulled is None:  # an older version's summary
        return f"{spent}, {size(pushed)} pushed"
    both = pushed + pulled + target.get("activations", 0)
    return f"{spent}, {size(pushed)} pushed, {size(pulled)} pulled, {size(both)} both"


def ended_by(run: Run) -> str:
    """Return reason, time and detail of the end of `run`; empty without a `stop` record.

    If the record has no detail, the detail of the summary is taken.
    """
    stop = run.records("stop")
    if stop.empty:
        return ""
    reason, recorded = stop[["reason", "detail"]].iloc[-1]
    detail = recorded if isinstance(recorded, str) else run.summary.get("detail")
    more = f": {detail}" if detail else ""
    return f"{reason} at {seconds(float(stop['at'].iloc[-1]))}{more}"


def _shaping(run: Run) -> str:
    shaping = run.manifest.get("shaping") or {}
    if set(shaping.values()) == {"virtual"}:
        return "virtual time, exactly"
    return ", ".join(f"{key}: {value}" for key, value in shaping.items())


def _image(value: Any) -> str:
    return f"{value.get('name')} {value.get('digest')}" if isinstance(value, dict) else ""


def _encrypted(value: Any) -> str:
    return {True: "encrypted (CURVE)", False: "not encrypted (PLAIN)"}.get(value, "")


def _pairs(value: Any) -> str:
    if not isinstance(value, dict):
        return "" if value is None else str(value)
    return ", ".join(f"{key} {inner}" for key, inner in value.items())


def faults(run: Run) -> list[Row]:
    """Return the actions due before the end of `run`.

    Columns: (style, fault, node, verb, planned, realised, late), with times in seconds. Of more
    than `MOST_ACTIONS` actions, those that never happened and the latest are returned.
    """
    table = actions(run)
    due = table[(table["planned"] < run.end) | table["at"].notna()]
    worst = due["late"].sort_values(ascending=False, na_position="first", kind="stable")
    due = due.loc[sorted(worst.index[:MOST_ACTIONS])]
    columns = ["fault", "node", "verb", "planned", "at", "drawn", "late", "needless"]
    return [_fault(*row) for row in due[columns].itertuples(index=False)]


def faults_left_out(run: Run) -> int:
    """Return the number of actions due before the end that `faults` leaves out."""
    table = actions(run)
    return max(0, int(((table["planned"] < run.end) | table["at"].notna()).sum()) - MOST_ACTIONS)


def faults_to_come(run: Run) -> int:
    """Return the number of actions that were planned for times after the run's end."""
    table = actions(run)
    return int(((table["planned"] >= run.end) & table["at"].isna()).sum())


def _fault(
    fault: str,
    node: str,
    verb: str,
    planned: float,
    at: float,
    drawn: bool,
    late: float,
    needless: bool,
) -> Row:
    when = "drawn by the device" if drawn else f"{planned:.3f}"
    if needless:
        return "", fault, node, verb, when, "not needed: a drawn fault lasted", ""
    if math.isnan(at):
        return "bad", fault, node, verb, when, "never", ""
    return "", fault, node, verb, when, f"{at:.3f}", "" if drawn else f"{late:+.3f}"


def fidelity(run: Run) -> list[Row]:
    """Return every entry of the summary's `fidelity`, as (name, value)."""
    entries = run.summary.get("fidelity")
    if not isinstance(entries, dict):
        return []
    if run.virtual:  # virtual time has no load of a host and no delay to measure
        return [("virtual time", "exact: no host has to keep up")]
    # links have a table of their own
    return list(_flat({key: value for key, value in entries.items() if key[:5] != "links"}))


def _flat(entries: dict[str, Any], before: str = "") -> Iterator[Row]:
    for key, value in entries.items():
        name = f"{before}{key}".replace("_", " ")
        if isinstance(value, dict):
            yield from _flat(value, f"{name}: ")
        elif isinstance(value, list):
            yield name, "; ".join(map(str, value)) or "none"
        else:
            yield name.removesuffix(" s"), _measured(key, value)


_SHARES = ("host_short", "host_busy_mean", "host_busy_max", "host_evaluator_mean")
_TIMES = ("latest_fault_s", "p50", "p99", "max", "bound")


def _measured(key: str, value: Any) -> str:
    """Return a value of the summary's `fidelity` with its unit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _word(value)
    if key in _SHARES:
        return f"{value:.1%}".replace("%", " %")
    return f"{value * 1e3:.3g} ms" if key in _TIMES else str(value)


def _word(value: Any) -> str:
    if isinstance(value, bool):  # a lookup by value would take 1.0 for True
        return "yes" if value else "no"
    return "–" if value is None else str(value)


_MODELS = {
    "checkpoint": "the model of the last checkpoint",
    "recovered": "the last model in the server's state",
}


def files(run: Run) -> list[Row]:
    """Return the other files of the run's folder, as (path in the folder, description)."""
    known = {
        "scenario.yaml": "the scenario as resolved",
        "timeline.jsonl": "the compiled schedule of faults",
        "run.jsonl": "the records of everything that happened, one on each line",
        "summary.json": "the results in numbers",
        "manifest.json": "versions, host, image, and the means that shaped the links",
        "model.npz": _MODELS.get(run.model.get("source", ""), "the model at the end"),
        "plugins": "the sources of the plugins that are not the package's own",
        "figures": "the figures as PNG",
        "devices": "the output of each device",
    }
    return [(name, about) for name, about in known.items() if (run.folder / name).exists()]
