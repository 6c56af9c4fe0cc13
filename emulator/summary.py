"""A run in one page of numbers, worked out from its log alone."""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from .runlog import Record

BEGINNINGS = ("kill", "sever")
"""Verbs that begin a fault; the others end one."""

TIMELY = 0.5
"""Seconds that a fault may come after its time before the run counts as disturbed."""

SATURATED = 0.95
"""Share of the host's cores above which devices no longer get what their quotas promise."""

OUTCOMES = {"updates": "success", "accuracy": "success", "time": "success", "stopped": "stopped"}
OUTCOMES["canceled"] = "canceled"


def summarise(
    records: Sequence[Record],
    *,
    scenario: str,
    algorithm: str,
    seed: int,
    runtime: str,
    devices: int,
    dense_push: int,
    evaluator: str,
    planned: Iterable[Record],
    busy: Sequence[float],
    quotas: bool,
) -> dict[str, Any]:
    """`dense_push`: bytes of one uncompressed update on the wire; `busy`: share of the host's
    cores in use, a sample a second; `quotas`: whether any device has a CPU quota."""
    by = _sorted(records)
    stop = (by["stop"] or [{"at": 0.0, "reason": "failed"}])[-1]
    updates = len(by["update"])
    push = _push(by["update"])
    dense = updates * dense_push
    rx, tx = _interface(by["traffic"])
    return {
        "scenario": scenario,
        "algorithm": algorithm,
        "runtime": runtime,
        "seed": seed,
        "outcome": OUTCOMES.get(stop["reason"], "failed"),
        "stop": stop["reason"],
        "detail": stop.get("detail", ""),
        "duration_s": stop["at"],
        "devices": devices,
        "updates": updates,
        "final_accuracy": by["evaluation"][-1]["accuracy"] if by["evaluation"] else None,
        "best_accuracy": max((e["accuracy"] for e in by["evaluation"]), default=None),
        "push_bytes": push,
        "pull_bytes": sum(r["bytes"] for r in by["pull"] if r["node"] != evaluator),
        "evaluation_pull_bytes": sum(r["bytes"] for r in by["pull"] if r["node"] == evaluator),
        "dense_push_bytes": dense,
        "compression_ratio": round(dense / push["total"], 3) if push["total"] else None,
        "server_rx_bytes": rx,
        "server_tx_bytes": tx,
        "faults_planned": sum(_is_due(action, stop["at"]) for action in planned),
        "faults_realised": sum(len(by[verb]) for verb in BEGINNINGS),
        "refused": len(by["refused"]),
        "fidelity": fidelity(by, busy, quotas),
    }


def fidelity(by: dict[str, list[Record]], busy: Sequence[float], quotas: bool) -> dict[str, Any]:
    """Whether the host kept up with the world that it played, and if not, why not."""
    realised = [r for verb in ("kill", "sever", "boot", "mend") for r in by[verb]]
    late = max((r["at"] - r["planned"] for r in realised), default=0.0)
    full = sum(share >= SATURATED for share in busy) / len(busy) if busy else 0.0
    reasons = []
    if late > TIMELY:
        reasons.append(f"a fault came {late:.2f} s after its time")
    if quotas and full > 0.1:
        reasons.append(f"all the host's cores were busy for {full:.0%} of the time")
    for end in by["exit"]:
        reasons.append(f"{end['node']} ended unasked: {end['reason']}")
    return {
        "kept_up": not reasons,
        "reasons": reasons,
        "latest_fault_s": round(late, 3),
        "host_busy_mean": round(statistics.fmean(busy), 3) if busy else None,
        "host_busy_max": round(max(busy), 3) if busy else None,
        "host_saturated": round(full, 3),
    }


def _sorted(records: Iterable[Record]) -> dict[str, list[Record]]:
    kinds = ("update", "pull", "evaluation", "traffic", "refused", "stop", "exit")
    by: dict[str, list[Record]] = {what: [] for what in (*kinds, "kill", "boot", "sever", "mend")}
    for record in records:
        by.setdefault(record["what"], []).append(record)
    return by


def _push(updates: Iterable[Record]) -> dict[str, int]:
    total: Counter[str] = Counter(values=0, indices=0, headers=0, framing=0)
    for update in updates:
        for kind in ("values", "indices", "headers", "framing"):
            total[kind] += update[kind]
    return {**total, "total": total.total()}


def _interface(traffic: Iterable[Record]) -> tuple[int, int]:
    """What the server's interface counted, from its first byte to the last sample."""
    own = [sample for sample in traffic if sample["node"] == "server"]
    return (own[-1]["rx"], own[-1]["tx"]) if own else (0, 0)


def _is_due(action: Record, end: float) -> bool:
    return action["verb"] in BEGINNINGS and action["at"] <= end
