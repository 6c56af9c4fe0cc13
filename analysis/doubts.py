"""What could make a reader distrust a run: found in its folder, said in words, never hidden."""

import math

from .faults import actions, outages
from .figures import link_rates
from .quantities import percent
from .reconcile import reconcile
from .runs import Run

TIMELY = 0.5
"""Seconds that a fault may come after its time."""
NAMED = 12
"""Models without a score that are named one by one."""
RECONCILED = 0.05
"""Share of the application's bytes by which the interface may differ from them."""


def kept_up(run: Run) -> bool | None:
    """Whether the host kept up with the world that it played; None if the run does not say."""
    told = _fidelity(run).get("kept_up")
    return told if isinstance(told, bool) else None


def doubts(run: Run) -> list[str]:
    """One sentence for each reason for doubt; empty for a run without."""
    return [
        *run.notes,
        *_fallen_behind(run),
        *_records(run),
        *_unsent(run),
        *_evaluations(run),
        *_faults(run),
        *_links(run),
        *_sums(run),
    ]


def _fidelity(run: Run) -> dict:
    fidelity = run.summary.get("fidelity")
    return fidelity if isinstance(fidelity, dict) else {}


def _fallen_behind(run: Run) -> list[str]:
    reasons = [str(reason) for reason in _fidelity(run).get("reasons") or []]
    if kept_up(run) is False and not reasons:
        reasons = ["it does not say why"]
    return [f"the host did not keep up: {reason}" for reason in reasons]


def _records(run: Run) -> list[str]:
    found = []
    refused = run.records("refused")
    if not refused.empty:
        nodes = ", ".join(sorted(set(map(str, refused["node"]))))
        found.append(f"{len(refused)} messages were refused, from {nodes}")
    diverged = run.records("diverged")
    if not diverged.empty:
        nodes = ", ".join(sorted(set(map(str, diverged["node"]))))
        found.append(f"gradients of {nodes} were no longer finite")
    exits = run.records("exit")[["node", "at", "reason"]]
    for node, at, reason in exits.itertuples(index=False):
        found.append(f"{node} ended unasked at {at:.1f} s: {reason}")
    return found


def _unsent(run: Run) -> list[str]:
    """A message that finds its device crashed or cut off is the fault's own effect, not a doubt."""
    struck = outages(run).groupby("node")["at"].min()
    unsent = run.records("unsent")
    early = unsent[unsent["at"] < unsent["node"].map(struck).fillna(float("inf"))]
    if early.empty:
        return []
    nodes = ", ".join(sorted(set(map(str, early["node"]))))
    return [
        f"{len(early)} of the server's messages could not be sent to {nodes}, "
        "though no fault had struck by then"
    ]


def _evaluations(run: Run) -> list[str]:
    lists = run.records("unmeasured")["versions"]
    told = [version for one in lists if isinstance(one, list) for version in one]
    if not told:
        return []
    named = ", ".join(map(str, told[:NAMED])) + (" …" if len(told) > NAMED else "")
    return [
        f"the evaluator did not come to {len(told)} of the models that were due to be measured: "
        f"those after {named} updates"
    ]


def _faults(run: Run) -> list[str]:
    table = actions(run)
    found = []
    missed = table[table["at"].isna() & (table["planned"] < run.end - TIMELY)]
    if not missed.empty:
        found.append(f"{len(missed)} planned actions never happened, though their time came")
    late = table["late"].max()
    if not math.isnan(late) and late > TIMELY and not _fidelity(run).get("reasons"):
        found.append(f"a fault came {late:.2f} s after its time")
    return found


def _links(run: Run) -> list[str]:
    table = link_rates.table([run])
    fast = table[table["verdict"] == link_rates.TOO_MUCH]
    if fast.empty:
        return []
    nodes = ", ".join(dict.fromkeys(fast["node"]))
    return [
        f"{nodes} sent faster than the link allows: {percent(fast['share'].max(), 0)} of its rate"
    ]


def _sums(run: Run) -> list[str]:
    sums = reconcile(run)
    if sums is None:
        return []
    # a kernel that offloads segmentation hides headers; virtual time counts every one of them
    both, beside = sums.both, ", headers and acknowledgements aside," if run.virtual else ""
    share = both.rest / both.application if run.virtual else both.share
    if abs(share) <= RECONCILED:
        return []
    return [
        f"the bytes at the server's interface differ{beside} by {percent(share)} from those "
        f"that the application counted: they should agree within {percent(RECONCILED, 0)}"
    ]
