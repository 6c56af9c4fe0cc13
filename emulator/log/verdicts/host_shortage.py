"""The criterion by which a host is short of processor time for the devices and the server. Pure.

Every verdict on the host is made here: the mark of each second in the records `host`, from which
the report draws its bands, the share and the reason in the summary, the cause of a missed link, and
the forecast of `emulate check`. The evaluator takes what is left of the cores, so the share that it
has counts as free. A device at its CPU quota waits as requested, so only waits beside the quotas
count.
"""

from collections.abc import Sequence

FULL = 0.95
"""Share of the host's cores, without the evaluator's, from which devices and server are short."""
CROWDED, WAITING = 0.8, 0.5
"""Share of the cores, without the evaluator's, and mean share of the time for which the devices and
the server wait for a core beside their quotas, from which they are short, both together."""
OFTEN = 0.1
"""Share of a run's seconds that may be short before the run is marked."""

SUBJECT = "devices and server"


def is_short(busy: float, evaluator: float = 0.0, waits: float | None = None) -> bool:
    """Return whether devices and server are short of processor time in a second.

    `busy`: share of the host's cores in use; `evaluator`: the share of the cores that the evaluator
    uses; `waits`: mean share of the second for which the processes of the devices and the server
    waited for a core beside their quotas, None where the kernel does not tell.
    """
    used = busy - evaluator
    return used >= FULL or (used >= CROWDED and waits is not None and waits >= WAITING)


def short_share(seconds: Sequence[bool]) -> float:
    """Return the share of the `seconds` that are short; 0 without any."""
    return sum(seconds) / len(seconds) if seconds else 0.0


def shortage_reason(share: float) -> str:
    """Return in words why a run with this short `share` of its seconds is marked, else empty."""
    if share <= OFTEN:
        return ""
    return f"{SUBJECT} were short of processor time for {share:.0%} of the time"
