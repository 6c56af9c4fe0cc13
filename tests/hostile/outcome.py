"""The outcome of an attack: the server's log beside the attackers' counts, and the bounds."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from emulator.log.lines import read
from emulator.log.records import (
    DivergedRecord,
    GoodbyeRecord,
    HelloRecord,
    PullRecord,
    RefusedRecord,
    UpdateRecord,
)

from .messages import KINDS
from .siege import HONEST, Siege

MEMORY = 50_000_000
"""Bytes by which the server's memory may grow."""
SLOWED = "honest devices made"
"""Begin of the only sentence that other work on the host can cause."""
SLOWER = 0.1
"""Share by which honest devices may make fewer updates per second during an attack."""
TAKEN = (DivergedRecord, GoodbyeRecord, HelloRecord, PullRecord, UpdateRecord)
"""Records of a message each that the server has taken."""


@dataclass
class Logged:
    """Messages in the server's log, by node."""

    refused: Counter[str]
    cut_off: Counter[str]
    """Connections that the server hung up on; by address if no node was admitted on one."""
    taken: Counter[str]
    losses: defaultdict[str, list[float]]
    """Losses of the updates, in their order."""


def logged(file: Path) -> Logged:
    """Return the counts of the log `file`."""
    found = Logged(Counter(), Counter(), Counter(), defaultdict(list))
    for record in read(file):
        if isinstance(record, RefusedRecord):
            counter = found.cut_off if "hung up" in record.reason else found.refused
            counter[record.node] += record.count
        elif isinstance(record, TAKEN):
            found.taken[record.node] += record.count if isinstance(record, PullRecord) else 1
        if isinstance(record, UpdateRecord):
            found.losses[record.node].append(record.loss)
    return found


def complaints(siege: Siege, log: Logged) -> list[str]:
    """Return a sentence for each missed bound."""
    missed = [] if siege.alive else ["the server did not end in order"]
    growth = max(siege.peak, siege.after) - siege.before
    if growth > MEMORY:
        missed.append(f"the server's memory grew by {growth / 1e6:.1f} MB, over 50 MB")
    if (ratio := median(siege.ratios)) < 1 - SLOWER:
        missed.append(f"{SLOWED} {1 - ratio:.1%} fewer updates/s, over 10 %")
    for node, sent in siege.counts["insiders' own"].items():
        if (known := log.refused[node] + log.taken[node]) != sent:
            missed.append(f"{node} sent {sent} messages, and {known} are on record")
    for place, node in enumerate(HONEST):
        losses = log.losses[node]
        if losses != [1000.0 * n + place for n in range(1, len(losses) + 1)]:  # `DrawnGradients`
            missed.append(f"an update of {node} is missing, or is another device's")
        if number := log.refused[node] + log.cut_off[node]:
            missed.append(f"{number} messages of {node} were refused")
    if siege.sent < siege.order.messages:
        missed.append(f"{siege.sent} messages were sent, not {siege.order.messages}")
    return missed


def table(siege: Siege, log: Logged) -> str:
    """Return the figures for people."""
    counts, order = siege.counts, siege.order
    rows = [("messages", *KINDS, "sum")]
    for name in ("insiders", "saboteurs", "outsiders"):
        sent = counts[name]
        rows.append((name, *(str(sent.get(kind, 0)) for kind in KINDS), str(sum(sent.values()))))
    lines = [f"{row[0]:<12}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in rows]
    quiet, attacked = siege.quiet, siege.attacked
    hostile = counts["insiders' own"]
    return "\n".join(
        [
            *lines,
            f"insiders: {sum(log.refused[node] for node in hostile)} messages refused, "
            f"{sum(log.taken[node] for node in hostile)} taken, of {sum(hostile.values())} with "
            f"the questions between; {counts['breaks']} connections broke",
            f"the others: {counts['connections']} connections, "
            f"{sum(log.cut_off.values())} cut off on record",
            f"honest updates/s: {attacked.rate:.1f} during the attack, {quiet.rate:.1f} without: "
            f"{attacked.rate / quiet.rate:.1%}, and {median(siege.ratios):.1%} in the median of "
            f"{len(siege.ratios)} pairs of windows",
            f"the server's core: {attacked.processor / attacked.seconds:.0%} during the attack, "
            f"{quiet.processor / quiet.seconds:.0%} without",
            f"hostile messages/s: {siege.sent / siege.seconds:.0f}, at most {order.pace:g}",
            f"the server's memory, MB: {siege.before / 1e6:.1f} before, {siege.peak / 1e6:.1f} at "
            f"most, {siege.after / 1e6:.1f} after",
        ]
    )
