"""The tables of a report: what a run did, as rows of plain text for the page's template."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from . import pushes
from .devices import devices
from .faults import actions, downtime
from .figures import link_rates
from .quantities import figures, percent, seconds, size
from .runs import Run

Row = tuple[str, ...]


def headline(run: Run) -> list[Row]:
    """What the run came to, as (name, value, remark)."""
    accuracy = run.records("evaluation")["accuracy"].dropna()
    updates = len(run.records("update")) or int(run.summary.get("updates") or 0)
    ratio = pushes.ratio(run)
    speed = f"{figures(updates / run.end)} / s" if run.end > 0 else ""
    best = f"best {percent(accuracy.max(), 2)}" if len(accuracy) else "never evaluated"
    return [
        ("test accuracy", percent(accuracy.iloc[-1], 2) if len(accuracy) else "–", best),
        ("updates", figures(updates), speed),
        ("duration", seconds(run.end), "emulated"),
        ("compression ratio", figures(ratio) if ratio else "–", "on the wire, equal updates"),
        ("pushed", size(pushes.by_kind(run).sum()), _instead_of(run)),
        ("faults", *_faults(run)),
    ]


def _instead_of(run: Run) -> str:
    dense = pushes.dense(run)
    return f"dense: {size(dense)}" if dense else ""


def _faults(run: Run) -> tuple[str, str]:
    begun = len(run.records("kill")) + len(run.records("sever"))
    due = run.summary.get("faults_planned")
    return (str(begun), "realised") if due is None else (f"{begun} / {due}", "realised / planned")


def facts(run: Run) -> list[Row]:
    """The summary table, as (name, value)."""
    summary, manifest = run.summary, run.manifest
    host, shaping = manifest.get("host") or {}, manifest.get("shaping") or {}
    memory = f", {host['memory'] / 2**30:.0f} GiB" if "memory" in host else ""
    rows = [
        ("scenario", run.name),
        ("outcome", run.outcome),
        ("ended by", ended_by(run)),
        ("runtime", summary.get("runtime") or manifest.get("runtime")),
        ("started", manifest.get("started")),
        ("run", manifest.get("id")),
        ("devices", summary.get("devices") or len(devices(run)) or None),
        ("links shaped by", ", ".join(f"{key}: {value}" for key, value in shaping.items())),
        ("host", f"{host.get('cores', '?')} cores{memory}" if host else None),
        ("kernel", manifest.get("kernel")),
        ("engine", manifest.get("engine")),
        ("versions", _pairs(manifest.get("versions"))),
        ("image", _image(manifest.get("image"))),
        ("on the wire", _encrypted(manifest.get("encrypted"))),
    ]
    return [(name, str(value)) for name, value in rows if value]


def ended_by(run: Run) -> str:
    """What stopped the run and when, as its last record says; empty without one."""
    stop = run.records("stop")
    if stop.empty:
        return ""
    reason, detail = stop[["reason", "detail"]].iloc[-1]
    told = f": {detail}" if isinstance(detail, str) and detail else ""
    return f"{reason} at {seconds(float(stop['at'].iloc[-1]))}{told}"


def _image(value: Any) -> str:
    return f"{value.get('name')} {value.get('digest')}" if isinstance(value, dict) else ""


def _encrypted(value: Any) -> str:
    return {True: "encrypted (CURVE)", False: "not encrypted (PLAIN)"}.get(value, "")


def _pairs(value: Any) -> str:
    if not isinstance(value, dict):
        return "" if value is None else str(value)
    return ", ".join(f"{key} {one}" for key, one in value.items())


def faults(run: Run) -> list[Row]:
    """Every action due before the end, as (style, fault, node, verb, planned, realised, late)."""
    table = actions(run)
    due = table[(table["planned"] < run.end) | table["at"].notna()]
    columns = ["fault", "node", "verb", "planned", "at", "drawn", "late"]
    return [_fault(*row) for row in due[columns].itertuples(index=False)]


def faults_to_come(run: Run) -> int:
    """Actions that the schedule held for after the run's end."""
    table = actions(run)
    return int(((table["planned"] >= run.end) & table["at"].isna()).sum())


def _fault(
    fault: str, node: str, verb: str, planned: float, at: float, drawn: bool, late: float
) -> Row:
    when = "drawn by the device" if drawn else f"{planned:.3f}"
    if math.isnan(at):
        return "bad", fault, node, verb, when, "never", ""
    return "", fault, node, verb, when, f"{at:.3f}", "" if drawn else f"{late:+.3f}"


def links(run: Run) -> list[Row]:
    """Achieved against requested, as (device, direction, requested, busiest, share, verdict)."""
    names = {"tx": "tx (up)", "rx": "rx (down)"}
    table = link_rates.table([run])
    return [
        (node, names[way], figures(asked), figures(busiest), percent(share, 0), verdict)
        for node, way, asked, busiest, share, verdict in table[
            ["node", "what", "requested", "busiest", "share", "verdict"]
        ].itertuples(index=False)
    ]


def fidelity(run: Run) -> list[Row]:
    """All that the summary says on it, whatever that is, as (name, value)."""
    told = run.summary.get("fidelity")
    return list(_flat(told)) if isinstance(told, dict) else []


def _flat(told: dict[str, Any], before: str = "") -> Iterator[Row]:
    for key, value in told.items():
        name = f"{before}{key}".replace("_", " ")
        if isinstance(value, dict):
            yield from _flat(value, f"{name}: ")
        elif isinstance(value, list):
            yield name, "; ".join(map(str, value)) or "none"
        else:
            yield name, _word(value)


def _word(value: Any) -> str:
    if isinstance(value, bool):  # 1.0 equals True, and is a number
        return "yes" if value else "no"
    return "–" if value is None else str(value)


def per_device(run: Run) -> list[Row]:
    """(name, profile, link, updates, pushed, pulled, median staleness, gone for) of each."""
    updates, pulls, gone = run.records("update"), run.records("pull"), downtime(run)
    pushed = _sum(updates.assign(bytes=updates[list(pushes.KINDS)].sum(axis=1)))
    pulled, count = _sum(pulls), updates.groupby("node").size()
    stale = updates.groupby("node")["staleness"].median() if len(updates) else count
    rows = []
    for device in devices(run):
        name = device.name
        rows.append(
            (
                name,
                device.profile,
                device.link,
                figures(count.get(name, 0)),
                size(pushed.get(name, 0)),
                size(pulled.get(name, 0)),
                figures(stale[name]) if name in stale else "–",
                seconds(gone[name]) if name in gone else "",
            )
        )
    return rows


def _sum(records: pd.DataFrame) -> dict[str, float]:
    return records.groupby("node")["bytes"].sum().to_dict()


def files(run: Run) -> list[Row]:
    """What else the folder holds, as (path in it, what that is)."""
    known = {
        "scenario.yaml": "the scenario as resolved",
        "timeline.jsonl": "the compiled schedule of faults",
        "run.jsonl": "everything that happened, a line each",
        "summary.json": "the run in numbers",
        "manifest.json": "versions, host, image, and what shaped the links",
        "model.npz": "the model at the end",
        "figures": "the figures as PNG",
        "devices": "what each device said",
    }
    return [(name, what) for name, what in known.items() if (run.folder / name).exists()]
