"""What could make a reader distrust a run: found in its folder, said in words, never hidden."""

import math

from .allowance import allowances
from .faults import actions, outages
from .figures import link_rates
from .quantities import percent, size
from .reconcile import reconcile
from .runs import Run

TIMELY = 0.5
"""Seconds that a fault may come after its time."""
NAMED = 12
"""Models without a score that are named one by one."""


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
        messages = "1 message was" if run.refused == 1 else f"{run.refused} messages were"
        found.append(f"{messages} refused, from {nodes}")
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
    undone = table["at"].isna() & ~table["needless"]
    missed = table[undone & (table["planned"] < run.end - TIMELY)]
    if not missed.empty:
        found.append(f"{len(missed)} planned actions never happened, though their time came")
    late = table["late"].max()
    if not math.isnan(late) and late > TIMELY and not _fidelity(run).get("reasons"):
        found.append(f"a fault came {late:.2f} s after its time")
    return found


def _links(run: Run) -> list[str]:
    table = link_rates.link_use(run)
    fast = table[table["verdict"] == link_rates.TOO_MUCH]
    if fast.empty:
        return []
    nodes = ", ".join(dict.fromkeys(fast["node"]))
    return [
        f"{nodes} sent faster than the link allows: {percent(fast['share'].max(), 0)} of its rate"
    ]


def _sums(run: Run) -> list[str]:
    """Return a sentence for each direction whose bytes nothing explains."""
    sums, allowed = reconcile(run), allowances(run)
    if sums is None or allowed is None:
        return []
    ways = (("received", sums.rx, allowed[0]), ("sent", sums.tx, allowed[1]))
    return [
        _unexplained(verb, excess, excess / whole.application)
        for verb, whole, allowance in ways
        if (excess := allowance.excess(whole.difference))
    ]


def _unexplained(verb: str, excess: int, part: float) -> str:
    return (
        f"the server's interface {verb} {size(abs(excess))} {'more' if excess > 0 else 'less'} "
        "than the messages and all that goes with them explain: "
        f"{percent(abs(part))} of what the application counted"
    )
