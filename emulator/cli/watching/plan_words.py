"""Records of plans and of their iterations as lines of text."""

from collections.abc import Sequence

from ...layout import Segment
from ...log.records.plan_records import IterationRecord, PlanRecord

_MOST = 6
"""Largest number of segments that a line names."""


def describe_plan(record: PlanRecord) -> str:
    """Return the cuts of a plan and its predicted times."""
    return (
        f"plan {record.node}: {record.kind} from iteration {record.iteration}, "
        f"pull {_cuts(record.pull)}, push {_cuts(record.push)}, predicted forward "
        f"{_ms(record.t_forward)}, backward {_ms(record.t_backward)}, "
        f"iteration {_ms(record.t_iteration)}"
    )


def describe_iterations(record: IterationRecord) -> str:
    """Return the median times of a plan's iterations beside the predicted ones."""
    pairs = {
        "forward": (record.t_forward, record.predicted_forward),
        "backward": (record.t_backward, record.predicted_backward),
        "iteration": (record.t_iteration, record.predicted_iteration),
    }
    times = (f"{name} {_ms(took)} ({_ms(due)})" for name, (took, due) in pairs.items())
    first = record.iteration - record.iterations + 1
    return (
        f"iterations {first} to {record.iteration} of {record.node}, median (predicted): "
        f"{', '.join(times)}"
    )


def _cuts(segments: Sequence[Segment]) -> str:
    """Return `segments` as text, for example `1-2|3`; of many, the first few and the number."""
    shown = "|".join(
        str(first) if first == last else f"{first}-{last}" for first, last in segments[:_MOST]
    )
    return shown if len(segments) <= _MOST else f"{shown}|… ({len(segments)} segments)"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"
