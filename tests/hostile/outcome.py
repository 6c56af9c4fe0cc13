"""The outcome of an attack: the server's log beside the attackers' counts, and the bounds."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from emulator.log.lines import line, read
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
DISK = 600_000_000
"""Bytes that the states and inputs of a durable server may take: those of two states."""
LOG, LOG_EACH = 200_000, 32
"""Bytes that the log may have of a hostile device, beside updates: at all, and for each message."""
STALL = 2.0
"""Seconds for which an honest device may have no model, beside those of the host's own."""
SLOWED = "honest devices"
"""Begin of the only sentences that other work on the host can cause."""
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
    losses: defaultdict[str, list[float | None]]
    """Losses of the updates, in their order."""
    bytes: Counter[str]
    """Bytes of the records other than updates."""


def logged(file: Path) -> Logged:
    """Return the counts of the log `file`."""
    found = Logged(Counter(), Counter(), Counter(), defaultdict(list), Counter())
    for record in read(file):
        if isinstance(record, RefusedRecord):
            counter = found.cut_off if "hung up" in record.reason else found.refused
            counter[record.node] += record.count
        elif isinstance(record, TAKEN):
            found.taken[record.node] += record.count if isinstance(record, PullRecord) else 1
        if isinstance(record, UpdateRecord):
            found.losses[record.node].append(record.loss)
        elif node := getattr(record, "node", None):
            found.bytes[node] += len(line(record))
    return found


def complaints(siege: Siege, log: Logged) -> list[str]:
    """Return a sentence for each missed bound."""
    missed = [] if siege.alive else ["the server did not end in order"]
    if not siege.back:
        missed.append("the server, killed after the attack, did not come back")
    growth = max(siege.peak, siege.after) - siege.before
    if growth > MEMORY:
        missed.append(f"the server's memory grew by {growth / 1e6:.1f} MB, over 50 MB")
    if (ratio := median(siege.ratios)) < 1 - SLOWER:
        missed.append(f"{SLOWED} made {1 - ratio:.1%} fewer updates/s, over 10 %")
    if siege.stall > STALL + siege.late:
        missed.append(f"{SLOWED} had no model for {siege.stall:.1f} s, over {STALL:g} s")
    if siege.disk > DISK:
        missed.append(f"states and inputs took {siege.disk / 1e6:.0f} MB, over {DISK / 1e6:g} MB")
    if answers := siege.counts["answers"]:
        missed.append(f"strangers were answered on {answers} connections")
    for node, sent in {**siege.counts["insiders' own"], **siege.counts["mutes' own"]}.items():
        if (size := log.bytes[node]) > LOG + LOG_EACH * sent:
            missed.append(f"the log has {size / 1e6:.1f} MB of {node}, for {sent} messages")
    for node, sent in siege.counts["insiders' own"].items():
        known, repeats = log.refused[node] + log.taken[node], siege.counts["repeats"][node]
        if not sent - siege.order.durable * repeats <= known <= sent:
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
    rows: list[tuple[str, ...]] = [("messages", *KINDS, "sum")]
    for name in ("insiders", "saboteurs", "outsiders"):
        sent = counts[name]
        rows.append((name, *(str(sent.get(kind, 0)) for kind in KINDS), str(sum(sent.values()))))
    mutes = counts["mutes' own"]
    lines = [f"{row[0]:<12}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in rows]
    quiet, attacked = siege.quiet, siege.attacked
    hostile = counts["insiders' own"]
    return "\n".join(
        [
            *lines,
            f"insiders: {sum(log.refused[node] for node in hostile)} messages refused, "
            f"{sum(log.taken[node] for node in hostile)} taken, of {sum(hostile.values())} with "
            f"the questions between, {sum(counts['repeats'].values())} of them pushes once more; "
            f"{counts['breaks']} connections broke",
            f"never read: {sum(mutes.values())} pulls, "
            f"{sum(log.bytes[node] for node in mutes) / 1e3:.1f} kB of the log",
            f"the others: {counts['connections']} connections, {counts['answers']} of strangers "
            f"answered, "
            f"{sum(log.cut_off.values())} cut off on record",
            f"honest updates/s: {attacked.rate:.1f} during the attack, {quiet.rate:.1f} without: "
            f"{attacked.rate / quiet.rate:.1%}, and {median(siege.ratios):.1%} in the median of "
            f"{len(siege.ratios)} pairs of windows",
            f"longest time of a device without a model: {siege.stall:.2f} s, this process was at "
            f"most {siege.late:.2f} s late",
            f"states and inputs on disk, MB: {siege.disk / 1e6:.1f} at most; log of hostile "
            f"devices, updates aside: {sum(log.bytes[n] for n in hostile) / 1e6:.1f}",
            f"the server's core: {attacked.processor / attacked.seconds:.0%} during the attack, "
            f"{quiet.processor / quiet.seconds:.0%} without",
            f"hostile messages/s: {siege.sent / siege.seconds:.0f}, at most {order.pace:g}",
            f"the server's memory, MB: {siege.before / 1e6:.1f} before, {siege.peak / 1e6:.1f} at "
            f"most, {siege.after / 1e6:.1f} after",
        ]
    )
