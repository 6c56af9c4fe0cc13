"""Reasons to distrust a run, found in its folder and stated as sentences."""

import math

from ..facts.allowance import allowances
from ..facts.faults import actions, outages
from ..facts.host_load import short_seconds
from ..facts.link_use import TOO_MUCH, link_use
from ..facts.reconcile import reconcile
from ..quantities import percent, size
from ..reading.runs import Run

TIMELY = 0.5
"""Largest delay of a fault, in seconds, that is no reason for a warning."""
MOST_NAMED = 12
"""Largest number of left out devices that a sentence names."""
MOST_VERSIONS = 12
"""Largest number of unmeasured models that a sentence names."""


def kept_up(run: Run) -> bool | None:
    """Return whether the host kept up with the emulation; None if the summary has no answer."""
    verdict = run.fidelity.get("kept_up")
    return verdict if isinstance(verdict, bool) else None


def host_verdict(run: Run) -> str:
    """Return in a sentence whether the host kept up, and for how long it was short of processor
    time; empty if the summary has no answer, and in virtual time."""
    kept, (short, seconds) = kept_up(run), short_seconds(run)
    if run.virtual or kept is None:
        return ""
    verdict = "The host kept up" if kept else "The host did not keep up, for the reasons below"
    if not seconds:
        return f"{verdict}."
    return (
        f"{verdict}. Devices and server were short of processor time in {short:,} of {seconds:,} "
        f"seconds; more than a tenth of them would be a reason."
    )


def warnings(run: Run) -> list[str]:
    """Return a sentence for every reason to distrust `run`; an empty list for a sound run."""
    return [
        *run.notes,
        *([run.model["note"]] if run.model.get("note") else []),
        *_fallen_behind(run),
        *_records(run),
        *_unsent(run),
        *_left_out(run),
        *_evaluations(run),
        *_faults(run),
        *_links(run),
        *_sums(run),
    ]


def _fallen_behind(run: Run) -> list[str]:
    reasons = [str(reason) for reason in run.fidelity.get("reasons") or []]
    if kept_up(run) is False and not reasons:
        reasons = ["the summary gives no reason"]
    return [f"the host did not keep up: {reason}" for reason in reasons]


def _records(run: Run) -> list[str]:
    sentences = []
    refused = run.records("refused")
    if not refused.empty:
        nodes = ", ".join(sorted(set(map(str, refused["node"]))))
        messages = "1 message was" if run.refused == 1 else f"{run.refused} messages were"
        sentences.append(f"{messages} refused, from {nodes}")
    diverged = run.records("diverged")
    if not diverged.empty:
        nodes = ", ".join(sorted(set(map(str, diverged["node"]))))
        sentences.append(f"gradients of {nodes} became infinite or NaN")
    exits = run.records("exit")[["node", "at", "reason"]]
    for node, at, reason in exits.itertuples(index=False):
        sentences.append(f"{node} ended unasked at {at:.1f} s: {reason}")
    return sentences


def _unsent(run: Run) -> list[str]:
    """Return a sentence for messages that could not be sent to devices before any fault.

    A message to a device that is crashed or cut off is an effect of the fault, not a warning.
    """
    struck = outages(run).groupby("node")["at"].min()
    unsent = run.records("unsent")
    early = unsent[unsent["at"] < unsent["node"].map(struck).fillna(float("inf"))]
    if early.empty:
        return []
    nodes = ", ".join(sorted(set(map(str, early["node"]))))
    messages = int(early["segments"].fillna(1).sum())
    return [
        f"{messages} of the server's messages could not be sent to {nodes}, "
        "although no fault had struck them before"
    ]


def _left_out(run: Run) -> list[str]:
    """Return a sentence that names the devices without which steps were made, most steps first."""
    last = run.records("left_out").drop_duplicates("node", keep="last")
    if last.empty:
        return []
    rows = last[["node", "steps", "of"]].sort_values(["steps", "node"], ascending=[False, True])
    named = [
        f"{node} ({steps:,.0f} of {of:,.0f})"
        for node, steps, of in rows.head(MOST_NAMED).itertuples(index=False)
    ]
    more = [f"{len(rows) - MOST_NAMED:,} more devices"] if len(rows) > MOST_NAMED else []
    return [
        f"steps were made without devices whose updates had not come within `patience`: "
        f"{', '.join(named + more)}"
    ]


def _evaluations(run: Run) -> list[str]:
    lists = run.records("unmeasured")["versions"]
    missed = [version for versions in lists if isinstance(versions, list) for version in versions]
    if not missed:
        return []
    more = " …" if len(missed) > MOST_VERSIONS else ""
    named = ", ".join(map(str, missed[:MOST_VERSIONS])) + more
    return [
        f"the evaluator did not measure {len(missed)} of the models that were due: the models "
        f"after {named} updates"
    ]


def _faults(run: Run) -> list[str]:
    if run.faults_left_out:
        return []  # a note of the run says so
    table = actions(run)
    sentences = []
    undone = table["at"].isna() & ~table["needless"]
    missed = table[undone & (table["planned"] < run.end - TIMELY)]
    if not missed.empty:
        sentences.append(f"{len(missed)} planned actions never happened, although they were due")
    late = table["late"].max()
    if not math.isnan(late) and late > TIMELY and not run.fidelity.get("reasons"):
        sentences.append(f"a fault came {late:.2f} s after its planned time")
    return sentences


def _links(run: Run) -> list[str]:
    table = link_use(run)
    fast = table[table["verdict"] == TOO_MUCH]
    if fast.empty:
        return []
    nodes = ", ".join(dict.fromkeys(fast["node"]))
    return [
        f"{nodes} sent faster than the link allows: {percent(fast['share'].max(), 0)} of its rate"
    ]


def _sums(run: Run) -> list[str]:
    """Return a sentence for each direction with more or fewer bytes than the messages explain."""
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
        "than the messages and their overhead explain: "
        f"{percent(abs(part))} of the bytes that the application counted"
    )
